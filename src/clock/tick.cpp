// What a clock does at each tick: its outputs, its child clocks, the orders of others.

#include <algorithm>

#include "clock/graph.h"

namespace castile {

namespace {

thread_local const Clock::Impl* current_clock = nullptr;

struct Inside {
    explicit Inside(const Clock::Impl& clock) noexcept : before(current_clock) { current_clock = &clock; }
    ~Inside() { current_clock = before; }
    const Clock::Impl* before;
};

}  // namespace

bool inside_clock(const Clock::Impl& clock) noexcept { return current_clock == &clock; }

void Clock::Impl::tick_actives(Clock& clock, const std::function<void()>& pull) noexcept {
    const Inside inside(*this);
    ticks.store(ticks.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    for (const auto& active : actives) active->tick();
    if (pull) pull();
    for (const auto& active : actives) active->after_tick();
    if (!children.empty()) tick_children();
    if (changed.load(std::memory_order_acquire)) apply_orders(clock);
}

// A child that no operator ticked in this tick is ticked for the outputs that it may have.
void Clock::Impl::tick_children() noexcept {
    {
        GraphLock lock(graph().mutex);
        for (const auto& weak : children)
            if (ClockPtr child = weak.lock()) awake_children.push_back(child->root());
    }
    for (const ClockPtr& clock : awake_children) {
        Impl& child = clock->impl();
        const bool wanted = child.changed.load() || !child.actives.empty();
        if (wanted && child.ticks.load(std::memory_order_relaxed) == child.ticks_seen && child.state.load() == State::running) clock->tick();
        child.ticks_seen = child.ticks.load(std::memory_order_relaxed);
    }
    awake_children.clear();
}

void Clock::Impl::apply_orders(Clock& clock) noexcept {
    if (!changed.exchange(false, std::memory_order_acq_rel)) return;
    if (auto error = activate_attached(); error && !clock.report_error(*error)) log_line(LogLevel::severe, "clock", *error);
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
            log_line(LogLevel::severe, "clock", fmt::format("An order failed: {}", e.what()));
        } catch (...) {
            log_line(LogLevel::severe, "clock", "An order failed.");
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

void Clock::Impl::deactivate_all(bool for_good) noexcept {
    std::vector<std::shared_ptr<Active>> stopped;
    std::vector<std::function<void()>> dropped;  // outside the locks: they may own what calls us
    const Inside inside(*this);
    stopped.swap(actives);
    for (const auto& active : stopped) active->deactivate();
    sync.store(nullptr);
    std::lock_guard lock(orders_mutex);
    dropped.swap(functions);
    for (const Active* leaving : detached) std::erase_if(stopped, [&](const auto& a) { return a.get() == leaving; });
    detached.clear();
    if (for_good) {
        stopped.insert(stopped.end(), std::make_move_iterator(attached.begin()), std::make_move_iterator(attached.end()));
        attached.clear();
    } else {
        attached.insert(attached.begin(), stopped.begin(), stopped.end());
    }
}

// --- What paces it -----------------------------------------------------------------------------------------------------

SyncSource* Clock::Impl::current_sync() noexcept {
    if (!SyncSource::any()) return nullptr;
    sync_uses.clear();
    for (const auto& active : actives) active->collect_sync(sync_uses);
    return sync_uses.empty() ? nullptr : sync_uses.front().source;
}

std::optional<Clock::Impl::Conflict> Clock::Impl::sync_conflict() {
    if (sync_uses.size() < 2) return std::nullopt;
    const auto other = std::find_if(sync_uses.begin(), sync_uses.end(), [&](const SyncUse& use) { return use.source != sync_uses.front().source; });
    if (other == sync_uses.end()) return std::nullopt;
    const auto told = [](const SyncUse& use) {
        return fmt::format("{} from source {}{}{}", use.source->name(), *use.id, use.position->empty() ? "" : ", ", *use.position);
    };
    std::string message = fmt::format("Do you need to set self_sync=false?\n\nSync sources:\n {}\n {}\n\nOr put a buffer behind one of them: buffer(id=\"{}.buffer\", s)",
                                      told(sync_uses.front()), told(*other), *other->id);
    return Conflict{std::move(message), *other->position};
}

}  // namespace castile
