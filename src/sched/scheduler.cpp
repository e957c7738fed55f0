#include "sched/scheduler.h"

#include <algorithm>
#include <cassert>

#include "base/error.h"
#include "base/settings.h"
#include "sched/manual_time.h"
#include "sched/scheduler_impl.h"

namespace castile {

namespace {

Setting<int> iso_cpu{"scheduler.iso_cpu", 70, "Share of each worker, in percent, that clocks have before all other work; above it they queue with the rest."};
Setting<double> iso_period{"scheduler.iso_period", 5., "Period, in seconds, over which the share of clocks is averaged."};
Setting<int> worker_count{"scheduler.workers", 0, "Number of worker threads; 0 means one for each core."};

Scheduler* the_scheduler = nullptr;

}  // namespace

SchedulerOptions scheduler_options() {
    SchedulerOptions options;
    options.workers = static_cast<unsigned>(std::clamp(worker_count.get(), 0, 1024));
    options.iso_cpu = std::clamp(iso_cpu.get(), 1, 100) / 100.;
    options.iso_period = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(std::clamp(iso_period.get(), 0.1, 3600.)));
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

void Scheduler::start() {
    Impl& s = *impl_;
    std::lock_guard lock(s.queues_mutex);
    if (s.started || s.stopping || s.time.simulated()) return;
    s.started = true;
    for (unsigned i = 0; i < s.options.workers; ++i) s.workers.push_back(std::make_unique<detail::Worker>(i));
    for (auto& worker : s.workers) worker->thread = std::thread([&s, w = worker.get()] { s.work(*w); });
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
    for (auto& worker : s.workers)
        if (worker->thread.joinable()) worker->thread.join();
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
    if (entry) return;
    entry = std::make_unique<detail::IsoEntry>();
    entry->normal = !task->isochronous();
    entry->task = std::move(task);
    entry->deadline = first;
    s.queue_of(*entry).push(entry.get());
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

void Scheduler::run_simulated(Instant until) {
    Impl& s = *impl_;
    auto* manual = dynamic_cast<ManualTime*>(&s.time);
    if (!manual) throw Error("Simulated running needs a time that is moved by hand.");
    Impl::Lock lock(s.queues_mutex);
    while (!s.stopping) {
        s.run_handlers(lock, Duration::max());
        const Instant next = s.earliest();
        if (next > until) break;
        manual->advance_to(next);
        const Instant now = manual->now();
        if (s.run_timer(lock, now)) continue;
        detail::IsoQueue& queue = s.normal.earliest() < s.iso.earliest() ? s.normal : s.iso;
        if (detail::IsoEntry* entry = queue.pop(now, Duration::max())) s.run_entry(lock, nullptr, *entry, now);
    }
    manual->advance_to(until);
}

}  // namespace castile
