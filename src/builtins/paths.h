#pragma once
// Paths as scripts write them.

#include <string>

namespace castile::builtins {

std::string expanded(const std::string& path);   ///< ~ and ~/music are in the user's folder

}  // namespace castile::builtins
