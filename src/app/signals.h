#pragma once
// Signals, taken by a thread of their own.

namespace castile::app {

/// Blocks the signals we handle; before any thread is made.
void block_signals();
/// SIGTERM and SIGINT ask for shutdown, a second one ends the process at once; SIGUSR1 and SIGHUP reopen the log. A script
/// that goes on loading (nothing is to be closed before script_loaded()) is left after a second and a half.
void start_signal_thread();
void script_loaded() noexcept;

}  // namespace castile::app
