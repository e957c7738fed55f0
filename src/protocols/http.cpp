// The http and https protocols: a request's file is downloaded to a temporary one, bounded in time and size.

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <string_view>

#include "base/settings.h"
#include "net/http_client.h"
#include "request/request.h"
#include "request/temporary_file.h"

namespace castile {

namespace {

Setting<int> max_megabytes{"protocol.http.max_size", 1024, "Largest file that a request downloads, in MiB."};

// Extension for a content type that decoders may want to see; the URL's own otherwise.
std::string_view extension_of_type(std::string_view type) {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 18> table{{
        {"audio/mpeg", ".mp3"}, {"audio/mp3", ".mp3"}, {"audio/ogg", ".ogg"}, {"application/ogg", ".ogg"}, {"audio/x-ogg", ".ogg"},
        {"audio/flac", ".flac"}, {"audio/x-flac", ".flac"}, {"audio/wav", ".wav"}, {"audio/wave", ".wav"}, {"audio/x-wav", ".wav"},
        {"audio/mp4", ".mp4"}, {"application/mp4", ".mp4"}, {"audio/aac", ".aac"}, {"audio/mpegurl", ".m3u"}, {"audio/x-mpegurl", ".m3u"},
        {"audio/x-scpls", ".pls"}, {"application/xspf+xml", ".xspf"}, {"audio/opus", ".opus"}}};
    type = type.substr(0, type.find(';'));
    while (!type.empty() && type.back() == ' ') type.remove_suffix(1);
    for (const auto& [name, extension] : table) {
        if (name == type) return extension;
    }
    return {};
}

std::string_view extension_of_url(std::string_view url) {
    url = url.substr(0, url.find_first_of("?#"));
    url = url.substr(url.rfind('/') + 1);
    const auto dot = url.rfind('.');
    if (dot == url.npos || url.size() - dot > 6) return {};
    const auto extension = url.substr(dot);
    for (const char c : extension.substr(1)) {
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))) return {};
    }
    return extension;
}

std::expected<ProtocolResult, Failure> download(const std::string& url, double timeout_seconds) {
    auto made = make_temporary_file("");
    if (!made) return std::unexpected(std::move(made.error()));
    std::string path = std::move(*made);
    HttpRequest request;
    request.url = url;
    request.timeout_seconds = timeout_seconds;
    request.max_bytes = static_cast<std::size_t>(std::max(1, max_megabytes.get())) << 20;
    const auto answer = http_download(request, path);
    const auto give_up = [&path](Failure failure) {
        ::unlink(path.c_str());
        return std::unexpected(std::move(failure));
    };
    if (!answer) return give_up(answer.error());
    if (answer->status != 200) {
        const auto kind = answer->status == 404 || answer->status == 410 ? Failure::Kind::not_found
                          : answer->status == 401 || answer->status == 403 ? Failure::Kind::denied : Failure::Kind::other;
        return give_up({kind, fmt::format("{}: the server answered {} {}.", url, answer->status, answer->reason)});
    }
    std::string_view extension;
    for (const auto& [name, value] : answer->headers) {
        if (name == "content-type") extension = extension_of_type(value);
    }
    if (extension.empty()) extension = extension_of_url(answer->final_url);
    if (extension.empty()) extension = extension_of_url(url);
    if (!extension.empty()) {  // the name is ours alone: nobody else makes one like it
        const std::string named = path + std::string(extension);
        if (::link(path.c_str(), named.c_str()) == 0) {
            ::unlink(path.c_str());
            path = named;
        }
    }
    ProtocolResult result;
    result.uris = {path};
    result.temporary = true;
    return result;
}

const RegisterProtocol http{"http", "Download a file over HTTP.", "http://...",
                            [](const std::string& rest, double timeout) { return download("http:" + rest, timeout); }};
const RegisterProtocol https{"https", "Download a file over HTTPS.", "https://...",
                             [](const std::string& rest, double timeout) { return download("https:" + rest, timeout); }};

}  // namespace

}  // namespace castile
