#pragma once
// Files and folders watched for changes (inotify), by one thread for the whole process.

#include <functional>
#include <memory>
#include <string>

namespace castile {

/// Calls `changed` as normal work whenever the file is written, replaced, created or removed, or when anything in the
/// folder or a folder below it is. Ends when the handle goes. A path that does not exist yet is waited for if its folder
/// exists. Bursts come as several calls: debounce where it matters. At most 10,000 folders below one path.
/// Null when the system refuses (no more watches), which is logged.
std::shared_ptr<void> watch_path(const std::string& path, std::function<void()> changed);

}  // namespace castile
