// playlist.parse.cue.full: all that a cue sheet says, as a record.

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

#include "builtins/define.h"
#include "request/playlist.h"

namespace castile::builtins {

namespace {

struct Timecode {
    std::int64_t minutes = 0, seconds = 0, frames = 0;
};

struct Index {
    std::int64_t number;
    std::string filename, file_type;
    Timecode at;
};

struct Track {
    std::int64_t position;
    std::string type;
    std::optional<std::string> performer, title, album, isrc;   // may be told to be empty
    std::optional<Timecode> pregap, postgap;
    std::vector<Index> indexes;
};

std::string_view trimmed(std::string_view s) {
    constexpr std::string_view blank = " \t\r\n";
    const std::size_t begin = s.find_first_not_of(blank);
    return begin == s.npos ? std::string_view() : s.substr(begin, s.find_last_not_of(blank) - begin + 1);
}

/// The first word of a line, which loses it.
std::string_view word(std::string_view& line) {
    line = trimmed(line);
    const std::string_view first = line.substr(0, line.find_first_of(" \t"));
    line = trimmed(line.substr(first.size()));
    return first;
}

std::string unquoted(std::string_view s) {
    s = trimmed(s);
    return std::string(s.size() >= 2 && s.front() == '"' && s.back() == '"' ? s.substr(1, s.size() - 2) : s);
}

std::string lower(std::string_view s) {
    std::string out(s);
    for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    return out;
}

std::optional<std::int64_t> number(std::string_view s) {
    std::int64_t n = 0;
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), n);
    return error == std::errc() && end == s.data() + s.size() && n >= 0 ? std::optional(n) : std::nullopt;
}

std::optional<Timecode> timecode(std::string_view s) {
    s = trimmed(s);
    const std::size_t first = s.find(':'), second = first == s.npos ? s.npos : s.find(':', first + 1);
    if (second == s.npos) return std::nullopt;
    const auto minutes = number(s.substr(0, first)), seconds = number(s.substr(first + 1, second - first - 1)), frames = number(s.substr(second + 1));
    return minutes && seconds && frames ? std::optional(Timecode{*minutes, *seconds, *frames}) : std::nullopt;
}

struct Sheet {
    std::optional<std::string> catalog, performer, title;
    std::string filename, file_type;
    std::vector<std::pair<std::string, std::string>> rem;
    std::vector<Track> tracks;

    void line(std::string_view rest, const std::string& folder) {
        const std::string_view keyword = word(rest);
        Track* track = tracks.empty() ? nullptr : &tracks.back();
        if (keyword == "FILE") {
            const bool quoted = rest.starts_with('"') && rest.find('"', 1) != rest.npos;
            const std::size_t end = quoted ? rest.find('"', 1) + 1 : std::min(rest.find_last_of(" \t"), rest.size());
            filename = locate_entry(folder, unquoted(rest.substr(0, end)));
            file_type = lower(trimmed(rest.substr(end)));
        } else if (keyword == "TRACK") {
            const auto position = number(word(rest));
            if (position) tracks.push_back({.position = *position, .type = lower(rest), .performer = {}, .title = {}, .album = {}, .isrc = {}, .pregap = {}, .postgap = {}, .indexes = {}});
        } else if (keyword == "INDEX" && track) {
            const auto index = number(word(rest));
            const auto at = timecode(rest);
            if (index && at) track->indexes.push_back({*index, filename, file_type, *at});
        } else if (keyword == "REM") {
            const std::string name = lower(word(rest));
            if (track && name == "album") track->album = unquoted(rest);
            else if (!track && !name.empty()) rem.insert(rem.begin(), {name, unquoted(rest)});
        } else if (keyword == "PREGAP" && track) {
            track->pregap = timecode(rest);
        } else if (keyword == "POSTGAP" && track) {
            track->postgap = timecode(rest);
        } else if (keyword == "ISRC" && track) {
            track->isrc = unquoted(rest);
        } else if (keyword == "CATALOG") {
            catalog = unquoted(rest);
        } else if (keyword == "TITLE") {
            (track ? track->title : title) = unquoted(rest);
        } else if (keyword == "PERFORMER") {
            (track ? track->performer : performer) = unquoted(rest);
        }
    }
};

Value to_value(const Timecode& t) { return Value::record({{"minutes", integer(t.minutes)}, {"seconds", integer(t.seconds)}, {"frames", integer(t.frames)}}); }

Value with_text(Value record, const char* name, const std::optional<std::string>& s) { return s ? record.with_method(name, text(*s)) : record; }
std::optional<std::string> unless_empty(const std::string& s) { return s.empty() ? std::nullopt : std::optional(s); }

Value to_value(const Track& t) {
    std::vector<Value> indexes;
    for (const Index& i : t.indexes) indexes.push_back(pair(integer(i.number), with_text(with_text(to_value(i.at), "filename", unless_empty(i.filename)), "file_type", unless_empty(i.file_type))));
    Value v = Value::record({{"position", integer(t.position)}, {"indexes", Value::list(std::move(indexes))}});
    v = with_text(with_text(with_text(v, "track_type", unless_empty(t.type)), "performer", t.performer), "title", t.title);
    v = with_text(with_text(v, "album", t.album), "isrc", t.isrc);
    if (t.pregap) v = v.with_method("pregap", to_value(*t.pregap));
    return t.postgap ? v.with_method("postgap", to_value(*t.postgap)) : v;
}

Value full(const BuiltinArgs& a) {
    std::string_view rest = a[1].as_string();
    if (rest.size() > max_playlist_bytes) raise("invalid", "The cue sheet is too large.");
    const std::string folder = optional_text(a[0]).value_or("");
    Sheet sheet;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find_first_of("\r\n"), rest.size());
        if (end > 0 && end <= max_playlist_line && sheet.tracks.size() < max_playlist_entries) sheet.line(rest.substr(0, end), folder);
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    std::vector<Value> tracks;
    for (const Track& t : sheet.tracks) tracks.push_back(to_value(t));
    Value v = Value::record({{"rem", assoc(sheet.rem)}, {"tracks", Value::list(std::move(tracks))}});
    return with_text(with_text(with_text(v, "catalog", sheet.catalog), "performer", sheet.performer), "title", sheet.title);
}

constexpr const char* gap = "{minutes : int, seconds : int, frames : int}";
const std::string sheet_type = std::string("{catalog? : string, performer? : string, title? : string, rem : [string * string], tracks : [{position : int, track_type? : string, "
                                           "performer? : string, title? : string, album? : string, isrc? : string, pregap? : ") + gap + ", postgap? : " + gap +
                               ", indexes : [int * {filename? : string, file_type? : string, minutes : int, seconds : int, frames : int}]}]}";

const Definitions definitions("Liquidsoap", {
    {"playlist.parse.cue.full", "All that a cue sheet says.", {opt("pwd", "string?", "null", "Folder that its files are looked for in."), pos("string", "Text of the sheet.")}, sheet_type.c_str(), full},
});

}  // namespace

}  // namespace castile::builtins
