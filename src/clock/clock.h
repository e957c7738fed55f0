#pragma once
// A clock drives one connected graph of sources: it ticks its outputs, once a frame, on time.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "frame/ticks.h"
#include "sched/time.h"

namespace castile {

class Scheduler;

/// What a clock drives: an output, or anything that must be pulled. Called on the clock's worker only.
class Active {
public:
    virtual ~Active() = default;
    virtual void tick() noexcept = 0;        ///< One frame. Never blocks.
    virtual void after_tick() noexcept {}    ///< After every active of the clock ticked.
    virtual void activate() {}               ///< Before its first tick. May throw Error: it is not driven then.
    virtual void deactivate() noexcept {}    ///< After its last: at detach and at shutdown. Closes what it opened.
    virtual void reset() noexcept {}         ///< The clock was so late that it gave up catching up.
    virtual const std::string& active_name() const noexcept = 0;
};

enum class ClockMode { automatic, cpu, unsynchronised, passive };

/// One clock per connected graph. Sources join by unify(); after that, handles of both sides name the same clock.
/// Building and unifying: any thread before start (a lock inside). Ticks: one worker at a time.
class Clock;
using ClockPtr = std::shared_ptr<Clock>;

class Clock : public std::enable_shared_from_this<Clock> {
public:
    static ClockPtr create(std::string id = "", ClockMode mode = ClockMode::automatic);

    /// Makes both the same clock from now on. Throws Error when both are fixed by the script and differ, or when
    /// both already run.
    static void unify(const ClockPtr& a, const ClockPtr& b);
    ClockPtr root();  ///< The clock this one was unified into (itself, most often).

    const std::string& id() const noexcept;
    void set_id(std::string id);
    std::int64_t tick_count() const noexcept;  ///< Frames since the start: the key of a source's per-tick memo.
    bool running() const noexcept;
    ClockMode mode() const noexcept;
    /// One tick by hand: of a passive clock by whoever controls it, or of a clock that was never started (tests).
    void tick();

    void attach(std::shared_ptr<Active> active);   ///< Starts with the clock; while it runs, at its next tick.
    void detach(const Active& active) noexcept;   ///< Takes effect between two ticks.
    /// Queues a function for the clock's worker, between two ticks (skip, seek, insert_metadata from elsewhere).
    void run_between_ticks(std::function<void()> f);

    struct Impl;
    Impl& impl() noexcept { return *impl_; }
    ~Clock();

private:
    Clock();
    std::unique_ptr<Impl> impl_;
};

/// Starts every clock that has something to drive and is not running yet (after the script was evaluated, and after
/// each later addition); stops all. `dump_clocks()` is `clock.dump()`'s text.
/// start_clocks throws Error when an output cannot start; the others are started all the same. stop_clocks gives every
/// clock the time to close its outputs, 2 s in all, and leaves a hanging one behind.
void start_clocks(Scheduler&);
void stop_clocks() noexcept;
std::string dump_clocks();
std::vector<ClockPtr> all_clocks();

/// What dump_clocks() says of a clock's sources: "id [who activated it, ...]". Given by the layer above, once.
struct ClockMembers {
    std::vector<std::string> outputs, active, passive;
    bool self_sync = false;
};
void set_clock_describer(std::function<ClockMembers(Clock&)> describer);

/// For /metrics and the bench. Any thread.
struct ClockStatistics {
    std::int64_t ticks = 0;
    std::int64_t catchups = 0;         ///< warnings that it must catch up
    double worst_lateness = 0;         ///< seconds, since the start
    double busy = 0;                   ///< seconds spent in ticks
};
ClockStatistics clock_statistics(Clock&);

}  // namespace castile
