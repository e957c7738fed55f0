#pragma once
// Tasks that scripts start.

#include <functional>

#include "lang/value.h"

namespace castile::builtins {

/// Tells the script's handlers (thread.on_error) of an error that ended a task, or the log when there is none.
void report_error(const lang::RuntimeError& error) noexcept;

/// Runs after each task of a script: sources it made must be started. Set by the application.
void set_after_task(std::function<void()> f);
void after_task() noexcept;

}  // namespace castile::builtins
