// Which clocks are one: the union-find, and what may not be one.

#include "clock/graph.h"

#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "clock/clock_error.h"

namespace castile {

namespace {

const Logger log("clock");

using State = Clock::Impl::State;

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

ClockGraph& graph() noexcept {
    static ClockGraph* graph = new ClockGraph;  // outlives every static source
    return *graph;
}

Clock& root_of(const Clock& clock) noexcept {
    Clock* c = const_cast<Clock*>(&clock);
    while (Clock* parent = c->impl().parent.load(std::memory_order_acquire)) c = parent;
    return *c;
}

std::vector<ClockPtr> all_clocks() {
    GraphLock lock(graph().mutex);
    std::vector<ClockPtr> roots;
    for (const auto& weak : graph().clocks)
        if (ClockPtr clock = weak.lock(); clock && !clock->impl().parent.load()) roots.push_back(std::move(clock));
    return roots;
}

void Clock::unify(const ClockPtr& a, const ClockPtr& b) {
    GraphLock lock(graph().mutex);
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

}  // namespace castile
