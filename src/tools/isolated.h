#pragma once
// Work on a text that nobody has vouched for, in a process of its own.

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace castile::tools {

/// Runs `work` in a fork of this process and gives what it returns; nothing when it crashed, threw, or took too long. Nothing it
/// does stays behind: no memory, no state of the checker. Call it where no other thread holds a lock that `work` needs.
std::optional<std::string> isolated(const std::function<std::string()>& work, std::chrono::milliseconds limit);

}  // namespace castile::tools
