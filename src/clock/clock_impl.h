#pragma once
// Inside of a clock: its place in the union-find, what it drives, and its animator.

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "base/log.h"
#include "clock/clock.h"
#include "sched/scheduler.h"

namespace castile {

class ClockTask;

struct Clock::Impl {
    // The union-find. `parent` is read without a lock; it is set once, under the graph mutex, and kept alive by `owner`.
    std::atomic<Clock*> parent = nullptr;
    ClockPtr owner;

    enum class State { idle, running, stopping, stopped };
    std::atomic<State> state = State::idle;
    std::atomic<std::int64_t> ticks = 0;

    // Guarded by the graph mutex.
    std::string id;
    bool has_id = false;
    ClockMode mode = ClockMode::automatic;
    std::shared_ptr<ClockTask> task;  // once started

    // Orders from any thread; `changed` says that there are any.
    std::mutex orders_mutex;
    std::vector<std::shared_ptr<Active>> attached;
    std::vector<const Active*> detached;
    std::vector<std::function<void()>> functions;
    std::atomic<bool> changed = false;

    // The clock's worker only (before start: whoever starts it).
    std::vector<std::shared_ptr<Active>> actives;
    std::vector<std::function<void()>> running_functions;

    void tick_actives() noexcept;
    void apply_orders() noexcept;      ///< attach, detach, then the queued functions
    void run_functions() noexcept;
    std::optional<std::string> activate_attached() noexcept;  ///< the first error, if any
    void deactivate_all() noexcept;
};

/// How a running clock keeps time: a scheduler task, or (settings.clock.task := false) a loop on a thread of its own.
class ClockTask final : public IsoTask, public std::enable_shared_from_this<ClockTask> {
public:
    ClockTask(ClockPtr clock, Scheduler& scheduler, Duration phase, bool on_a_thread);
    ~ClockTask() override;

    Instant run(Instant now) noexcept override;
    const std::string& name() const noexcept override { return name_; }
    Duration slack() const noexcept override { return slack_; }
    bool isochronous() const noexcept override { return mode_ != ClockMode::unsynchronised; }

    void start();
    void wake() noexcept;                             ///< Runs soon: there are orders.
    void request_stop() noexcept;
    bool wait_stopped(Instant until) noexcept;        ///< Real time. False: it hangs.
    ClockStatistics statistics() const noexcept;

private:
    Duration position() const noexcept;               ///< stream time made since the anchor
    void check_lateness(Instant now) noexcept;
    void shut_down() noexcept;
    void loop() noexcept;

    const ClockPtr clock_;
    Clock::Impl& c_;
    Scheduler& scheduler_;
    const std::string name_;
    const Logger log_;
    const ClockMode mode_;
    const bool on_a_thread_;
    Duration frame_, latency_, reserve_, slack_{}, phase_;
    Duration log_delay_, log_threshold_, max_latency_;

    // The clock's worker only.
    bool anchored_ = false;
    Instant anchor_{};
    std::int64_t anchor_tick_ = 0;
    Instant last_warning_{};

    std::atomic<std::int64_t> catchups_ = 0, worst_nanoseconds_ = 0, busy_nanoseconds_ = 0;
    std::mutex wait_mutex_;  // guards wake_, done_
    std::condition_variable wait_;
    bool wake_ = false, done_ = false;
    std::thread thread_;
};

/// Is this thread inside that clock's tick or its functions?
bool inside_clock(const Clock::Impl& clock) noexcept;

}  // namespace castile
