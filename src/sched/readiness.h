#pragma once
// Waiting for a file descriptor without a thread.

#include <functional>
#include <optional>

#include "sched/scheduler.h"

namespace castile {

/// Calls `done(true)` as normal work once the descriptor can be read (`writing`: written) without waiting, or has failed;
/// `done(false)` when that took longer than `limit`. The caller may close its descriptor meanwhile. In simulated time the
/// descriptor is looked at once, at most a second long.
void when_ready(Scheduler& scheduler, int descriptor, bool writing, std::optional<Duration> limit, std::function<void(bool)> done);

}  // namespace castile
