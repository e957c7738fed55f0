#pragma once
// Source: a node of the stream graph. Makes one frame a tick, once, for whoever asks.

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "clock/clock.h"
#include "frame/frame.h"

namespace castile {

class Source;
using SourcePtr = std::shared_ptr<Source>;

/// A track of a source, as `source.tracks` hands it out.
struct Track {
    SourcePtr source;
    Name field;  ///< "audio", ..., or "metadata" / "track_marks"
};

/// The content of a group of sources that must agree (an operator and what it passes through), by field. Union-find
/// handles, like the clock's. Before start only.
class ContentVariable;
using ContentPtr = std::shared_ptr<ContentVariable>;

/// Base of all sources.
///
/// Ticks (the clock's worker only, noexcept, never blocking): a reader first asks `ready()`, then `frame()`. The first
/// call in a tick calls `generate()`, later ones get the same frame. A reader that used only the first n ticks says so
/// with `consume(n)`; what nobody used is kept and comes first in the next tick's frame, so a switch in the middle of a
/// frame loses no sample. Without `consume`, frame() counts as wholly used.
class Source : public std::enable_shared_from_this<Source> {
public:
    explicit Source(std::string operator_name);  ///< "playlist", "fallback", ...: the default id, made unique.
    virtual ~Source();
    Source(const Source&) = delete;

    const std::string& id() const noexcept { return id_; }
    virtual void set_id(std::string id);         ///< Made unique ("radio", "radio.1"). Before start.
    const std::string& position() const noexcept { return position_; }   ///< Where the script made it; empty: nowhere.
    void set_position(std::string position) { position_ = std::move(position); }   ///< When it is built.
    const std::string& operator_name() const noexcept { return operator_name_; }
    const Logger& log() const noexcept { return log_; }

    ClockPtr clock() const { return clock_->root(); }
    const ContentPtr& content() const noexcept { return content_; }
    const std::vector<SourcePtr>& inputs() const noexcept { return inputs_; }

    // --- The tick ------------------------------------------------------------------------------------------------
    bool ready() noexcept;                 ///< At least one tick can be had now.
    const Frame& frame() noexcept;         ///< This tick's frame; length 0 when not ready.
    const Frame& peek_frame() noexcept;    ///< The same without counting as used: follow with consume().
    void consume(Ticks count) noexcept;    ///< The first `count` ticks of this tick's frame are used.

    // --- Life: the clock's worker; refcounted by activations -----------------------------------------------------
    void wake_up(Source* activator = nullptr);  ///< First activation calls on_wake_up(), after the inputs'.
    void sleep(Source* activator = nullptr) noexcept;
    bool awake() const noexcept { return activations_ > 0; }
    bool was_ready() const noexcept { return was_ready_.load(std::memory_order_relaxed); }  ///< When last asked. Any thread.

    // --- Queries and orders (clock's worker; from elsewhere through clock()->run_between_ticks) -------------------
    virtual bool fallible() const noexcept { return true; }     ///< May it be unready? Known before start.
    virtual std::optional<Ticks> remaining() noexcept { return std::nullopt; }  ///< of the current track; nullopt = unknown
    virtual void skip() noexcept {}                               ///< Ends the current track.
    virtual Ticks seek(Ticks) noexcept { return {}; }             ///< Relative; returns what was done.
    virtual Source* effective_source() noexcept { return this; }  ///< Who really makes the samples now.
    virtual bool self_sync() noexcept;                            ///< Paced by a device rather than the CPU clock, now?
    virtual SyncSource* sync_source() noexcept { return nullptr; }   ///< What paces this very source now, its inputs apart.
    virtual void add_sync_uses(SyncUses& uses) noexcept;          ///< Its own, else those of the inputs that it reads now.
    virtual bool may_self_sync() const noexcept;                  ///< May anything pace it or an input, ever? Known before start.
    virtual bool may_run_ahead() const noexcept;                  ///< May its clock run half a second ahead? Nothing live, no small buffer.
    virtual bool live() const noexcept { return false; }          ///< Goes on by itself (a DJ, a relay): not kept for later.
    std::optional<double> elapsed() const noexcept;               ///< Seconds since the last track mark. Any thread.
    MetadataPtr last_metadata() const noexcept;                   ///< nullptr before the first. Any thread.

    // --- Watchers. Called on the clock's worker, after the frame is made; must not block (post to do more). --------
    using MetadataHandler = std::function<void(const MetadataPtr&)>;
    void on_metadata(MetadataHandler f);
    void on_track(MetadataHandler f);                 ///< With the metadata at the mark (empty Metadata when none).
    void on_frame(std::function<void()> f);
    /// When making a frame began and ended, and how long the frame is.
    using TimingHandler = std::function<void(Instant begun, Instant ended, Ticks length)>;
    void on_timing(TimingHandler f);
    void on_wake_up_do(std::function<void()> f);
    void on_sleep_do(std::function<void()> f);
    void clear_last_metadata() noexcept;
    /// Any thread: goes out with the next frame. `replace` false: only when that frame begins without metadata.
    void insert_metadata_next(MetadataPtr m, bool new_track, bool replace = true);
    std::vector<std::string> activator_ids() const;   ///< Who woke it. Any thread.

    /// Script-level methods of this very source (playlist.reload, queue.push, ...) keep their state in the C++ object.

protected:
    /// Declares an input: it joins our clock and is woken with us. In constructors; between ticks on a source that is
    /// awake (it is woken at once). `same_content` also unifies content(). Throws Error.
    void add_input(SourcePtr input, bool same_content);
    void remove_input(const Source& input);           ///< Between ticks; sleeps it.
    /// Makes an input's clock and `clock` one, for an input that is not read at our pace. Throws ClockError.
    void join_clock(const ClockPtr& clock, const Source& input);

    virtual bool can_generate() noexcept = 0;
    /// Fills `out` (empty, reset) with up to `wanted` ticks; shorter only when the source ends inside.
    /// Called when can_generate() said yes. A source that begins a track puts a mark at its first tick.
    virtual void generate(Frame& out, Ticks wanted) noexcept = 0;
    virtual void on_wake_up() {}                      ///< May throw Error: the start fails with its message.
    virtual void on_sleep() noexcept {}

    int pcm_channels() const noexcept;                ///< of "audio", as agreed; once woken.
    int pcm_channels(Name field) const noexcept;

private:
    friend class SourceRegistry;
    void begin_tick() noexcept;
    void make() noexcept;
    void generate_into(Frame& fresh, Ticks wanted) noexcept;
    void add_inserted(Frame& fresh) noexcept;
    void run_watchers(const Frame& fresh) noexcept;
    const ContentFormat& cached_format(Name field) const noexcept;

    std::string operator_name_, id_, position_;
    Logger log_;
    ClockPtr clock_;
    ContentPtr content_;
    std::vector<SourcePtr> inputs_;
    std::atomic<int> activations_ = 0;
    std::atomic<bool> was_ready_ = false;
    std::vector<Source*> activators_;
    std::int64_t tick_ = -1;
    bool made_ = false;
    bool timed_ = false, framed_ = false;   ///< there are watchers of that kind: most sources have none
    Ticks consumed_;                 ///< of frame_
    std::atomic<std::int64_t> elapsed_{-1};  ///< ticks since the last track mark; negative: there was none
    Frame frame_, kept_, more_;      ///< this tick's; what last tick left; made behind what was left
    mutable std::vector<std::pair<Name, ContentFormat>> formats_;  ///< once woken

    mutable std::mutex metadata_mutex_;  // guards last_metadata_, inserted_
    MetadataPtr last_metadata_;
    struct Inserted;
    std::vector<Inserted> inserted_;
    std::atomic<bool> has_inserted_ = false;
    struct Watchers;
    std::unique_ptr<Watchers> watchers_;
};

/// Content negotiation, before start.
ContentPtr make_content();
void unify_content(const ContentPtr& a, const ContentPtr& b);              ///< Throws Error naming both formats.
void require_content(const ContentPtr& c, Name field, ContentFormat f);    ///< Throws Error on conflict.
/// One field of `a` and one of `b` hold the same, whatever either is asked for later (a track in two sources). Throws Error on conflict.
void link_content(const ContentPtr& a, Name field_of_a, const ContentPtr& b, Name field_of_b);
void forbid_other_fields(const ContentPtr& c);
ContentFormat content_format(const ContentPtr& c, Name field);             ///< After start: defaults filled in.
std::vector<Name> content_fields(const ContentPtr& c);

/// Every live source, for clock.dump, telnet and tests. Any thread.
std::vector<SourcePtr> all_sources();

}  // namespace castile
