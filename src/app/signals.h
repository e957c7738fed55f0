#pragma once
// Signals, taken by a thread of their own.

namespace castile::app {

/// Blocks the signals we handle; before any thread is made.
void block_signals();
/// SIGTERM and SIGINT ask for shutdown, a second one ends the process at once; SIGUSR1 reopens the log.
void start_signal_thread();

}  // namespace castile::app
