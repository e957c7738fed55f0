#pragma once
// Versions of libav's libraries.

#include <string>
#include <vector>

namespace castile::ffmpeg {

struct LibraryVersion {
    std::string name, built, running;   ///< `running` is asked of the library itself: libav is loaded for it
};
std::vector<LibraryVersion> libav_versions();

}  // namespace castile::ffmpeg
