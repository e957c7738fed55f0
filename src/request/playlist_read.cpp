// Playlists from the disk and from protocols.

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "request/annotate.h"
#include "request/playlist.h"
#include "request/request.h"

namespace castile {

namespace {

constexpr std::size_t max_folder_depth = 32;

std::unexpected<Failure> failed(Failure::Kind kind, std::string message) { return std::unexpected(Failure{kind, std::move(message)}); }

bool is_folder(const std::string& path) {
    struct stat status{};
    return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

/// `above`: the folders we are in (device, inode), so that a link to one of them is not walked for ever.
void collect(const std::filesystem::path& folder, std::vector<std::pair<dev_t, ino_t>>& above, std::vector<std::string>& files) {
    struct stat status{};
    if (stat(folder.c_str(), &status) != 0 || above.size() > max_folder_depth) return;
    const std::pair here(status.st_dev, status.st_ino);
    if (std::ranges::find(above, here) != above.end()) return;
    above.push_back(here);
    std::error_code error;
    std::filesystem::directory_iterator it(folder, std::filesystem::directory_options::skip_permission_denied, error);
    for (; !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
        const std::string name = it->path().filename().string();
        if (name.starts_with('.') || files.size() >= max_playlist_entries) continue;
        std::error_code ignored;
        if (it->is_directory(ignored)) {
            collect(it->path(), above, files);
        } else if (it->is_regular_file(ignored)) {
            files.push_back(it->path().string());
        }
    }
    above.pop_back();
}

std::expected<std::string, Failure> read_text(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return failed(Failure::Kind::not_found, fmt::format("Could not open \"{}\".", path));
    std::string text;
    char block[65536];
    while (file.read(block, sizeof block) || file.gcount() > 0) {
        text.append(block, static_cast<std::size_t>(file.gcount()));
        if (text.size() > max_playlist_bytes) return failed(Failure::Kind::invalid, fmt::format("\"{}\" is too large for a playlist.", path));
    }
    return text;
}

// The folder of a path, or the URL up to its last slash.
std::string base_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

}  // namespace

std::expected<std::vector<std::string>, Failure> list_folder(const std::string& path) {
    if (!is_folder(path)) return failed(Failure::Kind::not_found, fmt::format("There is no folder \"{}\".", path));
    std::vector<std::string> files;
    std::error_code error;
    const std::filesystem::path absolute = std::filesystem::absolute(path, error);
    std::vector<std::pair<dev_t, ino_t>> above;
    collect(error ? std::filesystem::path(path) : absolute.lexically_normal(), above, files);
    std::ranges::sort(files);
    return files;
}

std::expected<Playlist, Failure> parse_playlist_file(const std::string& path, const std::string& mime, const std::string& base) {
    const auto text = read_text(path);
    if (!text) return std::unexpected(text.error());
    return parse_playlist(*text, mime, base.empty() ? base_of(path) : base);
}

std::expected<std::vector<std::string>, Failure> read_playlist(const std::string& uri, const std::string& mime, double timeout_seconds) {
    const std::string path = local_path(uri);
    if (is_folder(path)) return list_folder(path);
    const RequestPtr request = Request::create(uri, {.resolve_metadata = false, .open = false});
    if (auto resolved = request->resolve(timeout_seconds); !resolved) return std::unexpected(resolved.error());
    const std::string file = request->filename();
    // A list that was fetched is relative to where it came from, not to where it was put.
    const bool fetched = uri.starts_with("http://") || uri.starts_with("https://");
    auto list = parse_playlist_file(file, mime, base_of(fetched ? uri : file));
    request->destroy(true);
    if (!list) return std::unexpected(Failure{list.error().kind, fmt::format("\"{}\": {}", uri, list.error().message)});
    std::vector<std::string> uris;
    uris.reserve(list->size());
    for (const PlaylistEntry& entry : *list) uris.push_back(annotate_uri(entry.metadata, entry.uri));
    return uris;
}

}  // namespace castile
