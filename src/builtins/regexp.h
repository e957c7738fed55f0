#pragma once
// Regular expressions for other builtins.

#include <string>

#include "lang/value.h"

namespace castile::builtins {

/// What `regexp(pattern)` gives. Throws RuntimeError.
lang::Value make_regexp(const std::string& pattern);

}  // namespace castile::builtins
