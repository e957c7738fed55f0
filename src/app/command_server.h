#pragma once
// The command server as settings.server.* ask for it.

namespace castile::app {

/// After the script was evaluated, with the scheduler running. Throws Error when a port or socket cannot be had.
void start_command_server();
void stop_command_server() noexcept;

}  // namespace castile::app
