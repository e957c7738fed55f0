// The animator: when a clock ticks, how far ahead it runs, and what happens when it is late.

#include <algorithm>
#include <utility>

#include "base/settings.h"
#include "clock/graph.h"

namespace castile {

namespace {

using State = Clock::Impl::State;
using namespace std::chrono_literals;

Setting<double> latency{"clock.latency", 0.1, "How far ahead of real time, in seconds, a clock may run."};
Setting<double> max_lead{"clock.max_lead", 0.5,
                         "How far ahead of real time, in seconds, a clock may run when the machine is busy, if all of its outputs and sources allow it: longer "
                         "bursts cost less. No more than `clock.latency`: never."};
Setting<double> max_latency{"clock.max_latency", 60., "A clock that is later than this, in seconds, gives up catching up and starts anew from now."};
Setting<double> log_delay{"clock.log_delay", 1., "At least this many seconds between two messages about a late clock."};
Setting<double> log_delay_threshold{"clock.log_delay_threshold", 0.2, "A clock that is later than this, in seconds, is reported."};
Setting<std::string> after_pause{"clock.after_pause", "resume",
                                 "What clocks do when the whole process was stopped for a second or more: \"resume\", go on from now, or \"catchup\", "
                                 "make up for the time."};
Setting<std::string> preferred{"clock.preferred", "posix", "Kept for scripts that set it: there is one way of keeping time."};
Setting<int> leak_warning{"clock.leak_warning", 50, "Kept for scripts that set it: the number of sources of a clock that was thought suspicious."};

constexpr Duration lead_step_time = 250ms;   // the lead changes by a frame in this time, so that growing costs little
constexpr double busy_from = 0.01, busy_to = 0.2;   // a worker's share from which the lead grows, and at which it is full
constexpr Duration short_tick = 100us;
constexpr int slices_at_most = 5;            // in one run, when nobody else is due

Duration duration(double seconds) noexcept {
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(std::clamp(seconds, 0., 1e8)));
}
double seconds(const std::atomic<std::int64_t>& nanoseconds) noexcept { return 1e-9 * static_cast<double>(nanoseconds.load(std::memory_order_relaxed)); }

}  // namespace

std::atomic<double> assumed_worker_share = -1;

ClockTask::ClockTask(ClockPtr clock, Scheduler& scheduler, Duration phase, bool thread_each)
    : clock_(std::move(clock)),
      c_(clock_->impl()),
      scheduler_(scheduler),
      name_("clock." + clock_->id()),
      log_(name_),
      mode_(c_.mode),
      thread_each_(thread_each),
      frame_(to_duration(stream_parameters().frame_size)),
      phase_(phase),
      latency_(std::max(duration(latency.get()), 2 * frame_)),
      most_lead_(std::max(duration(max_lead.get()), latency_)),
      log_delay_(duration(log_delay.get())),
      log_threshold_(duration(log_delay_threshold.get())),
      max_latency_(duration(max_latency.get())),
      catch_up_pauses_(after_pause.get() == "catchup") {
    set_lead(latency_);
}

// A clock is due when a quarter of its lead is left: then there is room for a frame, and most of a lead's worth is made in
// one run, while caches are warm.
void ClockTask::set_lead(Duration lead) noexcept {
    lead_ = lead;
    reserve_ = std::min(std::max(frame_, lead_ / 4), lead_ - frame_);
    slack_.store(std::max(Duration::zero(), lead_ - 2 * frame_ - reserve_).count(), std::memory_order_relaxed);
    lead_now_.store(lead_.count(), std::memory_order_relaxed);
}

void ClockTask::start() {
    const Instant now = scheduler_.time().now();
    anchor_tick_ = c_.ticks.load();
    last_warning_ = lead_adapted_ = now;
    if (thread_each_)
        start_thread();
    else
        scheduler_.add(shared_from_this(), now);
}

void ClockTask::wake() noexcept {
    if (!on_a_thread_) return scheduler_.wake(*this, scheduler_.time().now());
    std::lock_guard lock(wait_mutex_);
    wake_ = true;
    wait_.notify_all();
}

// --- Keeping time --------------------------------------------------------------------------------------------------

Duration ClockTask::position() const noexcept {
    const StreamParameters& stream = stream_parameters();
    const std::int64_t samples = (c_.ticks.load(std::memory_order_relaxed) - anchor_tick_) * stream.frame_size.count;
    return std::chrono::seconds(samples / stream.samplerate) + Duration(samples % stream.samplerate * 1'000'000'000 / stream.samplerate);
}

Instant ClockTask::run(Instant now) noexcept {
    if (c_.state.load() != State::running) {
        shut_down();
        return Instant::max();
    }
    if (c_.changed.load(std::memory_order_acquire)) c_.apply_orders(*clock_);
    if (c_.actives.empty()) {
        if (finish()) return Instant::max();
        return now;
    }
    if (sync_ && expected_ != Instant::max()) lateness_.add(now - expected_);
    if (SyncSource* sync = mode_ == ClockMode::automatic ? c_.current_sync() : nullptr; sync != sync_ || sync) follow(sync);
    if (sync_ && sync_->blocks() && !on_a_thread_) {  // it would hold a worker up
        expected_ = Instant::max();
        scheduler_.remove(*this);
        start_thread();  // the last of it: from here on everything is that thread's
        return Instant::max();
    }
    const Instant next = sync_ ? run_self_sync(now) : run_paced(now);
    expected_ = mode_ == ClockMode::unsynchronised ? Instant::max() : next;
    return next;
}

Instant ClockTask::run_paced(Instant now) noexcept {
    if (on_a_thread_ && !thread_each_) {  // what paced it is gone
        to_task_ = true;
        return now;
    }
    const bool free = mode_ == ClockMode::unsynchronised;
    if (!anchored_) {
        anchored_ = true;
        was_ahead_ = false;
        anchor_ = now - phase_;
        anchor_tick_ = c_.ticks.load();
    }
    if (paused_.load(std::memory_order_relaxed) != 0) apply_pause(now);
    if (!free && now - lead_adapted_ >= lead_step_time) adapt_lead(now);
    const Duration slice = scheduler_.options().slice;
    const Instant slice_end = now + slice, last_end = now + slices_at_most * slice;
    const bool simulated = scheduler_.time().simulated();
    Instant t = now;
    bool first = true, full = false;
    int ticks = 0;
    for (;;) {
        const Duration ahead = position() - (t - anchor_);
        if (!free && ahead + frame_ > lead_) {
            full = true;
            break;
        }
        if (!free) {
            const Duration late = (was_ahead_ ? Duration::zero() : -latency_) - ahead;
            if (late > Duration::zero()) late_ticks_.fetch_add(1, std::memory_order_relaxed);
            lateness_.add(late);
        }
        c_.tick_actives(*clock_);
        // Ticks that take next to nothing are not timed one by one.
        if (++ticks % 4 == 1 || free || t - now > short_tick) t = scheduler_.time().now();
        if (first && !free) check_lateness(t);
        first = false;
        if (c_.state.load() != State::running || c_.actives.empty()) break;
        if (t >= slice_end && (t >= last_end || free || scheduler_.others_due(t))) break;
        if (free && simulated) break;
    }
    if (full) was_ahead_ = true;
    if (ticks > 1) t = scheduler_.time().now();
    busy_.fetch_add((t - now).count(), std::memory_order_relaxed);
    if (!free) return anchor_ + position() - reserve_;
    return simulated ? t + frame_ : t;  // in simulated time it must not stand still
}

void ClockTask::check_lateness(Instant now) noexcept {
    const Duration late = now - anchor_ - position();
    late_.store(std::max<std::int64_t>(0, late.count()), std::memory_order_relaxed);
    if (late.count() > worst_.load(std::memory_order_relaxed)) worst_.store(late.count(), std::memory_order_relaxed);
    if (late >= max_latency_) {
        log_.severe("Too much latency! Resetting active sources...");
        resets_.fetch_add(1, std::memory_order_relaxed);
        anchor_ = now - position();
        was_ahead_ = false;
        for (const auto& active : c_.actives) active->reset();
    } else if (late >= log_threshold_ && now - last_warning_ >= log_delay_) {
        last_warning_ = now;
        catchups_.fetch_add(1, std::memory_order_relaxed);
        catchup_message(scheduler_, log_, late, log_delay_);
    }
}

// The time that the process did not run is not made up for, as far as it made this clock late.
void ClockTask::apply_pause(Instant now) noexcept {
    const Duration away(paused_.exchange(0));
    if (catch_up_pauses_) return;
    const Duration late = now - anchor_ - position();
    if (late > Duration::zero()) anchor_ += std::min(late, away);
}

// The busier the worker, the longer the bursts, as far as all outputs allow: what is in the caches is used more often.
void ClockTask::adapt_lead(Instant now) noexcept {
    lead_adapted_ = now;
    if (most_lead_ <= latency_) return;
    const bool allowed = std::all_of(c_.actives.begin(), c_.actives.end(), [](const auto& active) { return active->tolerates_lead(); });
    if (!allowed) {
        if (lead_ > latency_) set_lead(latency_);
        return;
    }
    const double assumed = assumed_worker_share.load(std::memory_order_relaxed);
    const double share = assumed < 0 ? Scheduler::worker_share() : assumed;
    const double part = std::clamp((share - busy_from) / (busy_to - busy_from), 0., 1.);
    const Duration wanted = latency_ + duration(part * seconds(most_lead_ - latency_));
    if (wanted >= lead_ + frame_ && now - anchor_ < position()) set_lead(lead_ + frame_);  // a late clock has other worries
    else if (wanted + 2 * frame_ <= lead_) set_lead(std::max(latency_, lead_ - frame_));
}

// --- Paced by something else -------------------------------------------------------------------------------------------

void ClockTask::follow(SyncSource* sync) noexcept {
    if (sync && !c_.conflict_told) {
        if (const auto conflict = c_.sync_conflict()) {
            c_.conflict_told = true;
            log_.severe("This clock has multiple synchronization sources: it follows the first. {}", conflict->message);
        }
    }
    if (sync && sync->blocks() && scheduler_.time().simulated()) sync = nullptr;  // there is nothing to wait for
    if (sync == sync_) return;
    if (sync)
        log_.important("{} ({})", sync_ ? "Switching self-sync source" : "Switching to self-sync mode", sync->name());
    else
        log_.important("Switching to non-self-sync mode");
    sync_ = sync;
    c_.sync.store(sync);
    anchored_ = false;
    expected_ = Instant::max();
}

Instant ClockTask::run_self_sync(Instant now) noexcept {
    if (sync_->blocks()) {
        c_.tick_actives(*clock_);
        return now;  // at once again: the tick waits by itself
    }
    if (on_a_thread_ && !thread_each_) {
        to_task_ = true;
        return now;
    }
    const Instant slice_end = now + scheduler_.options().slice;
    Instant t = now;
    Instant due = sync_->due(t);
    while (due <= t && t < slice_end && c_.state.load() == State::running && !c_.actives.empty()) {
        c_.tick_actives(*clock_);
        if (c_.current_sync() != sync_) break;
        t = scheduler_.time().now();
        due = sync_->due(t);
    }
    busy_.fetch_add((t - now).count(), std::memory_order_relaxed);
    return std::max(due, t);
}

// --- Stopping ------------------------------------------------------------------------------------------------------

void ClockTask::request_stop(bool for_good) noexcept {
    if (for_good) for_good_ = true;
    auto running = State::running;
    if (!c_.state.compare_exchange_strong(running, State::stopping)) return;
    if (!on_a_thread_ && !scheduler_.started()) {
        scheduler_.remove(*this);
        shut_down();
    } else {
        wake();
    }
}

void ClockTask::shut_down() noexcept {
    if (c_.state.load() != State::stopping) return;
    c_.deactivate_all(for_good_);
    log_.important("Clock stopped");
    ended();
}

bool ClockTask::finish() noexcept {
    {
        GraphLock lock(graph().mutex);
        std::lock_guard orders(c_.orders_mutex);
        if (!c_.attached.empty()) return false;
        auto running = State::running;
        if (!c_.state.compare_exchange_strong(running, State::stopping)) return false;
    }
    log_.important("Clock stopped: there is nothing more to drive.");
    ended();
    return true;
}

void ClockTask::ended() noexcept {
    const auto self = shared_from_this();
    if (!on_a_thread_) scheduler_.remove(*this);
    bool again = false;
    {
        GraphLock lock(graph().mutex);
        std::lock_guard orders(c_.orders_mutex);
        if (c_.task == self) c_.task.reset();
        c_.state.store(for_good_ ? State::ended : State::idle);
        again = !for_good_ && !c_.held && !c_.attached.empty();
    }
    // What came while it stopped was not started by those who brought it.
    if (again)
        scheduler_.post([&scheduler = scheduler_] { start_clocks(scheduler); });
    std::lock_guard lock(wait_mutex_);
    done_ = true;
    wait_.notify_all();
}

bool ClockTask::wait_stopped(Instant until) noexcept {
    {
        std::unique_lock lock(wait_mutex_);
        if (!wait_.wait_until(lock, std::chrono::steady_clock::time_point(until.time_since_epoch()), [this] { return done_; })) return false;
    }
    if (!on_a_thread_) scheduler_.remove(*this);  // waits for the end of its last run
    return true;
}

void ClockTask::add_statistics(ClockStatistics& to) const {
    {
        std::lock_guard lock(wait_mutex_);
        to.kernel = kernel_;
    }
    to.late_ticks = late_ticks_.load();
    to.lateness = lateness_.read();
    to.catchups = catchups_.load();
    to.catchup_seconds = seconds(frame_) * static_cast<double>(to.late_ticks);
    to.late = seconds(late_);
    to.worst_lateness = seconds(worst_);
    to.resets = resets_.load();
    to.busy = seconds(busy_);
    to.lead = seconds(lead_now_);
    to.share = share_now_.load();
    if (const auto task = scheduler_.statistics(*this)) {
        to.share = task->share;
        to.demoted = task->demoted;
        to.demotions = task->demotions;
    }
}

}  // namespace castile
