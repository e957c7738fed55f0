#pragma once
// Switcher: streams one of its inputs at a time. The base of switch, fallback, rotate, random and sequence.

#include <functional>
#include <optional>
#include <vector>

#include "source/source.h"

namespace castile {

/// Chooses again at each track boundary of the input it streams, and in the middle of a track when the one that is left or the
/// one that enters does not insist on boundaries (`track_sensitive` false). Switches on the exact sample: what an input made
/// beyond a switch stays with it. A switch begins a track; metadata of a track that is resumed is given again.
class Switcher : public Source {
public:
    struct Child {
        SourcePtr source;
        std::function<bool()> available = {};         ///< null: always. Asked once a tick at most.
        std::function<bool()> track_sensitive = {};   ///< null: what the source is (not for live ones).
        std::function<bool()> replay_metadata = {};   ///< null: yes
        bool single = false;                          ///< never two tracks in a row
        bool skip_interrupted = false;                ///< a track that was cut into is skipped, not resumed later
        /// Makes what is streamed when this one is entered: gets the one that is left, when it was still playing (else null),
        /// and this one. Null: no transition. Called in the tick; the sources that it makes join this clock.
        std::function<SourcePtr(const SourcePtr& ending, const SourcePtr& starting)> transition = {};
        std::function<void(const SourcePtr& source, bool at_boundary)> on_leave = {};
        std::function<int()> weight = {};             ///< for rotate and random; null: 1
    };

    Switcher(std::string operator_name, std::vector<Child> children);

    SourcePtr selected() const;   ///< Null when none. Any thread.
    std::vector<SourcePtr> queue() const;   ///< sequence's: what is left to play. Any thread.

    bool fallible() const noexcept override;
    std::optional<Ticks> remaining() noexcept override;
    void skip() noexcept override;
    Ticks seek(Ticks by) noexcept override;
    Source* effective_source() noexcept override;
    void add_sync_uses(SyncUses& uses) noexcept override;
    bool live() const noexcept override;

    double transition_length = 5;   ///< seconds that what is left may still be heard. Before start.
    std::string transition_override;        ///< metadata of what is left that gives another length. Before start.
    bool evaluate_all = false;      ///< ask every predicate at each choice. Before start.

protected:
    struct Entry {
        Child child;
        Ticks used;                            ///< of its frame in this tick
        std::optional<bool> available, track_sensitive;   ///< asked in this tick
        std::int64_t tracks = 0;               ///< begun since it was selected
        bool gone = false;                     ///< sequence: was played
    };

    /// What to stream from here on: an index, or -1. `boundary`: the selected one has ended its track, or there is none.
    virtual int choose(bool boundary) noexcept;
    virtual bool merges_tracks() const noexcept { return false; }   ///< no track mark at the next switch

    bool can_generate() noexcept override;
    void generate(Frame& out, Ticks wanted) noexcept override;
    void on_sleep() noexcept override;

    std::vector<Entry>& entries() noexcept { return entries_; }
    int current() const noexcept { return current_; }
    bool available(Entry& entry) noexcept;
    bool sensitive(Entry& entry) noexcept;
    /// Can the entry give anything more in this tick?
    bool has_data(Entry& entry) noexcept;
    void drop(int index) noexcept;             ///< never chosen again; sleeps between two ticks

private:
    void begin() noexcept;
    bool decide(bool boundary) noexcept;
    void select(int index, bool boundary) noexcept;
    void leave(bool boundary) noexcept;
    SourcePtr enter(Entry& entry, const SourcePtr& ending) noexcept;
    void release_left() noexcept;
    Source& streamed() noexcept { return transition_ ? *transition_ : *entries_[static_cast<std::size_t>(current_)].child.source; }
    Ticks& used() noexcept { return transition_ ? transition_used_ : entries_[static_cast<std::size_t>(current_)].used; }

    std::vector<Entry> entries_;
    int current_ = -1;
    SourcePtr transition_;                     ///< streamed in place of the current one's source
    Ticks transition_used_;
    bool fresh_ = false;                       ///< nothing of the current one was streamed yet
    bool merged_ = false;                      ///< and no mark is wanted where it begins
    MetadataPtr replayed_;                     ///< given where it begins, when it does not begin a track
    std::int64_t begun_tick_ = -1;

    struct Left {
        SourcePtr source, held;                ///< the input that was left, and what keeps it playing under a transition
        bool boundary;
        std::size_t entry;
    };
    std::vector<Left> left_;

    mutable std::mutex selected_mutex_;        // guards selected_, queue_
    SourcePtr selected_;
    std::vector<SourcePtr> queue_;
};

}  // namespace castile
