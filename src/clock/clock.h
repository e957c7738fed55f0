#pragma once
// A clock drives one connected graph of sources: it ticks its outputs, once a frame, on time.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "clock/sync_source.h"
#include "frame/ticks.h"
#include "sched/statistics.h"
#include "sched/time.h"

namespace castile {

class Scheduler;

/// What a clock drives: an output, or anything that must be pulled. Called on the clock's worker only.
class Active {
public:
    virtual ~Active() = default;
    virtual void tick() noexcept = 0;        ///< One frame. Never blocks, unless it is paced by something that does.
    virtual void after_tick() noexcept {}    ///< After every active of the clock ticked.
    virtual void activate() {}               ///< Before its first tick. May throw Error: it is not driven then.
    virtual void deactivate() noexcept {}    ///< After its last: at detach and when the clock stops. Closes what it opened.
    virtual void reset() noexcept {}         ///< The clock was so late that it gave up catching up.
    virtual void collect_sync(SyncUses&) noexcept {}              ///< Adds what paces it and the sources that it reads now.
    /// May the clock run half a second ahead of real time? Nothing live goes in, and nobody waits at the other end.
    virtual bool tolerates_lead() noexcept { return false; }
    virtual const std::string& active_name() const noexcept = 0;
};

enum class ClockMode { automatic, cpu, unsynchronised, passive };
std::optional<ClockMode> clock_mode(std::string_view word);   ///< "auto", "cpu", "none", "passive"
const char* clock_mode_word(ClockMode mode) noexcept;

/// One clock per connected graph. Sources join by unify(); after that, handles of both sides name the same clock.
/// Building and unifying: any thread before start (a lock inside). Ticks: one worker at a time.
class Clock;
using ClockPtr = std::shared_ptr<Clock>;

class Clock : public std::enable_shared_from_this<Clock> {
public:
    static ClockPtr create(std::string id = "", ClockMode mode = ClockMode::automatic);

    /// Makes both the same clock from now on. Throws ClockError when both are fixed by the script and differ, when
    /// both already run, or when one drives the other.
    static void unify(const ClockPtr& a, const ClockPtr& b);
    ClockPtr root();  ///< The clock this one was unified into (itself, most often).

    std::string id() const;
    void set_id(std::string id);
    std::int64_t tick_count() const noexcept;  ///< Frames since the start: the key of a source's per-tick memo.
    double time() const noexcept;              ///< Stream time in seconds; -1 when it does not run.
    bool running() const noexcept;
    ClockMode mode() const noexcept;
    const char* sync() const noexcept;         ///< "stopped", "stopping", "auto", "cpu", "none", "passive"
    bool self_sync() const noexcept;           ///< Paced by a SyncSource now?
    int priority() const noexcept;             ///< When the machine is too slow, clocks of lower priority are late first.
    void set_priority(int priority) noexcept;

    /// Errors of its sources while streaming go to these rather than to the log.
    void on_error(std::function<void(const std::string& message)> handler);
    bool report_error(const std::string& message) noexcept;   ///< false: there is no handler. The clock's worker.

    void attach(std::shared_ptr<Active> active);   ///< Starts with the clock; while it runs, at its next tick.
    void detach(const Active& active) noexcept;   ///< Takes effect between two ticks.
    /// Queues a function for the clock's worker, between two ticks (skip, seek, insert_metadata from elsewhere).
    void run_between_ticks(std::function<void()> f);

    /// Starts it when it is stopped and has something to drive; `force`: also without. A passive clock is made ready for ticks.
    /// Throws Error: an output cannot start, or the clock is still stopping.
    void start(Scheduler& scheduler, bool force);
    /// Its outputs are closed, and kept for the next start(). Returns at once; a passive clock is stopped when it returns.
    void stop() noexcept;
    /// One tick: of a passive clock by its owner (one at a time), or of a clock that was never started (tests). `pull` is
    /// called in the tick, after the outputs had theirs.
    void tick(const std::function<void()>& pull = {});

    // --- Child clocks: passive, driven by an operator of another clock (source/child_clock.h) ---------------------------
    static ClockPtr create_child(const ClockPtr& owner, std::string id);
    ClockPtr owner() const;                       ///< Null: it has none.
    std::vector<ClockPtr> sub_clocks() const;     ///< Those that are awake.
    void wake_child();                            ///< Its owner's clock ticks it from now on, when nobody else did in a tick.
    void sleep_child() noexcept;

    struct Impl;
    Impl& impl() noexcept { return *impl_; }
    ~Clock();

private:
    Clock();
    std::unique_ptr<Impl> impl_;
};

/// Starts every clock that has something to drive, is not running and was not stopped by the script (after the script was
/// evaluated, and after each later addition); stops all for good.
/// start_clocks throws Error when an output cannot start; the others are started all the same. stop_clocks gives every
/// clock the time to close its outputs, 2 s in all, and leaves a hanging one behind.
void start_clocks(Scheduler&);
void stop_clocks() noexcept;
std::vector<ClockPtr> all_clocks();       ///< One handle each, child clocks too.
std::vector<ClockPtr> told_clocks();      ///< Those of clock.active() and the dumps: not passive, with sources; by name.

/// The texts of `clock.dump()`, `clock.dump_all_sources()` and a clock's `dump()`.
std::string dump_clocks();
std::string dump_all_sources();
std::string dump_sources(Clock& clock);

/// A clock's sources, as the texts above and the methods of clocks tell of them. Given by the layer above, once.
struct ClockMember {
    enum class Kind { output, active, passive } kind;
    std::string id;
    std::vector<std::string> activators;
};
void set_clock_describer(std::function<std::vector<ClockMember>(Clock&)> describer);
std::vector<ClockMember> clock_members(Clock& clock);

/// For /metrics, the server, scheduler.stats() and the bench. Any thread.
struct ClockStatistics {
    std::string id, sync;
    std::string kernel;                ///< what the kernel gives its own thread; empty: it runs on the workers
    bool self_sync = false;
    int priority = 0;
    std::int64_t ticks = 0;
    std::int64_t late_ticks = 0;       ///< made after real time had come to them: the lead was gone
    Lateness lateness;                 ///< of the begin of ticks, after real time had come to them; paced by something else: after it asked
    double share = 0;                  ///< of a worker's time
    bool demoted = false;              ///< it queues with normal work
    std::int64_t demotions = 0;
    std::int64_t catchups = 0;         ///< warnings that it must catch up
    double catchup_seconds = 0;        ///< stream time made late
    double late = 0;                   ///< seconds behind, when last looked at; 0 when on time
    double worst_lateness = 0;         ///< seconds, since the start
    std::int64_t resets = 0;           ///< how often it gave up catching up
    double busy = 0;                   ///< seconds spent in ticks
    double lead = 0;                   ///< seconds that it runs ahead of real time
};
ClockStatistics clock_statistics(Clock&);
std::vector<ClockStatistics> all_clock_statistics();   ///< Of those that run.

}  // namespace castile
