// The union-find, names, orders from other threads, start and stop.

#include "clock/clock.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/settings.h"
#include "clock/clock_error.h"
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
using State = Clock::Impl::State;

std::string unique_name(const std::string& wanted) {
    std::string name = wanted;
    for (int n = 1; !graph().names.insert(name).second; ++n) name = fmt::format("{}.{}", wanted, n);
    return name;
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

std::string described(Clock& clock) {
    const ClockMode mode = clock.mode();
    return mode == ClockMode::automatic ? clock.id() : fmt::format("{} (sync: {})", clock.id(), clock_mode_word(mode));
}

/// Is `above` an owner, directly or not, of `below`?
bool drives(const Clock& above, Clock& below) {
    for (ClockPtr owner = below.owner(); owner; owner = owner->owner())
        if (owner.get() == &above) return true;
    return false;
}

}  // namespace

std::recursive_mutex& graph_mutex() noexcept { return graph().graph_mutex; }

std::optional<ClockMode> clock_mode(std::string_view word) {
    for (const ClockMode mode : {ClockMode::automatic, ClockMode::cpu, ClockMode::unsynchronised, ClockMode::passive})
        if (word == clock_mode_word(mode)) return mode;
    if (word == "CPU") return ClockMode::cpu;  // as Liquidsoap 2.4 has them
    if (word == "unsynced") return ClockMode::unsynchronised;
    return std::nullopt;
}

const char* clock_mode_word(ClockMode mode) noexcept {
    switch (mode) {
        case ClockMode::automatic: return "auto";
        case ClockMode::cpu: return "cpu";
        case ClockMode::unsynchronised: return "none";
        case ClockMode::passive: return "passive";
    }
    return "";
}

// --- One clock -----------------------------------------------------------------------------------------------------

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

std::string Clock::id() const {
    Clock& root = root_of(*this);
    {
        GraphLock lock(graph().graph_mutex);
        if (root.impl().has_id) return root.impl().id;
    }
    // Not started: it is called by what it would drive.
    const std::vector<ClockMember> members = clock_members(root);
    const auto first = std::min_element(members.begin(), members.end(), [](const auto& a, const auto& b) { return a.kind < b.kind; });
    return first == members.end() ? "generic" : first->id;
}

ClockMode Clock::mode() const noexcept { return root_of(*this).impl().mode.load(); }
std::int64_t Clock::tick_count() const noexcept { return root_of(*this).impl().ticks.load(std::memory_order_relaxed); }
bool Clock::running() const noexcept { return root_of(*this).impl().state.load() == State::running; }
bool Clock::self_sync() const noexcept { return running() && root_of(*this).impl().sync.load() != nullptr; }
int Clock::priority() const noexcept { return root_of(*this).impl().priority.load(); }
void Clock::set_priority(int priority) noexcept { root_of(*this).impl().priority.store(priority); }

double Clock::time() const noexcept {
    return running() ? to_seconds(Ticks{tick_count() * stream_parameters().frame_size.count}) : -1.;
}

const char* Clock::sync() const noexcept {
    const Impl& c = root_of(*this).impl();
    switch (c.state.load()) {
        case State::idle:
        case State::ended: return "stopped";
        case State::stopping: return "stopping";
        case State::running: return clock_mode_word(c.mode);
    }
    return "";
}

void Clock::set_id(std::string id) {
    GraphLock lock(graph().graph_mutex);
    Impl& c = root_of(*this).impl();
    if (c.has_id && c.id == id) return;
    if (c.has_id) graph().names.erase(c.id);
    c.id = unique_name(id);
    c.has_id = true;
}

void Clock::on_error(std::function<void(const std::string&)> handler) {
    GraphLock lock(graph().graph_mutex);
    Impl& c = root_of(*this).impl();
    std::lock_guard errors(c.errors_mutex);
    c.error_handlers.push_back(std::move(handler));
}

bool Clock::report_error(const std::string& message) noexcept {
    Impl& c = root_of(*this).impl();
    std::vector<std::function<void(const std::string&)>> handlers;
    {
        std::lock_guard errors(c.errors_mutex);
        handlers = c.error_handlers;
    }
    for (const auto& handler : handlers) {
        try {
            handler(message);
        } catch (const std::exception& e) {
            log.severe("{}: the error handler failed: {}", id(), e.what());
        } catch (...) {
            log.severe("{}: the error handler failed.", id());
        }
    }
    return !handlers.empty();
}

// --- Unification -----------------------------------------------------------------------------------------------------

void Clock::unify(const ClockPtr& a, const ClockPtr& b) {
    GraphLock lock(graph().graph_mutex);
    ClockPtr to = a->root(), from = b->root();
    if (to == from) return;
    if (from->impl_->state.load() != State::idle) std::swap(to, from);
    Impl &t = *to->impl_, &f = *from->impl_;
    const bool idle = t.state.load() == State::idle;
    if (f.state.load() != State::idle)
        throw ClockError(10, fmt::format("A source cannot belong to two clocks: {} and {} both run already.", to->id(), from->id()));
    const ClockMode tm = t.mode, fm = f.mode;
    if (tm != fm && fm != ClockMode::automatic && !(idle && tm == ClockMode::automatic))
        throw ClockError(10, fmt::format("A source cannot belong to two clocks: {} and {}.", described(*to), described(*from)));
    if (drives(*to, *from) || drives(*from, *to))
        throw ClockError(11, fmt::format("Clocks {} and {} cannot be one: one drives the other.", to->id(), from->id()));
    const ClockPtr to_owner = to->owner(), from_owner = from->owner();
    if (to_owner && from_owner && to_owner != from_owner) {
        try {
            unify(to_owner, from_owner);
        } catch (const ClockError&) {
            throw ClockError(16, fmt::format("Clocks {} and {} cannot be one: {} is driven by {}, {} by {}.", to->id(), from->id(), to->id(),
                                             to_owner->id(), from->id(), from_owner->id()));
        }
    }
    if (idle && tm == ClockMode::automatic) t.mode = fm;
    if (!to_owner && from_owner) {
        t.owner = from_owner;
        t.is_child = true;
    }
    if (f.priority.load() > t.priority.load()) t.priority = f.priority.load();
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
        if (!f.actives.empty()) t.changed.store(true);
        move_behind(idle ? t.actives : t.attached, f.actives);
    }
    {
        std::scoped_lock errors(t.errors_mutex, f.errors_mutex);
        move_behind(t.error_handlers, f.error_handlers);
    }
    move_behind(t.children, f.children);
    f.merged_into = to;
    f.parent.store(to.get(), std::memory_order_release);
    if (t.task) t.task->wake();
}

// --- Orders ----------------------------------------------------------------------------------------------------------

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
    std::shared_ptr<Active> last;  // released outside the locks
    order(*this, [&](Impl& c) {
        const auto is_it = [&](const auto& a) { return a.get() == &active; };
        if (const auto found = std::find_if(c.attached.begin(), c.attached.end(), is_it); found != c.attached.end()) {
            last = std::move(*found);
            c.attached.erase(found);
            return;
        }
        if (c.state.load() != State::ended) c.detached.push_back(&active);
    });
}

void Clock::run_between_ticks(std::function<void()> f) {
    order(*this, [&](Impl& c) {
        if (c.state.load() != State::ended) c.functions.push_back(std::move(f));
    });
}

void Clock::tick(const std::function<void()>& pull) {
    Clock& root = root_of(*this);
    Impl& c = root.impl();
    std::lock_guard one(c.passive_mutex);
    if (c.changed.load(std::memory_order_acquire)) c.apply_orders(root);
    c.tick_actives(root, pull);
}

// --- Child clocks ----------------------------------------------------------------------------------------------------

ClockPtr Clock::create_child(const ClockPtr& owner, std::string id) {
    const ClockPtr clock = create(std::move(id), ClockMode::passive);
    GraphLock lock(graph().graph_mutex);
    clock->impl_->owner = owner;
    clock->impl_->is_child = true;
    return clock;
}

ClockPtr Clock::owner() const {
    GraphLock lock(graph().graph_mutex);
    const ClockPtr owner = root_of(*this).impl().owner.lock();
    return owner ? owner->root() : nullptr;
}

std::vector<ClockPtr> Clock::sub_clocks() const {
    GraphLock lock(graph().graph_mutex);
    std::vector<ClockPtr> all;
    for (const auto& weak : root_of(*this).impl().children)
        if (ClockPtr child = weak.lock())
            if (child = child->root(); std::find(all.begin(), all.end(), child) == all.end()) all.push_back(std::move(child));
    return all;
}

void Clock::wake_child() {
    Clock& root = root_of(*this);
    const ClockPtr above = owner();
    GraphLock lock(graph().graph_mutex);
    Impl& c = root.impl();
    if (above) {
        auto& children = above->impl().children;
        std::erase_if(children, [&](const auto& weak) {
            const ClockPtr child = weak.lock();
            return !child || child->root().get() == &root;
        });
        children.push_back(root.shared_from_this());
    }
    auto idle = State::idle;
    if (!c.state.compare_exchange_strong(idle, State::running)) return;
    c.ticks_seen = c.ticks.load();
    if (above) log.important("Starting passive clock {} controlled by clock {}", id(), above->id());
}

void Clock::sleep_child() noexcept {
    Clock& root = root_of(*this);
    const ClockPtr above = owner();
    Impl& c = root.impl();
    {
        GraphLock lock(graph().graph_mutex);
        if (above)
            std::erase_if(above->impl().children, [&](const auto& weak) {
                const ClockPtr child = weak.lock();
                return !child || child->root().get() == &root;
            });
        auto running = State::running;
        if (!c.state.compare_exchange_strong(running, State::idle)) return;
    }
    c.deactivate_all(false);
}

// --- Start and stop --------------------------------------------------------------------------------------------------

std::vector<ClockPtr> all_clocks() {
    GraphLock lock(graph().graph_mutex);
    std::vector<ClockPtr> roots;
    for (const auto& weak : graph().clocks)
        if (ClockPtr clock = weak.lock(); clock && !clock->impl().parent.load()) roots.push_back(std::move(clock));
    return roots;
}

namespace {

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
    GraphLock lock(graph().graph_mutex);
    std::lock_guard orders(c.orders_mutex);
    return c.state.load() == State::idle && !c.held && c.mode.load() != ClockMode::passive && !(c.attached.empty() && c.actives.empty());
}

// Of several outputs that cannot start, the first error is thrown; the others start all the same.
void begin(const ClockPtr& clock, Scheduler& scheduler) {
    Clock::Impl& c = clock->impl();
    std::string name;
    {
        GraphLock lock(graph().graph_mutex);
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
            GraphLock lock(graph().graph_mutex);
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
        GraphLock lock(graph().graph_mutex);
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
        GraphLock lock(graph().graph_mutex);
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
        GraphLock lock(graph().graph_mutex);
        c.task.reset();
        if (c.mode.load() == ClockMode::passive && !c.is_child) c.deactivate_all(false);
        std::lock_guard orders(c.orders_mutex);
        c.state.store(State::ended);
        dropped.swap(c.attached);
        functions.swap(c.functions);
    }
}

// --- Numbers ---------------------------------------------------------------------------------------------------------

ClockStatistics clock_statistics(Clock& clock) {
    ClockStatistics s;
    s.id = clock.id();
    s.sync = clock.sync();
    s.self_sync = clock.self_sync();
    s.priority = clock.priority();
    std::shared_ptr<ClockTask> task;
    {
        GraphLock lock(graph().graph_mutex);
        Clock::Impl& c = root_of(clock).impl();
        s.ticks = c.ticks.load();
        task = c.task;
    }
    if (task) task->add_statistics(s);
    return s;
}

std::vector<ClockStatistics> all_clock_statistics() {
    std::vector<ClockStatistics> all;
    for (const ClockPtr& clock : all_clocks())
        if (clock->running()) all.push_back(clock_statistics(*clock));
    return all;
}

}  // namespace castile
