#pragma once
// HLS playlists as text (RFC 8216). Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace castile {

/// A finished segment.
struct HlsSegment {
    std::string file;                ///< relative to the folder
    std::string init;                ///< fMP4: its initialisation segment, else empty
    std::int64_t sequence = 0;       ///< its media sequence number
    double duration = 0;             ///< seconds
    double date = 0;                 ///< wall clock at its first sample, seconds since the epoch
    bool discontinuous = false;      ///< the time line or the encoder began anew here
    int discontinuities = 0;         ///< so many since the start, this one included
    std::vector<std::string> tags;   ///< written before it
};

struct HlsMediaPlaylist {
    int version = 3, target_duration = 10;
    std::string prefix;
    std::vector<std::string> extra_tags;
    bool ended = false;
};

/// [first, last) of the segments, oldest first.
std::string media_playlist(const HlsMediaPlaylist& playlist, const HlsSegment* first, const HlsSegment* last);

struct HlsStream {
    std::string name;                ///< its playlist is NAME.m3u8
    int bandwidth = 0;               ///< bits per second
    std::string codecs;              ///< RFC 6381; empty: unknown
    std::optional<std::pair<int, int>> video_size;
};

std::string main_playlist(int version, const std::vector<std::string>& extra_tags, const std::string& prefix,
                          const std::vector<HlsStream>& streams);

/// Least integer that no segment of a stream cut at every `segment` seconds exceeds: a cut waits for the next packet.
int target_duration(double segment) noexcept;

/// The files that a playlist names (segments and initialisation segments), `prefix` taken off; only names that stay inside
/// its folder. The text may be anybody's.
std::vector<std::string> files_of_playlist(const std::string& text, const std::string& prefix);

/// "2026-11-30T12:00:00.250Z"
std::string iso_date(double when);

/// What a packed audio segment begins with: an ID3 tag that says its time.
std::string packed_audio_timestamp(double at);

}  // namespace castile
