// Start and stop.

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/settings.h"
#include "clock/clock_error.h"
#include "clock/graph.h"

namespace castile {

namespace {

Setting<bool> clock_task{"clock.task", true, "Run clocks as tasks on the scheduler's workers; false gives each a thread of its own."};

const Logger log("clock");

using State = Clock::Impl::State;

std::string sources_of(Clock& clock) {
    std::string names;
    for (const ClockMember& member : clock_members(clock)) {
        static constexpr const char* kinds[] = {"output", "active", "passive"};
        names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", member.id, kinds[static_cast<std::size_t>(member.kind)]);
    }
    return names;
}

/// One start at a time: tasks of the script may ask for them side by side. Recursive: what is activated may ask, too.
std::recursive_mutex& starting_mutex() {
    static auto* mutex = new std::recursive_mutex;
    return *mutex;
}

bool may_begin(Clock::Impl& c) {
    GraphLock lock(graph().mutex);
    std::lock_guard orders(c.orders_mutex);
    return c.state.load() == State::idle && !c.held && c.mode.load() != ClockMode::passive && !(c.attached.empty() && c.actives.empty());
}

// Of several outputs that cannot start, the first error is thrown; the others start all the same.
void begin(const ClockPtr& clock, Scheduler& scheduler) {
    Clock::Impl& c = clock->impl();
    std::string name;
    {
        GraphLock lock(graph().mutex);
        std::lock_guard orders(c.orders_mutex);
        c.held = false;
        if (!c.has_id) name = !c.actives.empty() ? c.actives.front()->active_name() : !c.attached.empty() ? c.attached.front()->active_name() : "generic";
    }
    if (!name.empty()) clock->set_id(name);
    const auto failure = c.activate_attached();
    if (const ClockPtr other = clock->root(); other != clock) {  // what woke joined another clock, which drives it all from here on
        for (const auto& active : std::exchange(c.actives, {})) other->attach(active);
        if (failure) throw Error(*failure);
        if (may_begin(other->impl())) begin(other, scheduler);
        return;
    }
    std::optional<Clock::Impl::Conflict> conflict;
    if (SyncSource::any()) {
        c.sync_uses.clear();
        for (const auto& active : c.actives) active->collect_sync(c.sync_uses);
        conflict = c.sync_conflict();
    }
    const bool passive = c.mode.load() == ClockMode::passive;
    if (conflict || (c.actives.empty() && !passive)) {
        c.deactivate_all(false);
        if (conflict) c.held = true;
        if (conflict) throw ClockError(17, fmt::format("Clock {} has multiple synchronization sources. {}", clock->id(), conflict->message), conflict->position);
        if (failure) throw Error(*failure);
        return;
    }
    if (passive) {
        log.important("Starting passive clock {} with sources: {}", clock->id(), sources_of(*clock));
        auto idle = State::idle;
        c.state.compare_exchange_strong(idle, State::running);
    } else {
        log.important("Starting top-level clock {} with sources: {} and sync: {}", clock->id(), sources_of(*clock), clock_mode_word(c.mode));
        std::shared_ptr<ClockTask> task;
        {
            GraphLock lock(graph().mutex);
            if (c.state.load() != State::idle) return;
            // The golden ratio spreads any number of clocks evenly over a frame.
            const double turns = 0.6180339887 * graph().started++;
            const Duration frame = to_duration(stream_parameters().frame_size);
            const Duration phase(static_cast<std::int64_t>((turns - std::floor(turns)) * static_cast<double>(frame.count())));
            task = c.task = std::make_shared<ClockTask>(clock, scheduler, phase, !clock_task.get() && !scheduler.time().simulated());
            c.state.store(State::running);
        }
        task->start();
    }
    if (failure) throw Error(*failure);
}

}  // namespace

void start_clocks(Scheduler& scheduler) {
    std::exception_ptr error;
    std::lock_guard one(starting_mutex());
    for (const ClockPtr& clock : all_clocks()) {
        if (!may_begin(clock->impl())) continue;
        try {
            begin(clock, scheduler);
        } catch (...) {
            if (!error) error = std::current_exception();
        }
    }
    if (error) std::rethrow_exception(error);
}

void Clock::start(Scheduler& scheduler, bool force) {
    const ClockPtr clock = root();
    Impl& c = clock->impl();
    std::lock_guard one(starting_mutex());
    if (c.state.load() == State::stopping) throw Error("Invalid clock state: stopping.");
    if (c.state.load() != State::idle || c.is_child) return;
    if (!force && !may_begin(c) && !(c.held && !c.attached.empty()) && c.mode.load() != ClockMode::passive) return;
    begin(clock, scheduler);
}

void Clock::stop() noexcept {
    Clock& root = root_of(*this);
    Impl& c = root.impl();
    if (c.is_child) return;
    if (c.mode.load() == ClockMode::passive) {
        std::lock_guard one(c.passive_mutex);
        auto running = State::running;
        if (!c.state.compare_exchange_strong(running, State::idle)) return;
        c.deactivate_all(false);
        Logger("clock." + id()).important("Clock stopped");
        return;
    }
    std::shared_ptr<ClockTask> task;
    {
        GraphLock lock(graph().mutex);
        task = c.task;
        if (task) c.held = true;
    }
    if (!task) return;
    Logger(task->name()).important("Clock stopping");
    task->request_stop(false);
}

void stop_clocks() noexcept {
    std::vector<std::shared_ptr<ClockTask>> tasks;
    for (const ClockPtr& clock : all_clocks()) {
        GraphLock lock(graph().mutex);
        if (clock->impl().task) tasks.push_back(clock->impl().task);
    }
    for (const auto& task : tasks) task->request_stop(true);
    const Instant until = system_time().now() + std::chrono::milliseconds(1900);
    for (const auto& task : tasks)
        if (!task->wait_stopped(until)) log.severe("Clock {} does not stop: left behind.", task->name());
    tasks.clear();
    // What was stopped before keeps its outputs for a start that does not come any more; so does what never ran.
    for (const ClockPtr& clock : all_clocks()) {
        Clock::Impl& c = clock->impl();
        if (c.state.load() == State::stopping) continue;  // hangs: it is its own
        std::vector<std::shared_ptr<Active>> dropped;
        std::vector<std::function<void()>> functions;
        GraphLock lock(graph().mutex);
        c.task.reset();
        if (c.mode.load() == ClockMode::passive && !c.is_child) c.deactivate_all(false);
        std::lock_guard orders(c.orders_mutex);
        c.state.store(State::ended);
        dropped.swap(c.attached);
        functions.swap(c.functions);
    }
}

}  // namespace castile
