#include "outputs/hls_playlist.h"

#include <fmt/format.h>

#include <cmath>
#include <ctime>
#include <iterator>
#include <string_view>

namespace castile {

namespace {

constexpr double longest_packet = 0.1;  // seconds: AAC 0.023, Opus up to 0.06, FLAC 0.1

void add_lines(std::string& out, const std::vector<std::string>& lines) {
    for (const std::string& line : lines) fmt::format_to(std::back_inserter(out), "{}\r\n", line);
}

std::string playlist_uri(std::string_view line, std::string_view prefix) {
    if (line.starts_with(prefix)) line.remove_prefix(prefix.size());
    const bool inside = !line.empty() && line.front() != '/' && line.find("..") == line.npos && line.find("://") == line.npos &&
                        line.find('\0') == line.npos;
    return inside ? std::string(line) : std::string();
}

}  // namespace

std::string iso_date(double when) {
    const auto milliseconds = static_cast<std::int64_t>(std::llround(when * 1000));
    const auto seconds = static_cast<std::time_t>(milliseconds / 1000);
    std::tm utc{};
    gmtime_r(&seconds, &utc);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour,
                       utc.tm_min, utc.tm_sec, milliseconds % 1000);
}

int target_duration(double segment) noexcept { return static_cast<int>(std::ceil(segment + longest_packet)); }

std::string media_playlist(const HlsMediaPlaylist& playlist, const HlsSegment* first, const HlsSegment* last) {
    std::string out;
    const auto add = [&out]<class... A>(fmt::format_string<A...> form, A&&... values) {
        fmt::format_to(std::back_inserter(out), form, std::forward<A>(values)...);
    };
    add("#EXTM3U\r\n#EXT-X-VERSION:{}\r\n#EXT-X-TARGETDURATION:{}\r\n", playlist.version, playlist.target_duration);
    add("#EXT-X-MEDIA-SEQUENCE:{}\r\n", first == last ? 0 : first->sequence);
    add("#EXT-X-DISCONTINUITY-SEQUENCE:{}\r\n", first == last ? 0 : first->discontinuities);
    add_lines(out, playlist.extra_tags);
    const HlsSegment* before = nullptr;
    for (const HlsSegment* segment = first; segment != last; before = segment++) {
        if (before && segment->discontinuous) add("#EXT-X-DISCONTINUITY\r\n");
        if (!segment->init.empty() && (!before || before->init != segment->init || segment->discontinuous))
            add("#EXT-X-MAP:URI=\"{}{}\"\r\n", playlist.prefix, segment->init);
        add("#EXT-X-PROGRAM-DATE-TIME:{}\r\n", iso_date(segment->date));
        add_lines(out, segment->tags);
        add("#EXTINF:{:.6f},\r\n{}{}\r\n", segment->duration, playlist.prefix, segment->file);
    }
    if (playlist.ended) add("#EXT-X-ENDLIST\r\n");
    return out;
}

std::string main_playlist(int version, const std::vector<std::string>& extra_tags, const std::string& prefix,
                          const std::vector<HlsStream>& streams) {
    std::string out = fmt::format("#EXTM3U\r\n#EXT-X-VERSION:{}\r\n", version);
    add_lines(out, extra_tags);
    for (const HlsStream& stream : streams) {
        fmt::format_to(std::back_inserter(out), "#EXT-X-STREAM-INF:BANDWIDTH={}", stream.bandwidth);
        if (!stream.codecs.empty()) fmt::format_to(std::back_inserter(out), ",CODECS=\"{}\"", stream.codecs);
        if (stream.video_size)
            fmt::format_to(std::back_inserter(out), ",RESOLUTION={}x{}", stream.video_size->first, stream.video_size->second);
        fmt::format_to(std::back_inserter(out), "\r\n{}{}.m3u8\r\n", prefix, stream.name);
    }
    return out;
}

std::vector<std::string> files_of_playlist(const std::string& text, const std::string& prefix) {
    std::vector<std::string> files;
    std::string_view rest = text;
    constexpr std::string_view map = "#EXT-X-MAP:URI=\"";
    while (!rest.empty()) {
        const auto end = rest.find('\n');
        std::string_view line = rest.substr(0, end);
        rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.starts_with(map)) {
            line.remove_prefix(map.size());
            line = line.substr(0, line.find('"'));
        } else if (line.starts_with('#')) {
            continue;
        }
        if (std::string uri = playlist_uri(line, prefix); !uri.empty()) files.push_back(std::move(uri));
    }
    return files;
}

std::string packed_audio_timestamp(double at) {
    // RFC 8216, 3.4: a PRIV frame whose owner is the string below and whose data is the 33-bit MPEG-2 time, as 8 octets.
    constexpr std::string_view owner("com.apple.streaming.transportStreamTimestamp\0", 45);
    const auto ticks = static_cast<std::uint64_t>(std::llround(at * 90000)) & 0x1'FFFF'FFFFU;
    const auto size = static_cast<char>(owner.size() + 8);  // below 128: a synchsafe size of one octet
    std::string tag("ID3\x04\0\0\0\0\0", 9);
    tag += static_cast<char>(size + 10);
    tag += std::string("PRIV\0\0\0", 7) + size + std::string(2, '\0');
    tag += owner;
    for (int shift = 56; shift >= 0; shift -= 8) tag += static_cast<char>(ticks >> shift & 0xFF);
    return tag;
}

}  // namespace castile
