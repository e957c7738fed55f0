#pragma once
// Opening a file or URL with limits that hold for untrusted media. Blocking.

#include <expected>
#include <string>

#include "base/error.h"
#include "ffmpeg/handles.h"

namespace castile::ffmpeg {

/// Opens and recognises the container. A local file cannot make libav open other files or hosts.
std::expected<InputContext, Failure> open_input(const std::string& path);

/// Asks the kernel for the file's first megabytes, so that ticks read from memory.
void read_ahead(const std::string& path) noexcept;

bool is_url(const std::string& path) noexcept;

}  // namespace castile::ffmpeg
