#pragma once
// W workers, an isochronous queue (earliest deadline first) before normal work, a blocking pool. See docs/architecture.md.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "sched/statistics.h"
#include "sched/time.h"

namespace boost::asio { class io_context; }

namespace castile {

/// Something with deadlines: a clock. A parked task is one heap entry: no thread, no stack.
class IsoTask {
public:
    virtual ~IsoTask() = default;
    /// On one worker at a time. Produces until it is far enough ahead or its slice is used; returns the next deadline
    /// (Instant::max() = wait until woken by Scheduler::wake).
    virtual Instant run(Instant now) noexcept = 0;
    virtual int priority() const noexcept { return 0; }  ///< Of those that are due the higher runs first: overload hits the lower.
    /// How long before its deadline it is worth running when a worker is awake anyway.
    virtual Duration slack() const noexcept { return {}; }
    /// false: always queues as normal work (a clock that nobody paces).
    virtual bool isochronous() const noexcept { return true; }
    /// The whole process did not run for so long (it was stopped, or the machine slept). Any thread; only takes note.
    virtual void process_paused(Duration) noexcept {}
    virtual const std::string& name() const noexcept = 0;
};

struct SchedulerOptions {
    unsigned workers = 0;                     ///< 0: one a core
    Duration slice = std::chrono::milliseconds(10);
    double iso_cpu = 0.70;                    ///< isochronous share of a worker, decaying average; 1: no limit, 0: always normal
    Duration iso_period = std::chrono::seconds(5);
    unsigned blocking_threads = 16;           ///< at most; made when needed
    std::string kernel = "none";              ///< settings.scheduler.kernel
    bool lock_memory = false;
};

/// The options that settings.scheduler.* ask for.
SchedulerOptions scheduler_options();

class KernelThread;

/// The process has one. All members are safe from any thread unless they say otherwise.
class Scheduler {
public:
    explicit Scheduler(SchedulerOptions options = {}, TimeSource& time = system_time());
    ~Scheduler();  ///< stop()s.
    Scheduler(const Scheduler&) = delete;

    void configure(const SchedulerOptions& options);  ///< Before start().
    void start();         ///< Starts the workers (none in simulated time).
    void stop() noexcept; ///< Stops and joins them; pending work is dropped.

    void add(std::shared_ptr<IsoTask> task, Instant first);
    void wake(IsoTask& task, Instant when) noexcept;  ///< Moves its deadline forward; a running task runs once more.
    void remove(IsoTask& task) noexcept;              ///< Returns when it is not running and will not run again.

    /// Normal class. Handlers run on any worker; an exception is logged, not fatal.
    void post(std::function<void()> handler);
    /// A one-shot timer; returns a function that cancels it (harmless after it fired).
    std::function<void()> after(Duration delay, std::function<void()> handler);
    /// The blocking pool: for calls that may wait for a disk, a peer or a child process.
    void blocking(std::function<void()> job);

    boost::asio::io_context& io() noexcept;  ///< For net/ only.
    TimeSource& time() noexcept;

    const SchedulerOptions& options() const noexcept;
    bool started() const noexcept;  ///< Are there workers?

    SchedulerStatistics statistics() const;
    std::optional<TaskStatistics> statistics(const IsoTask& task) const;
    /// Does an isochronous task wait whose deadline has come? Costs nothing: a running task asks when its slice is used.
    bool others_due(Instant now) const noexcept;
    /// The isochronous share of the calling worker's time, 0 to 1; 0 elsewhere.
    static double worker_share() noexcept;
    /// A thread that runs a clock by itself overslept: the process did not run for so long.
    void note_pause(Duration away);
    /// The kernel's service for the calling thread, which runs a clock by itself.
    std::unique_ptr<KernelThread> serve_this_thread() const;
    /// Is the caller a worker? What it posts then runs on it soon, and wakes nobody.
    static bool on_worker() noexcept;

    /// Simulated time: runs everything due up to `until`, in order, moving the time source (which must be manual).
    void run_simulated(Instant until);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// The process's scheduler, set by main (or a test) before anything that needs it.
Scheduler& scheduler() noexcept;
void set_scheduler(Scheduler*) noexcept;

}  // namespace castile
