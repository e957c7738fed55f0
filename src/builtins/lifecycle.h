#pragma once
// The life of the process as scripts see it: what runs at start and at shutdown, and who asked for the latter.

#include <string>
#include <vector>

#include "lang/value.h"

namespace castile::builtins {

/// All members from any thread.
void note_start_time();                           ///< after the scheduler is set
double uptime();                                   ///< seconds since then
void set_script_arguments(std::vector<std::string> arguments);   ///< argv(1), ...; argv(0) is the script
std::string script_path();                        ///< empty when it is no file
void request_shutdown(int code);                  ///< wakes whoever waits in wait_for_shutdown
bool shutdown_requested() noexcept;
int exit_code() noexcept;
bool restart_requested() noexcept;
void wait_for_shutdown();                         ///< returns when it is requested
void run_start_callbacks();
void run_shutdown_callbacks();                    ///< on_shutdown, then on_cleanup; errors are logged
void when_started(lang::Value function);          ///< calls it once everything is started; at once when it is
void at_shutdown(lang::Value function);           ///< as on_shutdown
/// Calls a script's function as the border of a task: errors go to the script's thread.on_error handlers, else to the log.
bool run_task(const lang::Value& function) noexcept;

}  // namespace castile::builtins
