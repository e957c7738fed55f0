#pragma once
// Tags and duration of a file, as the demuxer gives them. Blocking.

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace castile::ffmpeg {

struct FileInfo {
    std::vector<std::pair<std::string, std::string>> tags;   ///< labels and values as found: any bytes
    std::optional<double> duration;                          ///< seconds
};

/// Without decoding. Nothing when the file cannot be opened. `probe`: also look into the streams (needed by some for the duration).
FileInfo read_info(const std::string& path, bool probe);

}  // namespace castile::ffmpeg
