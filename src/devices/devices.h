#pragma once
// What the application asks of devices.

#include <chrono>

namespace castile::devices {

/// At the end, when all clocks have stopped: connections are closed in good order, since servers may wait for those who do not say
/// goodbye. False: not all, in that time.
bool wait_for_devices(std::chrono::milliseconds longest);

}  // namespace castile::devices
