#include "ffmpeg/versions.h"

#include <fmt/format.h>

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/avutil.h>
#include <libswresample/swresample.h>
}

namespace castile::ffmpeg {

std::vector<LibraryVersion> libav_versions() {
    const auto text = [](unsigned v) { return fmt::format("{}.{}.{}", v >> 16, v >> 8 & 255, v & 255); };
    return {{"libavutil", text(LIBAVUTIL_VERSION_INT), text(avutil_version())},
            {"libavcodec", text(LIBAVCODEC_VERSION_INT), text(avcodec_version())},
            {"libavformat", text(LIBAVFORMAT_VERSION_INT), text(avformat_version())},
            {"libswresample", text(LIBSWRESAMPLE_VERSION_INT), text(swresample_version())}};
}

}  // namespace castile::ffmpeg
