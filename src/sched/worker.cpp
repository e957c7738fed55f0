// The workers: who runs what next, and who waits for what.

#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "sched/scheduler_impl.h"

namespace castile {

using detail::IsoEntry;
using detail::IsoQueue;
using detail::Worker;
using namespace std::chrono_literals;

namespace {

constexpr Duration watch_time = 20ms;      // an awake worker that has not looked at the queues for so long is stuck
constexpr Duration keeper_grace = 10ms;    // a keeper this late is stuck in a handler
constexpr Duration too_slow = 1s;          // a wait that is told
constexpr Duration pause_time = 1s;        // a process that did not run for so long was stopped
constexpr Duration longest_wait = 250ms;   // of the keeper, with nothing due: bounds what a handler that blocks can hold up
constexpr Duration handler_budget = 500us; // for normal handlers between two isochronous runs

constexpr Duration short_run = 200us, short_wait = 1ms;  // for runs shorter than that a second worker is called after this

constexpr Duration cpu_sample_time = 200ms;
constexpr Duration report_time = 10s;      // between two lines about the same worker or task

Duration process_cpu_time() noexcept {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

thread_local Worker* current_worker = nullptr;
thread_local const IsoTask* current_task = nullptr;

void set_timer(int fd, Instant when) noexcept {
    itimerspec spec{};  // all zero disarms
    if (when != Instant::max()) {
        const auto at = std::max<std::int64_t>(1, when.time_since_epoch().count());
        spec.it_value.tv_sec = at / 1'000'000'000;
        spec.it_value.tv_nsec = at % 1'000'000'000;
    }
    timerfd_settime(fd, TFD_TIMER_ABSTIME, &spec, nullptr);
}

Instant plus(Instant at, Duration by) noexcept { return at > Instant::max() - by ? Instant::max() : at + by; }

template <class F>
void guarded(F&& call) noexcept {
    try {
        call();
    } catch (const std::exception& e) {
        log_line(LogLevel::severe, "scheduler", fmt::format("A handler failed: {}", e.what()));
    } catch (...) {
        log_line(LogLevel::severe, "scheduler", "A handler failed.");
    }
}

}  // namespace

namespace detail {

Worker::Worker(unsigned i) : index(i), timer_fd(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)) {
    if (timer_fd < 0) throw std::system_error(errno, std::generic_category(), "timerfd_create");
}

Worker::~Worker() { close(timer_fd); }

Worker* this_worker() noexcept { return current_worker; }
const IsoTask* running_task() noexcept { return current_task; }

}  // namespace detail

bool Scheduler::on_worker() noexcept { return current_worker != nullptr; }

void Scheduler::Impl::work(Worker& me) noexcept {
    current_worker = &me;
    Lock lock(queues_mutex);
    ++working;
    stopped_running.notify_all();
    Instant awake_since = time.now();
    while (!stopping) {
        const Instant now = time.now();
        me.busy_since = now;
        me.kernel->account(now - awake_since, now);
        awake_since = now;
        note_pause(me, now);
        if (me.called) {
            me.called = false;
            --called;
        }
        if (run_iso(lock, me, now)) continue;
        Instant end = now;
        const bool ran = run_handlers(lock, options.slice, end);
        me.handler_time += end - now;
        if (ran || stopping) continue;
        me.kernel->account(end - now, end);
        idle(lock, me);
        awake_since = time.now();
    }
    current_worker = nullptr;
}

// All workers were away although there was work, and used no processor: the process was stopped, or the machine slept.
void Scheduler::Impl::note_pause(Worker& me, Instant now) {
    const Instant waited_until = std::exchange(me.waited_until, Instant::min());
    const Instant last = std::exchange(last_look, now);
    const Duration gap = now - last;
    if (gap < pause_time && now - cpu_sampled < cpu_sample_time) return;
    const Duration before = std::exchange(cpu_used, process_cpu_time());
    cpu_sampled = now;
    if (gap < pause_time || last == Instant{} || cpu_used - before > gap / 2) return;
    // When should somebody have looked? When the waits of those who are idle end; if none was, as soon as a run was over.
    Instant due = last;
    if (waited_until != Instant::min()) due = std::max(due, waited_until);
    else if (keeper) due = std::max(due, keeper_until);
    else if (!parked.empty()) due = std::max(due, watch);
    if (due >= now - pause_time) return;
    const Duration away = now - due;
    tell_pause(away, now);
    for (const auto& [task, entry] : entries)
        if (entry->task) entry->task->process_paused(away);
}

void Scheduler::Impl::tell_pause(Duration away, Instant now) {
    if (now - pause_logged < pause_time && pauses > 0) return;  // the same one, seen by another thread
    pause_logged = now;
    ++pauses;
    paused += away;
    log_line(LogLevel::severe, "scheduler",
             fmt::format("The process did not run for {:.2f} seconds: it was stopped, or the machine was.", std::chrono::duration<double>(away).count()));
}

// One isochronous run and some handlers, or false when nothing is due. Under the limit isochronous entries come first and
// handlers get a short turn; above it, both get turns of the same length.
bool Scheduler::Impl::run_iso(Lock& lock, Worker& me, Instant now) {
    me.share_now = me.share.at(now, options.iso_period);
    note_limit(me, me.share_now, now);
    const auto runnable = [now](const IsoQueue& queue) {
        const IsoEntry* top = queue.top();
        return top && top->deadline != Instant::max() && top->deadline - top->task->slack() <= now;
    };
    IsoQueue* queue = runnable(iso) ? &iso : nullptr;
    const bool fair = me.over_limit || !queue;
    if (fair && normal.earliest() <= now && (!queue || normal.earliest() < iso.earliest())) queue = &normal;
    if (!queue) return false;
    IsoEntry& entry = *queue->pop(now, &me);
    publish_due();
    const Duration late = now - entry.deadline;
    ++me.runs;
    if (late >= 1ms) ++me.late_runs;
    me.lateness.add(late);
    if (late > too_slow && now - overload_logged > 10s) {
        overload_logged = now;
        log_line(LogLevel::info, "scheduler",
                 fmt::format("The machine is too slow: {} waited {:.2f} s.", entry.task->name(), std::chrono::duration<double>(late).count()));
    }
    // Others are due: one worker more. When this one is busy already, it shares also what is not due yet. Where runs are short,
    // waking another and taking turns at the queues costs more than it brings: it comes when this one does not get through.
    const bool backlog = iso.earliest() <= now || normal.earliest() <= now || (me.share_now > options.iso_cpu / 2 && runnable(iso));
    if (backlog && me.typical_run >= short_run) wake_parked();
    else if (backlog && (watch < now + short_wait / 2 || watch > now + short_wait)) set_watch(now + short_wait);
    else if (!parked.empty() && (watch < now + watch_time / 2 || watch > now + watch_time)) set_watch(now + watch_time);
    const Instant end = run_entry(lock, &me, entry, now);
    me.busy_since = end;
    me.clock_time += end - now;
    me.typical_run += (end - now - me.typical_run) / 8;
    Instant handled = end;
    run_handlers(lock, fair ? std::max<Duration>(end - now, 1ms) : handler_budget, handled);
    me.handler_time += handled - end;
    return true;
}

// A change is told at most every ten seconds; a state that comes and goes in between is not.
void Scheduler::Impl::note_limit(Worker& me, double share, Instant now) {
    const bool over = detail::over_limit(me.over_limit, share, options.iso_cpu);
    if (over && !me.over_limit) ++me.demotions;
    me.over_limit = over;
    if (over == me.over_reported || options.iso_cpu <= 0. || now - me.over_logged < report_time) return;
    me.over_reported = over;
    me.over_logged = now;
    log_line(LogLevel::important, "scheduler",
             over ? fmt::format("Clocks use more than {:.0f} % of worker {}: they queue with normal work.", 100 * options.iso_cpu, me.index)
                  : fmt::format("Clocks of worker {} are isochronous again.", me.index));
}

// A task whose own share is above the limit queues as normal work by itself. So does one that is most of what brings its
// worker above it: the others then stay as they are.
void Scheduler::Impl::note_demotion(IsoEntry& entry, Worker* me, Instant now) {
    const double limit = options.iso_cpu, share = entry.share.at(now, options.iso_period);
    if (entry.demoted) {
        if (!detail::over_limit(true, share, entry.limit)) {
            entry.demoted = false;
            if (entry.reported && now - entry.logged >= report_time) {
                entry.reported = false;
                entry.logged = now;
                log_line(LogLevel::important, "scheduler", fmt::format("{} is isochronous again.", entry.task->name()));
            }
        }
        return;
    }
    if (limit <= 0. || limit >= 1.) return;
    if (share > limit) entry.limit = limit;
    else if (me && share > limit / 2 && me->share.at(now, options.iso_period) > limit) entry.limit = limit / 2;
    else return;
    entry.demoted = true;
    ++entry.demotions;
    if (me) me->share.subtract(share);
    if (entry.reported || now - entry.logged < report_time) return;
    entry.reported = true;
    entry.logged = now;
    log_line(LogLevel::important, "scheduler",
             fmt::format("{} uses {:.0f} % of a worker, more than is its part: it queues with normal work.", entry.task->name(), 100 * share));
}

Instant Scheduler::Impl::run_entry(Lock& lock, Worker* me, IsoEntry& entry, Instant now) {
    entry.running = true;
    entry.last_worker = me;
    const bool was_normal = entry.normal;
    std::shared_ptr<IsoTask> task = entry.task;  // released outside the lock, should it be the last
    lock.unlock();
    current_task = task.get();
    const Instant next = task->run(now);
    current_task = nullptr;
    const Instant end = time.now();
    lock.lock();
    entry.running = false;
    if (me && !was_normal) me->share.add(end - now, end, options.iso_period);
    if (entry.removed || stopping) {
        entry.task.reset();
        entries.erase(task.get());
        stopped_running.notify_all();
        lock.unlock();
        task.reset();
        lock.lock();
        return end;
    }
    // What is still late goes behind those that are due: its slice is used.
    entry.deadline = std::max(std::min(next, entry.rerun), end);
    entry.rerun = Instant::max();
    entry.share.add(end - now, end, options.iso_period);
    note_demotion(entry, me, end);
    entry.normal = entry.demoted || !task->isochronous() || options.iso_cpu <= 0.;
    queue_of(entry).push(&entry);
    publish_due();
    deadline_moved(entry.deadline);
    return end;
}

bool Scheduler::Impl::run_handlers(Lock& lock, Duration budget, Instant& now) {
    const bool simulated = time.simulated();
    const Instant start = now;
    for (bool any = false;; any = true) {
        if (stopping) return any;
        bool ran = run_timer(lock, now);
        if (!ran) {
            lock.unlock();
            ran = poll_one();
            lock.lock();
        }
        if (!ran) return any;
        if (simulated) continue;
        now = time.now();
        if (now - start > budget) {
            wake_parked();  // there may be more than one worker's work
            return true;
        }
    }
}

bool Scheduler::Impl::run_timer(Lock& lock, Instant now) {
    const auto first = timers.begin();
    if (first == timers.end() || first->first.due > now) return false;
    std::function<void()> handler = std::move(first->second);
    timers.erase(first);
    lock.unlock();
    guarded(handler);
    handler = nullptr;
    lock.lock();
    return true;
}

bool Scheduler::Impl::poll_one() noexcept {
    bool ran = true;  // also when it threw
    guarded([&] { ran = io.poll_one() > 0; });
    return ran;
}

Instant Scheduler::Impl::earliest() const noexcept {
    const Instant timer = timers.empty() ? Instant::max() : timers.begin()->first.due;
    return std::min({iso.earliest(), normal.earliest(), timer});
}

void Scheduler::Impl::idle(Lock& lock, Worker& me) {
    const Instant deadline = earliest();
    const Instant now = time.now();
    if (deadline <= now) return;
    const bool kept = keeper && plus(keeper_until, keeper_grace) >= now;
    const bool others = std::any_of(workers.begin(), workers.end(), [&](const auto& other) {
        return other.get() != &me && !other->parked && other.get() != keeper && now - other->busy_since < watch_time;
    });
    if (kept) {
        if (deadline < keeper_wakes) boost::asio::post(io, [] {});  // what should have woken it may have come to us
        park(lock, me, plus(std::min(deadline, keeper_until), keeper_grace));
    } else if (others)
        park(lock, me, plus(std::min(deadline, plus(now, keeper_grace)), keeper_grace));
    else
        keep(lock, me, std::min(deadline, plus(now, longest_wait)));
}

void Scheduler::Impl::park(Lock& lock, Worker& me, Instant until) {
    if (!parked.empty()) set_watch(Instant::max());
    me.parked = true;
    me.waited_until = until;
    parked.push_back(&me);
    watch = Instant::min();
    set_watch(until);
    lock.unlock();
    std::uint64_t expirations = 0;
    while (read(me.timer_fd, &expirations, sizeof expirations) < 0 && errno == EINTR) {
    }
    lock.lock();
    if (me.parked) {  // the watch went off
        me.parked = false;
        if (!parked.empty() && parked.back() == &me) watch = Instant::max();
        std::erase(parked, &me);
    }
}

void Scheduler::Impl::keep(Lock& lock, Worker& me, Instant deadline) {
    keeper = &me;
    keeper_until = keeper_wakes = deadline;
    set_watch(plus(deadline, keeper_grace));
    const Duration wait = deadline - time.now();
    lock.unlock();
    guarded([&] {
        if (wait > Duration::zero()) io.run_one_for(wait);
    });
    lock.lock();
    me.waited_until = keeper_until;
    if (keeper == &me) keeper = nullptr;
}

void Scheduler::Impl::wake_parked() noexcept {
    if (parked.empty() || (called > 0 && !stopping)) return;
    Worker* worker = parked.back();
    parked.pop_back();
    worker->parked = false;
    worker->called = true;
    worker->waited_until = Instant::min();
    worker->busy_since = time.now();
    ++called;
    watch = Instant::max();
    set_timer(worker->timer_fd, Instant(1ns));
}

void Scheduler::Impl::set_watch(Instant when) noexcept {
    if (parked.empty() || when == watch) return;
    watch = when;
    set_timer(parked.back()->timer_fd, when);
}

void Scheduler::Impl::deadline_moved(Instant when) noexcept {
    if (!keeper || when >= keeper_until) return;
    keeper_until = when;
    boost::asio::post(io, [] {});  // wakes it; it then looks at the queues
}

}  // namespace castile
