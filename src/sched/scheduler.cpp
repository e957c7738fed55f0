#include "sched/scheduler.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <latch>

#include "base/error.h"
#include "base/settings.h"
#include "sched/manual_time.h"
#include "sched/scheduler_impl.h"

namespace castile {

namespace {

Setting<int> iso_cpu{"scheduler.iso_cpu", 70, "Share of each worker, in percent, that clocks have before all other work; above it they queue with the rest."};
Setting<double> iso_period{"scheduler.iso_period", 5., "Period, in seconds, over which the share of clocks is averaged."};
Setting<int> worker_count{"scheduler.workers", 0, "Number of worker threads; 0 means one for each core."};
Setting<std::string> kernel_setting{
    "scheduler.kernel", "auto",
    "What threads that run clocks ask of the kernel: \"fifo\" or \"rr\" (real-time), \"rtkit\" (real-time by that service), \"ext\" (the sched_ext scheduler that is "
    "loaded), \"slice\" (a short time slice), \"nice\", \"none\", or \"auto\": Castile's isochronous class when it is loaded, else the best of these that is allowed."};
Setting<bool> lock_memory_setting{"scheduler.lock_memory", false, "Keep the process's memory from being swapped out."};

const Logger log("scheduler");

Scheduler* the_scheduler = nullptr;

}  // namespace

SchedulerOptions scheduler_options() {
    SchedulerOptions options;
    options.workers = static_cast<unsigned>(std::clamp(worker_count.get(), 0, 1024));
    options.iso_cpu = std::clamp(iso_cpu.get(), 0, 100) / 100.;
    options.iso_period = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(std::clamp(iso_period.get(), 0.1, 3600.)));
    options.kernel = kernel_setting.get();
    options.lock_memory = lock_memory_setting.get();
    return options;
}

Scheduler& scheduler() noexcept {
    assert(the_scheduler);
    return *the_scheduler;
}

void set_scheduler(Scheduler* scheduler) noexcept { the_scheduler = scheduler; }

Scheduler::Impl::Impl(SchedulerOptions wanted, TimeSource& source)
    : options(wanted), time(source), guard(boost::asio::make_work_guard(io)), pool(wanted.blocking_threads) {}

Scheduler::Impl::~Impl() = default;

Scheduler::Scheduler(SchedulerOptions options, TimeSource& time) {
    if (options.workers == 0) options.workers = std::max(1u, std::thread::hardware_concurrency());
    impl_ = std::make_unique<Impl>(options, time);
}

Scheduler::~Scheduler() {
    stop();
    if (the_scheduler == this) the_scheduler = nullptr;
}

void Scheduler::configure(const SchedulerOptions& options) {
    Impl& s = *impl_;
    std::lock_guard lock(s.queues_mutex);
    if (s.started) return;
    const unsigned workers = s.options.workers;
    s.options = options;
    if (options.workers == 0) s.options.workers = workers;
}

void Scheduler::start() {
    Impl& s = *impl_;
    if (s.time.simulated()) return;
    {
        std::lock_guard lock(s.queues_mutex);
        if (s.started || s.stopping) return;
        s.started = true;
        for (unsigned i = 0; i < s.options.workers; ++i) s.workers.push_back(std::make_unique<detail::Worker>(i));
    }
    s.serve_workers();
}

// Workers begin once the kernel was asked for all of them, so that one line tells what they got.
void Scheduler::Impl::serve_workers() {
    auto wanted = kernel_services(options.kernel);
    if (!wanted) {
        log.severe("settings.scheduler.kernel: there is no \"{}\"; it is one of auto, fifo, rr, rtkit, ext, slice, nice, none.", options.kernel);
        wanted.emplace();
    }
    kernel = *wanted;
    std::latch running(static_cast<std::ptrdiff_t>(workers.size())), served(1);
    for (auto& worker : workers)
        worker->thread = std::thread([this, &running, &served, w = worker.get()] {
            w->id = static_cast<pid_t>(syscall(SYS_gettid));
            running.count_down();
            served.wait();
            work(*w);
        });
    running.wait();
    for (auto& worker : workers) {
        auto given = std::make_unique<KernelThread>(worker->id, kernel, kernel_limits());
        std::lock_guard lock(queues_mutex);
        worker->kernel = std::move(given);
    }
    const KernelThread& first = *workers.front()->kernel;
    {
        std::lock_guard lock(queues_mutex);
        kernel_description = first.description();
    }
    if (options.kernel != "none") {
        const std::string refusals = first.refusals().empty() ? "" : fmt::format(" ({})", first.refusals());
        log.important("Kernel service of the {} workers: {}{}.", workers.size(), first.description(), refusals);
    }
    if (options.lock_memory) {
        if (const auto refused = lock_memory()) log.severe("Memory cannot be locked: {}. Raise the limit of locked memory (ulimit -l).", *refused);
        else log.important("Memory is locked.");
    }
    served.count_down();
    // `served` and `running` live here: wait until every worker has left them.
    std::unique_lock lock(queues_mutex);
    stopped_running.wait(lock, [this] { return working == workers.size(); });
}

void Scheduler::stop() noexcept {
    Impl& s = *impl_;
    {
        std::lock_guard lock(s.queues_mutex);
        if (s.stopping) return;
        s.stopping = true;
        while (!s.parked.empty()) s.wake_parked();
    }
    s.io.stop();
    s.pool.stop();
    for (auto& worker : s.workers) {
        if (worker->thread.joinable()) worker->thread.join();
        worker->kernel.reset();
    }
    std::map<Impl::TimerKey, std::function<void()>> timers;  // destroyed outside the lock: they may own what calls us
    std::unordered_map<const IsoTask*, std::unique_ptr<detail::IsoEntry>> entries;
    std::lock_guard lock(s.queues_mutex);
    s.started = false;
    s.parked.clear();
    timers.swap(s.timers);
    entries.swap(s.entries);
    s.iso = s.normal = {};
}

void Scheduler::add(std::shared_ptr<IsoTask> task, Instant first) {
    Impl& s = *impl_;
    std::lock_guard lock(s.queues_mutex);
    if (s.stopping) return;
    auto& entry = s.entries[task.get()];
    if (entry) {
        if (!entry->removed) return;
        entry->removed = false;  // it removed itself and is not out of its run yet: it comes back
        entry->rerun = std::min(entry->rerun, first);
        return;
    }
    entry = std::make_unique<detail::IsoEntry>();
    entry->normal = !task->isochronous() || s.options.iso_cpu <= 0.;
    entry->task = std::move(task);
    entry->deadline = first;
    s.queue_of(*entry).push(entry.get());
    s.publish_due();
    s.deadline_moved(first);
}

void Scheduler::wake(IsoTask& task, Instant when) noexcept {
    Impl& s = *impl_;
    std::lock_guard lock(s.queues_mutex);
    const auto found = s.entries.find(&task);
    if (found == s.entries.end()) return;
    detail::IsoEntry& entry = *found->second;
    if (entry.running) {
        entry.rerun = std::min(entry.rerun, when);
    } else if (when < entry.deadline) {
        s.queue_of(entry).update(&entry, when);
        s.publish_due();
        s.deadline_moved(when);
    }
}

void Scheduler::remove(IsoTask& task) noexcept {
    Impl& s = *impl_;
    std::shared_ptr<IsoTask> last;  // released outside the lock
    std::unique_lock lock(s.queues_mutex);
    auto found = s.entries.find(&task);
    if (found == s.entries.end()) return;
    detail::IsoEntry& entry = *found->second;
    if (entry.running) {
        entry.removed = true;
        if (&task == detail::running_task()) return;  // run_entry drops it
        s.stopped_running.wait(lock, [&] { return !s.entries.contains(&task); });
        return;
    }
    s.queue_of(entry).erase(&entry);
    s.publish_due();
    last = std::move(entry.task);
    s.entries.erase(found);
}

void Scheduler::post(std::function<void()> handler) { boost::asio::post(impl_->io, std::move(handler)); }

std::function<void()> Scheduler::after(Duration delay, std::function<void()> handler) {
    Impl& s = *impl_;
    const Instant due = s.time.now() + std::max(delay, Duration::zero());
    std::lock_guard lock(s.queues_mutex);
    if (s.stopping) return [] {};
    const Impl::TimerKey key{due, s.next_timer++};
    s.timers.emplace(key, std::move(handler));
    s.deadline_moved(due);
    return [&s, key] {
        std::function<void()> dropped;  // destroyed outside the lock
        std::lock_guard guard(s.queues_mutex);
        if (auto timer = s.timers.find(key); timer != s.timers.end()) {
            dropped = std::move(timer->second);
            s.timers.erase(timer);
        }
    };
}

void Scheduler::blocking(std::function<void()> job) {
    if (impl_->time.simulated())
        post(std::move(job));
    else
        impl_->pool.submit(std::move(job));
}

boost::asio::io_context& Scheduler::io() noexcept { return impl_->io; }
TimeSource& Scheduler::time() noexcept { return impl_->time; }
const SchedulerOptions& Scheduler::options() const noexcept { return impl_->options; }

bool Scheduler::started() const noexcept {
    std::lock_guard lock(impl_->queues_mutex);
    return impl_->started;
}

// --- What is visible -----------------------------------------------------------------------------------------------

namespace {

TaskStatistics task_statistics(detail::IsoEntry& entry, Instant now, Duration period) {
    return {.name = entry.task->name(),
            .priority = entry.task->priority(),
            .share = entry.share.at(now, period),
            .demoted = entry.demoted,
            .demotions = entry.demotions};
}

}  // namespace

SchedulerStatistics Scheduler::statistics() const {
    Impl& s = *impl_;
    const Instant now = s.time.now();
    SchedulerStatistics all;
    std::lock_guard lock(s.queues_mutex);
    all.kernel = s.kernel_description;
    all.iso_cpu = s.options.iso_cpu;
    all.iso_period = std::chrono::duration<double>(s.options.iso_period).count();
    all.pauses = s.pauses;
    all.paused_seconds = std::chrono::duration<double>(s.paused).count();
    for (const auto& worker : s.workers)
        all.workers.push_back({.index = worker->index,
                               .service = worker->kernel ? worker->kernel->description() : "none",
                               .service_lost = worker->kernel && worker->kernel->lost(),
                               .runs = worker->runs,
                               .late_runs = worker->late_runs,
                               .lateness = worker->lateness.read(),
                               .share = worker->share.at(now, s.options.iso_period),
                               .over_limit = worker->over_limit,
                               .demotions = worker->demotions,
                               .clock_seconds = std::chrono::duration<double>(worker->clock_time).count(),
                               .handler_seconds = std::chrono::duration<double>(worker->handler_time).count()});
    for (const auto& [task, entry] : s.entries)
        if (entry->task) all.tasks.push_back(task_statistics(*entry, now, s.options.iso_period));
    return all;
}

std::optional<TaskStatistics> Scheduler::statistics(const IsoTask& task) const {
    Impl& s = *impl_;
    const Instant now = s.time.now();
    std::lock_guard lock(s.queues_mutex);
    const auto found = s.entries.find(&task);
    if (found == s.entries.end()) return std::nullopt;
    return task_statistics(*found->second, now, s.options.iso_period);
}

bool Scheduler::others_due(Instant now) const noexcept {
    return impl_->next_due.load(std::memory_order_relaxed) <= now.time_since_epoch().count();
}

double Scheduler::worker_share() noexcept {
    const detail::Worker* worker = detail::this_worker();
    return worker ? worker->share_now : 0.;
}

void Scheduler::note_pause(Duration away) {
    std::lock_guard lock(impl_->queues_mutex);
    impl_->tell_pause(away, impl_->time.now());
}

std::unique_ptr<KernelThread> Scheduler::serve_this_thread() const {
    return std::make_unique<KernelThread>(static_cast<pid_t>(syscall(SYS_gettid)), impl_->kernel, impl_->kernel_limits());
}

void Scheduler::run_simulated(Instant until) {
    Impl& s = *impl_;
    auto* manual = dynamic_cast<ManualTime*>(&s.time);
    if (!manual) throw Error("Simulated running needs a time that is moved by hand.");
    Impl::Lock lock(s.queues_mutex);
    while (!s.stopping) {
        Instant at = s.time.now();
        s.run_handlers(lock, Duration::max(), at);
        const Instant next = s.earliest();
        if (next > until) break;
        manual->advance_to(next);
        const Instant now = manual->now();
        if (s.run_timer(lock, now)) continue;
        detail::IsoQueue& queue = s.normal.earliest() < s.iso.earliest() ? s.normal : s.iso;
        if (detail::IsoEntry* entry = queue.pop(now)) s.run_entry(lock, nullptr, *entry, now);
    }
    manual->advance_to(until);
}

}  // namespace castile
