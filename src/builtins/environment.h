#pragma once
// What the program says of itself.

#include <string>

namespace castile::builtins {

/// The version of the language: what scripts and control panels ask for.
inline constexpr const char* language_version = "2.5.0";

/// Memory in use by the process, as text for people.
std::string memory_text();

}  // namespace castile::builtins
