#pragma once
// A request looked at from the command line.

#include "app/options.h"

namespace castile::app {

/// Runs the scripts, then resolves the request `options.name` and prints its metadata and duration. Gives the exit code.
/// Throws ScriptError, RuntimeError, Error.
int show_request(const Options& options);

}  // namespace castile::app
