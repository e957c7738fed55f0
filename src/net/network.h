#pragma once
// The end of the process's network work.

#include <memory>

#include "sched/time.h"

namespace castile {

/// Held by a connection that is closing: finish_network waits for it.
std::shared_ptr<void> network_busy();

/// Closes the HTTP ports and waits until connections that are closing have sent what they held, at most `limit`. After
/// the outputs were stopped, while the scheduler still runs. Main thread.
void finish_network(Duration limit) noexcept;

}  // namespace castile
