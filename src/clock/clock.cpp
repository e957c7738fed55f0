// One clock: its name and state, orders from other threads, child clocks, numbers.

#include "clock/clock.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "clock/graph.h"

namespace castile {

namespace {

const Logger log("clock");

using State = Clock::Impl::State;

std::string unique_name(const std::string& wanted) {
    std::string name = wanted;
    for (int n = 1; !graph().names.insert(name).second; ++n) name = fmt::format("{}.{}", wanted, n);
    return name;
}

}  // namespace

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
    GraphLock lock(graph().mutex);
    if (impl_->has_id && !impl_->parent.load()) graph().names.erase(impl_->id);
    std::erase_if(graph().clocks, [](const auto& c) { return c.expired(); });
}

ClockPtr Clock::create(std::string id, ClockMode mode) {
    const ClockPtr clock(new Clock);
    clock->impl_->mode = mode;
    GraphLock lock(graph().mutex);
    graph().clocks.push_back(clock);
    if (!id.empty()) clock->set_id(std::move(id));
    return clock;
}

ClockPtr Clock::root() { return root_of(*this).shared_from_this(); }

std::string Clock::id() const {
    Clock& root = root_of(*this);
    {
        GraphLock lock(graph().mutex);
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
    GraphLock lock(graph().mutex);
    Impl& c = root_of(*this).impl();
    if (c.has_id && c.id == id) return;
    if (c.has_id) graph().names.erase(c.id);
    c.id = unique_name(id);
    c.has_id = true;
}

void Clock::on_error(std::function<void(const std::string&)> handler) {
    GraphLock lock(graph().mutex);
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

// --- Orders ----------------------------------------------------------------------------------------------------------

namespace {

// An order for a clock's worker, and what wakes it when it is not at work on that clock.
template <class F>
void order(Clock& any, F&& give) {
    std::shared_ptr<ClockTask> task;
    {
        GraphLock lock(graph().mutex);
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
    GraphLock lock(graph().mutex);
    clock->impl_->owner = owner;
    clock->impl_->is_child = true;
    return clock;
}

ClockPtr Clock::owner() const {
    GraphLock lock(graph().mutex);
    const ClockPtr owner = root_of(*this).impl().owner.lock();
    return owner ? owner->root() : nullptr;
}

std::vector<ClockPtr> Clock::sub_clocks() const {
    GraphLock lock(graph().mutex);
    std::vector<ClockPtr> all;
    for (const auto& weak : root_of(*this).impl().children)
        if (ClockPtr child = weak.lock())
            if (child = child->root(); std::find(all.begin(), all.end(), child) == all.end()) all.push_back(std::move(child));
    return all;
}

void Clock::wake_child() {
    Clock& root = root_of(*this);
    const ClockPtr above = owner();
    GraphLock lock(graph().mutex);
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
        GraphLock lock(graph().mutex);
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

// --- Numbers ---------------------------------------------------------------------------------------------------------

ClockStatistics clock_statistics(Clock& clock) {
    ClockStatistics s;
    s.id = clock.id();
    s.sync = clock.sync();
    s.self_sync = clock.self_sync();
    s.priority = clock.priority();
    std::shared_ptr<ClockTask> task;
    {
        GraphLock lock(graph().mutex);
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
