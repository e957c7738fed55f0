#pragma once
// Every clock that was made, which of them are one, and the lock of both.

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "clock/clock.h"
#include "clock/clock_impl.h"

namespace castile {

struct ClockGraph {
    std::recursive_mutex mutex;
    std::vector<std::weak_ptr<Clock>> clocks;
    std::set<std::string> names;   ///< in use
    int started = 0;               ///< clocks, ever
};
ClockGraph& graph() noexcept;
using GraphLock = std::lock_guard<std::recursive_mutex>;

/// The clock that a handle means after what it was unified with.
Clock& root_of(const Clock& clock) noexcept;

}  // namespace castile
