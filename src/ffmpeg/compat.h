#pragma once
// What differs between FFmpeg 5.1 and later. Only for this folder's .cpp files.

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/channel_layout.h>
#include <libavutil/opt.h>
#include <libavutil/samplefmt.h>
}

#include <cstdint>
#include <span>

namespace castile::ffmpeg {

#if LIBAVFORMAT_VERSION_MAJOR >= 61
using WriteBuffer = const std::uint8_t;
#else
using WriteBuffer = std::uint8_t;
#endif

/// Sample formats that an encoder takes; empty: any.
inline std::span<const AVSampleFormat> sample_formats(const AVCodec* codec) {
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(61, 13, 100)
    const void* list = nullptr;
    int count = 0;
    if (avcodec_get_supported_config(nullptr, codec, AV_CODEC_CONFIG_SAMPLE_FORMAT, 0, &list, &count) < 0 || !list) return {};
    return {static_cast<const AVSampleFormat*>(list), static_cast<std::size_t>(count)};
#else
    if (!codec->sample_fmts) return {};
    std::size_t count = 0;
    while (codec->sample_fmts[count] != AV_SAMPLE_FMT_NONE) ++count;
    return {codec->sample_fmts, count};
#endif
}

/// Sample rates that an encoder takes; empty: any.
inline std::span<const int> sample_rates(const AVCodec* codec) {
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(61, 13, 100)
    const void* list = nullptr;
    int count = 0;
    if (avcodec_get_supported_config(nullptr, codec, AV_CODEC_CONFIG_SAMPLE_RATE, 0, &list, &count) < 0 || !list) return {};
    return {static_cast<const int*>(list), static_cast<std::size_t>(count)};
#else
    if (!codec->supported_samplerates) return {};
    std::size_t count = 0;
    while (codec->supported_samplerates[count]) ++count;
    return {codec->supported_samplerates, count};
#endif
}

}  // namespace castile::ffmpeg
