#pragma once
// Playlists: m3u, pls, cue sheets, XSPF/ASX/SMIL/RSS, plain lists and folders, as lists of URIs.

#include <expected>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "frame/metadata.h"

namespace castile {

struct PlaylistEntry {
    std::vector<Metadata::Entry> metadata;
    std::string uri;
    friend bool operator==(const PlaylistEntry&, const PlaylistEntry&) = default;
};
using Playlist = std::vector<PlaylistEntry>;

/// Bounds of an untrusted list: 64 MB, a million entries, 64 KiB a line; what is beyond is left out or refused.
inline constexpr std::size_t max_playlist_bytes = 64u << 20, max_playlist_entries = 1'000'000, max_playlist_line = 64u << 10;

/// The text of a list. `mime` ("" = find out) chooses the parser; `base` is the folder (or URL, ending in a slash) that
/// relative entries are looked for in. Blocking: a relative entry is looked up on the disk.
std::expected<Playlist, Failure> parse_playlist(std::string_view text, const std::string& mime = "", const std::string& base = "");

Playlist parse_m3u(std::string_view text, const std::string& base);
Playlist parse_pls(std::string_view text, const std::string& base);
Playlist parse_cue_sheet(std::string_view text, const std::string& base);
Playlist parse_xml_playlist(std::string_view text, const std::string& base);   ///< empty when it is no list

/// A parser of lists written in the script. `parse` gives an empty list for what it does not know.
struct PlaylistParser {
    std::string name;
    std::vector<std::string> mimes;
    bool strict;   ///< tried before our own on lists of unknown kind; else after them
    std::function<Playlist(std::string_view text, const std::string& base)> parse;
};
void add_playlist_parser(PlaylistParser parser);   ///< Any thread.

/// An entry as it is found from `base`: a relative one beside the list, if it is there.
std::string locate_entry(const std::string& base, std::string_view entry);

/// All files below a folder, absolute, sorted; hidden ones are left out, links are followed 32 folders deep. Blocking.
std::expected<std::vector<std::string>, Failure> list_folder(const std::string& path);

/// A local file's list; `base` empty: the file's folder. Blocking.
std::expected<Playlist, Failure> parse_playlist_file(const std::string& path, const std::string& mime = "", const std::string& base = "");

/// What a playlist's URI (a folder, a file, anything with a protocol) stands for: URIs, annotated where the list says
/// something about them. Blocking.
std::expected<std::vector<std::string>, Failure> read_playlist(const std::string& uri, const std::string& mime, double timeout_seconds);

}  // namespace castile
