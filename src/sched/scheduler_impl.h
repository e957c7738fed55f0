#pragma once
// Inside of the scheduler: what its parts (public calls, workers, simulated time) share.

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/log.h"
#include "sched/blocking_pool.h"
#include "sched/iso_queue.h"
#include "sched/kernel_service.h"
#include "sched/scheduler.h"

namespace castile {

namespace detail {

/// One worker thread. Its members are guarded by the scheduler's mutex, except what a comment says otherwise.
struct Worker {
    explicit Worker(unsigned index);
    ~Worker();
    Worker(const Worker&) = delete;

    std::thread thread;
    unsigned index;
    int timer_fd;              ///< what it blocks on while parked; settable from any thread without waking it
    bool parked = false;       ///< waits on timer_fd
    bool called = false;       ///< was woken by another worker and has not looked at the queues since
    Instant busy_since{};      ///< when it last looked at the queues
    Instant waited_until = Instant::min();  ///< what it waited for, when it comes from a wait
    Share share;               ///< isochronous part of its time
    bool over_limit = false, over_reported = false;
    Instant over_logged{};
    std::int64_t runs = 0, late_runs = 0, demotions = 0;
    Duration clock_time{}, handler_time{};
    Duration typical_run = std::chrono::milliseconds(1);  ///< of a clock: a decaying average

    pid_t id = 0;                                 ///< gettid, once it runs
    std::unique_ptr<KernelThread> kernel;         ///< given before it works
    LatenessCounter lateness;                     ///< written by the worker only
    double share_now = 0;                         ///< the worker only: `share` when it last looked
};

/// The worker that this thread is, or null.
Worker* this_worker() noexcept;
/// The task that this thread is running, or null.
const IsoTask* running_task() noexcept;

}  // namespace detail

/// How workers wait. At most one (the keeper) blocks in Asio, until the earliest deadline; it does so only when no other
/// worker is awake, so that what a busy worker posts wakes nobody: it runs it itself. The others are parked, each on a
/// timerfd. They are woken for a backlog, or by the watch: the timer of the last parked one is set a little after
/// the moment at which the awake ones should have looked at the queues again, in case a call takes too long.
struct Scheduler::Impl {
    using Lock = std::unique_lock<std::mutex>;

    Impl(SchedulerOptions options, TimeSource& time);
    ~Impl();

    void serve_workers();                                     ///< Makes their threads and asks the kernel for them.
    KernelThread::Limits kernel_limits() const noexcept { return {.limit = options.iso_cpu, .period = options.iso_period}; }

    // Workers (worker.cpp)
    void work(detail::Worker& me) noexcept;
    bool run_iso(Lock& lock, detail::Worker& me, Instant now);
    void note_limit(detail::Worker& me, double share, Instant now);
    void note_demotion(detail::IsoEntry& entry, detail::Worker* me, Instant now);
    void note_pause(detail::Worker& me, Instant now);       ///< Looks whether the whole process stood still.
    void tell_pause(Duration away, Instant now);
    Instant run_entry(Lock& lock, detail::Worker* me, detail::IsoEntry& entry, Instant now);   ///< When it ended.
    bool run_handlers(Lock& lock, Duration budget, Instant& now);   ///< Ready ones; true when it ran any. Moves `now` on.
    bool run_timer(Lock& lock, Instant now);
    bool poll_one() noexcept;
    void idle(Lock& lock, detail::Worker& me);
    void park(Lock& lock, detail::Worker& me, Instant watch);
    void keep(Lock& lock, detail::Worker& me, Instant deadline);
    void wake_parked() noexcept;
    void set_watch(Instant when) noexcept;
    Instant earliest() const noexcept;
    void deadline_moved(Instant when) noexcept;               ///< Interrupts a keeper that would sleep past it.
    void enqueue(detail::IsoEntry& entry);
    detail::IsoQueue& queue_of(const detail::IsoEntry& entry) noexcept { return entry.normal ? normal : iso; }

    SchedulerOptions options;  ///< constant once started
    TimeSource& time;
    boost::asio::io_context io;
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard;
    detail::BlockingPool pool;

    std::mutex queues_mutex;  // guards everything below
    std::condition_variable stopped_running;
    std::unordered_map<const IsoTask*, std::unique_ptr<detail::IsoEntry>> entries;
    detail::IsoQueue iso, normal;
    struct TimerKey {
        Instant due;
        std::uint64_t id;
        auto operator<=>(const TimerKey&) const = default;
    };
    std::map<TimerKey, std::function<void()>> timers;
    std::uint64_t next_timer = 0;
    std::vector<std::unique_ptr<detail::Worker>> workers;
    std::vector<detail::Worker*> parked;       ///< the last is the watch
    Instant watch = Instant::max();            ///< when its timer goes off
    detail::Worker* keeper = nullptr;
    Instant keeper_until{};                    ///< when it looks at the queues again
    Instant keeper_wakes{};                    ///< when it does so if no post reaches it
    unsigned called = 0;                       ///< workers on their way
    std::size_t working = 0;                   ///< workers that have begun
    Instant overload_logged{};
    Instant last_look{};                       ///< when a worker last looked at the queues
    Instant cpu_sampled{}, pause_logged{};
    Duration cpu_used{};                       ///< of the process, when sampled
    std::int64_t pauses = 0;
    Duration paused{};
    std::vector<KernelService> kernel;
    std::string kernel_description = "none";
    bool started = false, stopping = false;

    std::atomic<std::int64_t> next_due = Instant::max().time_since_epoch().count();  ///< of the isochronous queue; a copy for running tasks
    void publish_due() noexcept { next_due.store(iso.earliest().time_since_epoch().count(), std::memory_order_relaxed); }
};

}  // namespace castile
