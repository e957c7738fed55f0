#pragma once
// The interactive interpreter: reads expressions, shows name, type and value.

#include "lang/engine.h"

namespace castile::app {

/// Starts it on a thread of its own; its end asks for shutdown. `engine` must live as long.
void start_interactive(lang::Engine& engine);

}  // namespace castile::app
