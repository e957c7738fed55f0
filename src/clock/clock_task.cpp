// The animator: when a clock ticks, how far ahead it runs, and what happens when it is late.

#include <algorithm>

#include "base/settings.h"
#include "clock/clock_impl.h"

namespace castile {

namespace {

Setting<double> latency{"clock.latency", 0.1, "How far ahead of real time, in seconds, a clock may run."};
Setting<double> max_latency{"clock.max_latency", 60., "A clock that is later than this, in seconds, gives up catching up and starts anew from now."};
Setting<double> log_delay{"clock.log_delay", 1., "At least this many seconds between two messages about a late clock."};
Setting<double> log_delay_threshold{"clock.log_delay_threshold", 0.2, "A clock that is later than this, in seconds, is reported."};
Setting<std::string> preferred{"clock.preferred", "posix", "Kept for scripts that set it: there is one way of keeping time."};
Setting<int> leak_warning{"clock.leak_warning", 50, "Kept for scripts that set it: the number of sources of a clock that was thought suspicious."};

Duration duration(double seconds) noexcept {
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(std::clamp(seconds, 0., 1e8)));
}
double seconds(Duration d) noexcept { return std::chrono::duration<double>(d).count(); }

thread_local const Clock::Impl* current_clock = nullptr;

struct Inside {
    explicit Inside(const Clock::Impl& clock) noexcept : before(current_clock) { current_clock = &clock; }
    ~Inside() { current_clock = before; }
    const Clock::Impl* before;
};

}  // namespace

bool inside_clock(const Clock::Impl& clock) noexcept { return current_clock == &clock; }

// --- What a clock does at each tick --------------------------------------------------------------------------------

void Clock::Impl::tick_actives() noexcept {
    const Inside inside(*this);
    ticks.store(ticks.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    for (const auto& active : actives) active->tick();
    for (const auto& active : actives) active->after_tick();
    if (changed.load(std::memory_order_acquire)) apply_orders();
}

void Clock::Impl::apply_orders() noexcept {
    if (!changed.exchange(false, std::memory_order_acq_rel)) return;
    if (auto error = activate_attached()) log_line(LogLevel::severe, "clock", *error);
    std::vector<const Active*> leaving;
    {
        std::lock_guard lock(orders_mutex);
        leaving.swap(detached);
    }
    for (const Active* active : leaving) {
        const auto found = std::find_if(actives.begin(), actives.end(), [&](const auto& a) { return a.get() == active; });
        if (found == actives.end()) continue;
        const std::shared_ptr<Active> last = std::move(*found);
        actives.erase(found);
        const Inside inside(*this);
        last->deactivate();
    }
    run_functions();
}

void Clock::Impl::run_functions() noexcept {
    {
        std::lock_guard lock(orders_mutex);
        running_functions.swap(functions);
    }
    const Inside inside(*this);
    for (const auto& f : running_functions) {
        try {
            f();
        } catch (const std::exception& e) {
            log_line(LogLevel::severe, "clock", fmt::format("{}: an order failed: {}", id, e.what()));
        } catch (...) {
            log_line(LogLevel::severe, "clock", fmt::format("{}: an order failed.", id));
        }
    }
    running_functions.clear();
}

std::optional<std::string> Clock::Impl::activate_attached() noexcept {
    std::vector<std::shared_ptr<Active>> arriving;
    {
        std::lock_guard lock(orders_mutex);
        arriving.swap(attached);
    }
    const Inside inside(*this);
    std::optional<std::string> error;
    for (auto& active : arriving) {
        if (std::find(actives.begin(), actives.end(), active) != actives.end()) continue;
        std::string message;
        try {
            active->activate();
            actives.push_back(std::move(active));
            continue;
        } catch (const std::exception& e) {
            message = e.what();
        } catch (...) {
            message = "unknown error";
        }
        if (!error) error = fmt::format("{}: {}", active->active_name(), message);
    }
    return error;
}

void Clock::Impl::deactivate_all() noexcept {
    const Inside inside(*this);
    for (const auto& active : actives) active->deactivate();
    actives.clear();
    std::lock_guard lock(orders_mutex);
    attached.clear();
    detached.clear();
    functions.clear();
}

// --- Keeping time --------------------------------------------------------------------------------------------------

ClockTask::ClockTask(ClockPtr clock, Scheduler& scheduler, Duration phase, bool on_a_thread)
    : clock_(std::move(clock)), c_(clock_->impl()), scheduler_(scheduler), name_("clock." + clock_->id()), log_(name_), mode_(c_.mode), on_a_thread_(on_a_thread), phase_(phase) {
    frame_ = to_duration(stream_parameters().frame_size);
    latency_ = std::max(duration(latency.get()), 2 * frame_);
    // A clock is due when this much of its lead is left: then there is room for a frame, and most of a lead's worth is
    // made in one run, while caches are warm.
    reserve_ = std::min(std::max(frame_, latency_ / 4), latency_ - frame_);
    slack_ = std::max(Duration::zero(), latency_ - 2 * frame_ - reserve_);
    log_delay_ = duration(log_delay.get());
    log_threshold_ = duration(log_delay_threshold.get());
    max_latency_ = duration(max_latency.get());
}

ClockTask::~ClockTask() {
    if (!thread_.joinable()) return;
    if (thread_.get_id() == std::this_thread::get_id() || !done_) thread_.detach();
    else thread_.join();
}

void ClockTask::start() {
    anchor_tick_ = c_.ticks.load();
    last_warning_ = scheduler_.time().now();
    if (on_a_thread_)
        thread_ = std::thread([self = shared_from_this()] { self->loop(); });
    else
        scheduler_.add(shared_from_this(), last_warning_);
}

void ClockTask::wake() noexcept {
    if (!on_a_thread_) return scheduler_.wake(*this, scheduler_.time().now());
    std::lock_guard lock(wait_mutex_);
    wake_ = true;
    wait_.notify_all();
}

void ClockTask::loop() noexcept {
    for (;;) {
        const Instant next = run(scheduler_.time().now());
        std::unique_lock lock(wait_mutex_);
        if (done_) return;
        const auto woken = [this] { return wake_; };
        if (next == Instant::max())
            wait_.wait(lock, woken);
        else
            wait_.wait_until(lock, std::chrono::steady_clock::time_point(next.time_since_epoch()), woken);
        wake_ = false;
    }
}

Duration ClockTask::position() const noexcept {
    const StreamParameters& stream = stream_parameters();
    const std::int64_t samples = (c_.ticks.load(std::memory_order_relaxed) - anchor_tick_) * stream.frame_size.count;
    return std::chrono::seconds(samples / stream.samplerate) + Duration(samples % stream.samplerate * 1'000'000'000 / stream.samplerate);
}

Instant ClockTask::run(Instant now) noexcept {
    if (c_.state.load() != Clock::Impl::State::running) {
        shut_down();
        return Instant::max();
    }
    if (c_.changed.load(std::memory_order_acquire)) c_.apply_orders();
    if (c_.actives.empty()) {
        anchored_ = false;
        return Instant::max();
    }
    if (!anchored_) {
        anchored_ = true;
        anchor_ = now - phase_;
        anchor_tick_ = c_.ticks.load();
    }
    const Instant slice_end = now + scheduler_.options().slice;
    Instant t = now;
    for (bool first = true; mode_ == ClockMode::unsynchronised || position() + frame_ - (t - anchor_) <= latency_; first = false) {
        c_.tick_actives();
        t = scheduler_.time().now();
        if (first && mode_ != ClockMode::unsynchronised) check_lateness(t);
        if (t >= slice_end || c_.state.load() != Clock::Impl::State::running || c_.actives.empty()) break;
        if (mode_ == ClockMode::unsynchronised && scheduler_.time().simulated()) break;
    }
    busy_nanoseconds_.fetch_add((t - now).count(), std::memory_order_relaxed);
    if (mode_ != ClockMode::unsynchronised) return anchor_ + position() - reserve_;
    return scheduler_.time().simulated() ? t + frame_ : t;  // in simulated time it must not stand still
}

void ClockTask::check_lateness(Instant now) noexcept {
    const Duration late = now - anchor_ - position();
    if (late.count() > worst_nanoseconds_.load(std::memory_order_relaxed)) worst_nanoseconds_.store(late.count(), std::memory_order_relaxed);
    if (late >= max_latency_) {
        log_.severe("Too much latency! Resetting active sources...");
        anchor_ = now - position();
        const Inside inside(c_);
        for (const auto& active : c_.actives) active->reset();
    } else if (late >= log_threshold_ && now - last_warning_ >= log_delay_) {
        last_warning_ = now;
        catchups_.fetch_add(1, std::memory_order_relaxed);
        // The words up to the "!" are read by other programs.
        log_.severe(
            "Latency is too high: we must catchup {:.2f} seconds! The machine may be too slow for this stream (processor, disk, network), or "
            "a source keeps a time of its own.",
            seconds(late));
    }
}

// --- Stopping ------------------------------------------------------------------------------------------------------

void ClockTask::request_stop() noexcept {
    auto running = Clock::Impl::State::running;
    if (!c_.state.compare_exchange_strong(running, Clock::Impl::State::stopping)) return;
    if (!on_a_thread_ && !scheduler_.started()) {
        scheduler_.remove(*this);
        shut_down();
    } else {
        wake();
    }
}

void ClockTask::shut_down() noexcept {
    auto stopping = Clock::Impl::State::stopping;
    if (!c_.state.compare_exchange_strong(stopping, Clock::Impl::State::stopped)) return;
    c_.deactivate_all();
    log_.important("Clock stopped");
    std::lock_guard lock(wait_mutex_);
    done_ = true;
    wait_.notify_all();
}

bool ClockTask::wait_stopped(Instant until) noexcept {
    {
        std::unique_lock lock(wait_mutex_);
        if (!wait_.wait_until(lock, std::chrono::steady_clock::time_point(until.time_since_epoch()), [this] { return done_; })) return false;
    }
    if (!on_a_thread_) scheduler_.remove(*this);
    return true;
}

ClockStatistics ClockTask::statistics() const noexcept {
    return {.ticks = c_.ticks.load(),
            .catchups = catchups_.load(),
            .worst_lateness = 1e-9 * static_cast<double>(worst_nanoseconds_.load()),
            .busy = 1e-9 * static_cast<double>(busy_nanoseconds_.load())};
}

}  // namespace castile
