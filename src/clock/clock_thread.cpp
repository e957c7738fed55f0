// A clock on a thread of its own: settings.clock.task := false, and while a device that blocks paces it.

#include <ctime>
#include <thread>
#include <utility>

#include "clock/clock_impl.h"

namespace castile {

namespace {

constexpr Duration pause_time = std::chrono::seconds(1);   // later than that: the whole process did not run

/// What this thread used of a processor: a tick that waits for a device is not busy.
Duration used_by_this_thread() noexcept {
    timespec used{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

}  // namespace

void ClockTask::start_thread() noexcept {
    on_a_thread_ = true;
    std::thread([self = shared_from_this()] { self->loop(); }).detach();  // ended() tells when it is over
}

void ClockTask::loop() noexcept {
    const auto kernel = scheduler_.serve_this_thread();
    if (!thread_each_) log_.important("Kernel service of its thread: {}.", kernel->description());   // else there may be hundreds
    {
        std::lock_guard lock(wait_mutex_);
        kernel_ = kernel->description();
    }
    Duration used_before = used_by_this_thread();
    const Duration period = scheduler_.options().iso_period;
    Instant next = Instant::max();
    for (;;) {
        const Instant now = scheduler_.time().now();
        if (next != Instant::max() && now - next >= pause_time) {
            scheduler_.note_pause(now - next);
            process_paused(now - next);
        }
        next = run(now);
        std::unique_lock lock(wait_mutex_);
        if (done_) return;  // the scheduler may be gone already
        const Instant end = scheduler_.time().now();
        if (to_task_) {
            to_task_ = false;
            on_a_thread_ = false;
            kernel_.clear();
            lock.unlock();
            scheduler_.add(shared_from_this(), end);
            return;
        }
        const Duration used_now = used_by_this_thread(), used = used_now - std::exchange(used_before, used_now);
        kernel->account(used, end);
        thread_share_.add(used, end, period);
        if (sync_ && sync_->blocks()) busy_.fetch_add(used.count(), std::memory_order_relaxed);
        share_now_.store(thread_share_.at(end, period), std::memory_order_relaxed);
        if (next <= end) {  // it is paced inside, or late: no wait, and no pause either
            next = Instant::max();
            wake_ = false;
            continue;
        }
        const auto woken = [this] { return wake_; };
        if (next == Instant::max())
            wait_.wait(lock, woken);
        else
            wait_.wait_until(lock, std::chrono::steady_clock::time_point(next.time_since_epoch()), woken);
        if (wake_) next = Instant::max();
        wake_ = false;
    }
}

}  // namespace castile
