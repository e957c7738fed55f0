#include "clock/clock.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/settings.h"
#include "clock/clock_impl.h"

namespace castile {

namespace {

Setting<bool> clock_task{"clock.task", true, "Run clocks as tasks on the scheduler's workers; false gives each a thread of its own."};

const Logger log("clock");

/// Every clock that was made, and the names in use.
struct Graph {
    std::recursive_mutex graph_mutex;
    std::vector<std::weak_ptr<Clock>> clocks;
    std::set<std::string> names;
    int started = 0;
};

Graph& graph() {
    static Graph* graph = new Graph;  // outlives every static source
    return *graph;
}

using GraphLock = std::lock_guard<std::recursive_mutex>;

std::string unique_name(const std::string& wanted) {
    std::string name = wanted;
    for (int n = 2; !graph().names.insert(name).second; ++n) name = fmt::format("{}.{}", wanted, n);
    return name;
}

const char* mode_name(ClockMode mode) {
    switch (mode) {
        case ClockMode::automatic: return "auto";
        case ClockMode::cpu: return "cpu";
        case ClockMode::unsynchronised: return "none";
        case ClockMode::passive: return "passive";
    }
    return "";
}

Clock& root_of(const Clock& clock) noexcept {
    Clock* c = const_cast<Clock*>(&clock);
    while (Clock* parent = c->impl().parent.load(std::memory_order_acquire)) c = parent;
    return *c;
}

template <class T>
void move_behind(std::vector<T>& to, std::vector<T>& from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
    from.clear();
}

}  // namespace

Clock::Clock() : impl_(std::make_unique<Impl>()) {}

Clock::~Clock() {
    GraphLock lock(graph().graph_mutex);
    if (impl_->has_id && !impl_->parent.load()) graph().names.erase(impl_->id);
    std::erase_if(graph().clocks, [](const auto& c) { return c.expired(); });
}

ClockPtr Clock::create(std::string id, ClockMode mode) {
    const ClockPtr clock(new Clock);
    clock->impl_->mode = mode;
    GraphLock lock(graph().graph_mutex);
    graph().clocks.push_back(clock);
    if (!id.empty()) clock->set_id(std::move(id));
    return clock;
}

ClockPtr Clock::root() { return root_of(*this).shared_from_this(); }
const std::string& Clock::id() const noexcept {
    static const std::string generic = "generic";
    Impl& c = root_of(*this).impl();
    return c.has_id ? c.id : generic;
}
ClockMode Clock::mode() const noexcept { return root_of(*this).impl().mode; }
std::int64_t Clock::tick_count() const noexcept { return root_of(*this).impl().ticks.load(std::memory_order_relaxed); }
bool Clock::running() const noexcept { return root_of(*this).impl().state.load() == Impl::State::running; }

void Clock::set_id(std::string id) {
    GraphLock lock(graph().graph_mutex);
    Impl& c = root_of(*this).impl();
    if (c.has_id && c.id == id) return;
    if (c.has_id) graph().names.erase(c.id);
    c.id = unique_name(id);
    c.has_id = true;
}

void Clock::unify(const ClockPtr& a, const ClockPtr& b) {
    GraphLock lock(graph().graph_mutex);
    ClockPtr to = a->root(), from = b->root();
    if (to == from) return;
    if (from->impl_->state.load() != Impl::State::idle) std::swap(to, from);
    Impl &t = *to->impl_, &f = *from->impl_;
    if (f.state.load() != Impl::State::idle)
        throw Error(fmt::format("Clocks {} and {} both run already: their sources cannot be joined. Put a buffer between them.", to->id(), from->id()));
    if (t.mode != f.mode && t.mode != ClockMode::automatic && f.mode != ClockMode::automatic)
        throw Error(fmt::format("Clocks {} (sync: {}) and {} (sync: {}) cannot be one clock. Put a buffer between their sources.", to->id(),
                                mode_name(t.mode), from->id(), mode_name(f.mode)));
    if (t.mode == ClockMode::automatic && t.state.load() == Impl::State::idle) t.mode = f.mode;
    if (f.has_id) {
        if (t.has_id) {
            log.info("Clocks {} and {} are one and both have a name: it is {}.", t.id, f.id, t.id);
            graph().names.erase(f.id);
        } else {
            t.id = f.id;
            t.has_id = true;
        }
    }
    {
        std::scoped_lock orders(t.orders_mutex, f.orders_mutex);
        move_behind(t.attached, f.attached);
        move_behind(t.detached, f.detached);
        move_behind(t.functions, f.functions);
        if (f.changed.exchange(false)) t.changed.store(true);
        move_behind(t.state.load() == Impl::State::idle ? t.actives : t.attached, f.actives);
    }
    f.owner = to;
    f.parent.store(to.get(), std::memory_order_release);
    if (t.task) t.task->wake();
}

namespace {

// An order for a clock's worker, and what wakes it when it is not at work on that clock.
template <class F>
void order(Clock& any, F&& give) {
    std::shared_ptr<ClockTask> task;
    {
        GraphLock lock(graph().graph_mutex);
        Clock::Impl& c = root_of(any).impl();
        std::lock_guard orders(c.orders_mutex);
        give(c);
        c.changed.store(true, std::memory_order_release);
        if (!inside_clock(c)) task = c.task;
    }
    if (task) task->wake();
}

}  // namespace

void Clock::attach(std::shared_ptr<Active> active) {
    order(*this, [&](Impl& c) { c.attached.push_back(std::move(active)); });
}

void Clock::detach(const Active& active) noexcept {
    order(*this, [&](Impl& c) { c.detached.push_back(&active); });
}

void Clock::run_between_ticks(std::function<void()> f) {
    order(*this, [&](Impl& c) {
        if (c.state.load() != Impl::State::stopped) c.functions.push_back(std::move(f));
    });
}

void Clock::tick() {
    Impl& c = root_of(*this).impl();
    if (c.changed.load(std::memory_order_acquire)) c.apply_orders();
    c.tick_actives();
}

std::vector<ClockPtr> all_clocks() {
    GraphLock lock(graph().graph_mutex);
    std::vector<ClockPtr> roots;
    for (const auto& weak : graph().clocks)
        if (ClockPtr clock = weak.lock(); clock && !clock->impl().parent.load()) roots.push_back(std::move(clock));
    return roots;
}

void start_clocks(Scheduler& scheduler) {
    std::optional<std::string> error;
    for (const ClockPtr& clock : all_clocks()) {
        Clock::Impl& c = clock->impl();
        std::string name;
        {
            std::lock_guard orders(c.orders_mutex);
            if (c.state.load() != Clock::Impl::State::idle || c.mode == ClockMode::passive || (c.attached.empty() && c.actives.empty())) continue;
            if (!c.has_id) name = c.actives.empty() ? c.attached.front()->active_name() : c.actives.front()->active_name();
        }
        if (!name.empty()) clock->set_id(name);
        if (auto failure = c.activate_attached(); failure && !error) error = std::move(failure);
        if (c.actives.empty()) continue;
        std::string names;
        for (const auto& active : c.actives) names += (names.empty() ? "" : ", ") + active->active_name();
        log.important("Starting top-level clock {} with outputs: {} and sync: {}", clock->id(), names, mode_name(c.mode));
        std::shared_ptr<ClockTask> task;
        {
            GraphLock lock(graph().graph_mutex);
            // The golden ratio spreads any number of clocks evenly over a frame.
            const double phase = 0.6180339887 * graph().started++;
            const Duration frame = to_duration(stream_parameters().frame_size);
            const auto part = static_cast<std::int64_t>((phase - static_cast<std::int64_t>(phase)) * static_cast<double>(frame.count()));
            task = c.task = std::make_shared<ClockTask>(clock, scheduler, Duration(part), !clock_task.get() && !scheduler.time().simulated());
            c.state.store(Clock::Impl::State::running);
        }
        task->start();
    }
    if (error) throw Error(*error);
}

void stop_clocks() noexcept {
    std::vector<std::shared_ptr<ClockTask>> tasks;
    for (const ClockPtr& clock : all_clocks()) {
        GraphLock lock(graph().graph_mutex);
        if (clock->impl().task) tasks.push_back(clock->impl().task);
    }
    for (const auto& task : tasks) task->request_stop();
    const Instant until = system_time().now() + std::chrono::milliseconds(1900);
    for (const auto& task : tasks)
        if (!task->wait_stopped(until)) log.severe("Clock {} does not stop: left behind.", task->name());
    for (const ClockPtr& clock : all_clocks()) {
        GraphLock lock(graph().graph_mutex);
        clock->impl().task.reset();
    }
}

ClockStatistics clock_statistics(Clock& clock) {
    GraphLock lock(graph().graph_mutex);
    Clock::Impl& c = root_of(clock).impl();
    return c.task ? c.task->statistics() : ClockStatistics{.ticks = c.ticks.load()};
}

}  // namespace castile
