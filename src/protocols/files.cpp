// Protocols that hand a file on: tmp:, copy:, fallible:, stereo:, ffmpeg:.

#include <filesystem>
#include <system_error>

#include "base/settings.h"
#include "protocols/command.h"
#include "request/temporary_file.h"

namespace castile::protocols {

namespace {

Setting<bool> with_gain{"protocol.ffmpeg.replaygain", false, "Measure the replay gain of what `ffmpeg:` is given?"};

using Result = std::expected<ProtocolResult, Failure>;

/// What every decoder does anyway: all that libav reads is decoded, to as many channels as are wanted.
Result pass_on(const std::string& uri, double) { return ProtocolResult{{uri}, false, {}}; }

Result copy(const std::string& path, double) {
    auto file = make_temporary_file(std::filesystem::path(path).extension().string());
    if (!file) return std::unexpected(std::move(file.error()));
    std::error_code error;
    std::filesystem::copy_file(local_path(path), *file, std::filesystem::copy_options::overwrite_existing, error);
    if (error) {
        std::error_code ignored;
        std::filesystem::remove(*file, ignored);
        return std::unexpected(Failure{Failure::Kind::other, "Cannot copy " + path + ": " + error.message() + "."});
    }
    return ProtocolResult{{std::move(*file)}, true, {}};
}

const RegisterProtocol temporary{"tmp", "Delete the file that the URI leads to when the request is done with.", "tmp:uri", [](const std::string& uri, double) -> Result {
    return ProtocolResult{{uri}, true, {}};
}};
const RegisterProtocol copied{"copy", "A copy of a file, deleted when the request is done with.", "copy:/path/to/file", copy,
                              [](const std::string& path) { return is_static_uri(path); }};
const RegisterProtocol fallible{"fallible", "A URI that may fail, even when it is a file that is there: what plays it is fallible.", "fallible:uri", pass_on};
const RegisterProtocol stereo{"stereo", "Kept for older scripts: any file is decoded in stereo where that is wanted.", "stereo:uri", pass_on, is_static_uri};
const RegisterProtocol ffmpeg{"ffmpeg", "Kept for older scripts: any file is decoded with FFmpeg.", "ffmpeg:uri", [](const std::string& uri, double) -> Result {
    return ProtocolResult{{with_gain.get() ? "replaygain:" + uri : uri}, false, {}};
}};

}  // namespace

}  // namespace castile::protocols
