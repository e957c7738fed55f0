#include "ffmpeg/open_input.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ffmpeg/compat.h"

namespace castile::ffmpeg {
namespace {

constexpr const char* url_timeout = "5000000";   // microseconds, of one read from a peer
constexpr off_t read_ahead_at_most = 24 << 20;

/// Playlists and scripts of files: what they name would be opened behind our back.
bool indirect(std::string_view demuxer) {
    for (const char* name : {"hls", "concat", "dash", "imf", "tedcaptions", "vobsub", "image2", "lavfi"})
        if (demuxer.find(name) != std::string_view::npos) return true;
    return false;
}

Failure::Kind kind_of(int code) {
    switch (code) {
        case AVERROR(ENOENT): case AVERROR_HTTP_NOT_FOUND: return Failure::Kind::not_found;
        case AVERROR(EACCES): case AVERROR(EPERM): case AVERROR_HTTP_UNAUTHORIZED: case AVERROR_HTTP_FORBIDDEN: return Failure::Kind::denied;
        case AVERROR(ECONNREFUSED): return Failure::Kind::refused;
        case AVERROR(ETIMEDOUT): case AVERROR_EXIT: return Failure::Kind::timeout;
        case AVERROR_INVALIDDATA: case AVERROR_EOF: return Failure::Kind::invalid;
        case AVERROR_PROTOCOL_NOT_FOUND: case AVERROR_DEMUXER_NOT_FOUND: return Failure::Kind::unsupported;
        default: return Failure::Kind::other;
    }
}

}  // namespace

bool is_url(const std::string& path) noexcept {
    const auto colon = path.find("://");
    return colon != std::string::npos && colon > 0 && path.find('/') > colon;
}

std::expected<InputContext, Failure> open_input(const std::string& path) {
    init();
    const bool url = is_url(path);
    if (!url) {
        struct stat status {};
        if (::stat(path.c_str(), &status) != 0) {
            const int error = errno;
            return std::unexpected(Failure{kind_of(AVERROR(error)), fmt::format("Cannot open {}: {}.", path, std::strerror(error))});
        }
        if (S_ISDIR(status.st_mode)) return std::unexpected(Failure{Failure::Kind::unsupported, fmt::format("Cannot open {}: it is a directory.", path)});
        if (!S_ISREG(status.st_mode)) return std::unexpected(Failure{Failure::Kind::unsupported, fmt::format("Cannot open {}: not a regular file.", path)});
        if (status.st_size == 0) return std::unexpected(Failure{Failure::Kind::invalid, fmt::format("Cannot decode {}: the file is empty.", path)});
    }
    AVFormatContext* context = avformat_alloc_context();
    if (!context) return std::unexpected(Failure{Failure::Kind::other, "Out of memory."});
    context->max_index_size = 64 << 10;   // MP3 and the like index every packet they read
    context->max_analyze_duration = 5 * AV_TIME_BASE;
    context->max_streams = 64;
    Dictionary options;
    // "file:" so that a name with a colon is never taken for a protocol.
    options.set("protocol_whitelist", url ? "http,https,tcp,tls,crypto,data" : "file");
    if (url) options.set("rw_timeout", url_timeout);
    const int code = avformat_open_input(&context, (url ? path : "file:" + path).c_str(), nullptr, options.out());
    if (code < 0) return std::unexpected(Failure{kind_of(code), fmt::format("Cannot open {}: {}.", path, error_text(code))});
    InputContext input(context);
    if (!url && indirect(context->iformat->name))
        return std::unexpected(Failure{Failure::Kind::unsupported, fmt::format("Cannot decode {}: it is a list of files, not media.", path)});
    return input;
}

void read_ahead(const std::string& path) noexcept {
    if (is_url(path)) return;
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) return;
    ::posix_fadvise(fd, 0, read_ahead_at_most, POSIX_FADV_WILLNEED);
    ::close(fd);
}

}  // namespace castile::ffmpeg
