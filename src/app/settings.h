#pragma once
// Settings of the program itself.

#include <string>

namespace castile::app {

struct Options;

/// What the command line says about settings; before the script.
void apply_options(const Options& options, const std::string& script);
/// Starts the log as the settings say: after the script was evaluated, or when something must be told at once.
void start_log();
void keep_log_quiet();             ///< until start_log: what tools print is not to be mixed with it
bool force_start();
bool warn_of_root();
/// Goes into the background when asked to, and writes the PID file. Before threads are made.
bool daemon_wanted();
void daemonize();
void write_pid_file();
void remove_pid_file() noexcept;

}  // namespace castile::app
