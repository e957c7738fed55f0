#pragma once
// Inside of a clock: its place in the union-find, what it drives, and its animator.

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>

#include "base/log.h"
#include "clock/clock.h"
#include "sched/iso_queue.h"
#include "sched/kernel_service.h"
#include "sched/scheduler.h"

namespace castile {

class ClockTask;

struct Clock::Impl {
    // The union-find. `parent` is read without a lock; it is set once, under the graph mutex, and kept alive by `merged_into`.
    std::atomic<Clock*> parent = nullptr;
    ClockPtr merged_into;

    enum class State { idle, running, stopping, ended };
    std::atomic<State> state = State::idle;
    std::atomic<std::int64_t> ticks = 0;
    std::atomic<int> priority = 0;
    std::atomic<SyncSource*> sync = nullptr;          ///< what paces it now; set by its worker

    // Guarded by the graph mutex.
    std::string id;
    bool has_id = false;
    std::atomic<ClockMode> mode = ClockMode::automatic;
    std::shared_ptr<ClockTask> task;                  ///< while it runs
    bool held = false;                                ///< stopped by the script: start_clocks leaves it alone
    std::atomic<bool> is_child = false;
    std::weak_ptr<Clock> owner;                       ///< of a child clock
    std::vector<std::weak_ptr<Clock>> children;       ///< awake ones; changed on the clock's worker too

    // Orders from any thread; `changed` says that there are any.
    std::mutex orders_mutex;
    std::vector<std::shared_ptr<Active>> attached;
    std::vector<const Active*> detached;
    std::vector<std::function<void()>> functions;
    std::atomic<bool> changed = false;

    std::mutex errors_mutex;
    std::vector<std::function<void(const std::string&)>> error_handlers;

    std::mutex passive_mutex;                         ///< one tick at a time of a passive clock

    // The clock's worker only (before start: whoever starts it).
    std::vector<std::shared_ptr<Active>> actives;
    std::vector<std::function<void()>> running_functions;
    SyncUses sync_uses;
    bool conflict_told = false;
    std::vector<ClockPtr> awake_children;             ///< in a tick only
    std::int64_t ticks_seen = -1;                     ///< of a child: at the end of its owner's last tick

    void tick_actives(Clock& clock, const std::function<void()>& pull = {}) noexcept;
    void tick_children() noexcept;
    void apply_orders(Clock& clock) noexcept;         ///< attach, detach, then the queued functions
    void run_functions() noexcept;
    std::optional<std::string> activate_attached() noexcept;  ///< the first error, if any
    void deactivate_all(bool for_good) noexcept;      ///< else they are attached again, for the next start
    SyncSource* current_sync() noexcept;              ///< asks the actives
    struct Conflict {
        std::string message, position;                ///< where the script made the second one
    };
    std::optional<Conflict> sync_conflict();          ///< of what current_sync() found
};

/// How a running clock keeps time: a scheduler task, or a loop on a thread of its own (settings.clock.task := false, and while
/// it is paced by something that blocks).
class ClockTask final : public IsoTask, public std::enable_shared_from_this<ClockTask> {
public:
    ClockTask(ClockPtr clock, Scheduler& scheduler, Duration phase, bool thread_each);

    Instant run(Instant now) noexcept override;
    const std::string& name() const noexcept override { return name_; }
    Duration slack() const noexcept override { return Duration(slack_.load(std::memory_order_relaxed)); }
    int priority() const noexcept override { return c_.priority.load(std::memory_order_relaxed); }
    bool isochronous() const noexcept override { return mode_ != ClockMode::unsynchronised; }
    void process_paused(Duration away) noexcept override { paused_.store(away.count()); }

    void start();
    void wake() noexcept;                             ///< Runs soon: there are orders.
    void request_stop(bool for_good) noexcept;
    bool wait_stopped(Instant until) noexcept;        ///< Real time. False: it hangs.
    void add_statistics(ClockStatistics& to) const;

private:
    Duration position() const noexcept;               ///< stream time made since the anchor
    Instant run_paced(Instant now) noexcept;
    Instant run_self_sync(Instant now) noexcept;
    void follow(SyncSource* sync) noexcept;           ///< a change of what paces it
    void check_lateness(Instant now) noexcept;
    void apply_pause(Instant now) noexcept;
    void adapt_lead(Instant now) noexcept;
    void set_lead(Duration lead) noexcept;
    bool finish() noexcept;                           ///< Nothing to drive: the clock is idle again. False: there is.
    void shut_down() noexcept;
    void ended() noexcept;
    void start_thread() noexcept;
    void loop() noexcept;

    const ClockPtr clock_;
    Clock::Impl& c_;
    Scheduler& scheduler_;
    const std::string name_;
    const Logger log_;
    const ClockMode mode_;
    const bool thread_each_;
    const Duration frame_, phase_;
    Duration latency_, most_lead_, log_delay_, log_threshold_, max_latency_;
    bool catch_up_pauses_ = false;

    // The clock's worker only.
    bool anchored_ = false, was_ahead_ = false, to_thread_ = false, to_task_ = false;
    Instant anchor_{}, expected_ = Instant::max(), last_warning_{}, lead_adapted_{};
    std::int64_t anchor_tick_ = 0;
    Duration lead_{}, reserve_{};
    SyncSource* sync_ = nullptr;
    detail::Share thread_share_;                      ///< of a thread's time

    std::atomic<bool> on_a_thread_ = false, for_good_ = false;
    std::atomic<std::int64_t> paused_ = 0, slack_ = 0;
    std::atomic<std::int64_t> late_ticks_ = 0, catchups_ = 0, resets_ = 0, late_ = 0, worst_ = 0, busy_ = 0, lead_now_ = 0;   // nanoseconds
    std::atomic<double> share_now_ = 0;
    LatenessCounter lateness_;
    mutable std::mutex wait_mutex_;  // guards wake_, done_, kernel_
    std::condition_variable wait_;
    std::string kernel_;                              ///< what its own thread gets; empty: it has none
    bool wake_ = false, done_ = false;
};

inline double seconds(Duration d) noexcept { return std::chrono::duration<double>(d).count(); }

/// Is this thread inside that clock's tick or its functions?
bool inside_clock(const Clock::Impl& clock) noexcept;
void catchup_message(Scheduler& scheduler, const Logger& log, Duration late, Duration delay) noexcept;   ///< Of many clocks at once only some are told one by one.

/// For tests: what a worker's share is taken for; negative: what it is.
extern std::atomic<double> assumed_worker_share;

}  // namespace castile
