#pragma once
// Settings of the program itself.

#include <string>

namespace castile::app {

struct Options;

/// What the command line says about settings; before the script.
void apply_options(const Options& options, const std::string& script);
/// Starts the log as the settings say: after the script was evaluated, or when something must be told at once.
void start_log();
/// The same for a run that ends before it began: writes what was said so far, whatever the settings are.
void start_log_anyhow() noexcept;
bool colours_wanted();          ///< on standard error
bool force_start();
bool warn_of_root();
/// In the background: a process of its own that goes on when the one started has ended. That one waits until the script is
/// loaded, so that its errors are seen and its exit code says how it went.
bool daemon_wanted();
void go_to_background();        ///< before threads are made
void settle_in_background();    ///< after the script was evaluated: PID file, no console
bool in_background();           ///< between the two
void write_pid_file();
void remove_pid_file() noexcept;
/// A path of a setting with `<script>`, `<pid>`, `<syslogdir>` and `<sysrundir>` replaced.
std::string expand_path(std::string path);
/// Throws Error when the folder of a file to be made does not exist: the setting to change is named.
void need_folder(const std::string& path, const char* what, const char* setting);

}  // namespace castile::app
