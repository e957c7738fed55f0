#include "ffmpeg/tags.h"

#include <algorithm>

#include "ffmpeg/compat.h"
#include "ffmpeg/open_input.h"

namespace castile::ffmpeg {
namespace {

constexpr std::size_t tags_at_most = 256;

void collect(const AVDictionary* dictionary, FileInfo& info) {
    const AVDictionaryEntry* entry = nullptr;
    while ((entry = av_dict_get(dictionary, "", entry, AV_DICT_IGNORE_SUFFIX)) && info.tags.size() < tags_at_most)
        info.tags.emplace_back(entry->key, entry->value);
}

}  // namespace

FileInfo read_info(const std::string& path, bool probe) {
    FileInfo info;
    const auto context = open_input(path);
    if (!context) return info;
    AVFormatContext* format = context->get();
    if (probe && avformat_find_stream_info(format, nullptr) < 0) return info;
    collect(format->metadata, info);
    const int index = av_find_best_stream(format, AVMEDIA_TYPE_AUDIO, -1, -1, nullptr, 0);
    if (index < 0) return info;
    const AVStream* stream = format->streams[index];
    collect(stream->metadata, info);   // Ogg keeps them here
    if (stream->duration != AV_NOPTS_VALUE && stream->duration > 0) {
        std::int64_t ticks = stream->duration;
        if (stream->codecpar->codec_id == AV_CODEC_ID_MP3 && stream->start_time != AV_NOPTS_VALUE && stream->start_time > 0)
            ticks -= std::min(ticks, stream->start_time);   // encoder delay
        info.duration = static_cast<double>(ticks) * av_q2d(stream->time_base);
    } else if (format->duration != AV_NOPTS_VALUE && format->duration > 0) {
        info.duration = static_cast<double>(format->duration) / AV_TIME_BASE;
    }
    return info;
}

}  // namespace castile::ffmpeg
