#include "request/playlist.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <mutex>
#include <optional>

#include <fmt/format.h>

#include "base/log.h"
#include "base/settings.h"
#include "request/annotate.h"
#include "request/protocol.h"

namespace castile {

namespace {

Setting<std::string> cue_in_label("playlist.cue_in_metadata", "liq_cue_in", "Label for the start of an entry of a cue sheet.");
Setting<std::string> index_zero_label("playlist.cue.index_zero_metadata", "liq_index_zero", "Label for index 0 of a cue sheet's track.");
Setting<std::string> index_zero_file_label("playlist.cue.index_zero_filename_metadata", "liq_index_zero_filename", "Label for the file of index 0 of a cue sheet's track.");
Setting<std::string> pregap_label("playlist.cue.pregap_metadata", "liq_pregap", "Label for the silence before a cue sheet's track.");
Setting<std::string> postgap_label("playlist.cue.postgap_metadata", "liq_postgap", "Label for the silence after a cue sheet's track.");
Setting<std::string> cue_out_label("playlist.cue_out_metadata", "liq_cue_out", "Label for the end of an entry of a cue sheet.");

std::string_view trimmed(std::string_view text) {
    const auto space = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\v' || c == '\f'; };
    while (!text.empty() && space(text.front())) text.remove_prefix(1);
    while (!text.empty() && space(text.back())) text.remove_suffix(1);
    return text;
}

std::string lower_case(std::string_view text) {
    std::string lower(text);
    std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return lower;
}

bool begins_with(std::string_view text, std::string_view lower_case_prefix) {
    return text.size() >= lower_case_prefix.size() && lower_case(text.substr(0, lower_case_prefix.size())) == lower_case_prefix;
}

// The non-empty lines, CR, LF or both between them; over-long ones are left out.
template <class F> void each_line(std::string_view text, F f) {
    while (!text.empty()) {
        const std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
        const std::string_view line = text.substr(0, end);
        if (!line.empty() && line.size() <= max_playlist_line && !f(line)) return;
        text.remove_prefix(std::min(end + 1, text.size()));
    }
}

bool is_url(std::string_view uri) { return begins_with(uri, "http://") || begins_with(uri, "https://"); }

// A relative entry is first looked for beside the list; one that is not there is left as it is.
std::string located(const std::string& base, std::string_view entry) {
    std::string uri(entry);
    if (base.empty() || entry.empty() || entry.front() == '/' || entry.front() == '~') return uri;
    if (is_url(base)) return split_uri(entry) ? uri : base + uri;
    const std::string beside = base + (base.ends_with('/') ? "" : "/") + uri;
    return access(beside.c_str(), F_OK) == 0 ? beside : uri;
}

// "Artist - Title"; a lone hyphen will do when there is no other.
void add_title(std::vector<Metadata::Entry>& metadata, std::string_view song) {
    song = trimmed(song);
    if (song.empty()) return;
    std::size_t at = song.find(" - "), width = 3;
    if (at == std::string_view::npos || song.find(" - ", at + 3) != std::string_view::npos) {
        if (at == std::string_view::npos) at = song.find('-'), width = 1;
        if (at != std::string_view::npos && song.find('-', at + width) != std::string_view::npos) at = std::string_view::npos;
    }
    const std::string_view artist = at == std::string_view::npos ? "" : trimmed(song.substr(0, at));
    const std::string_view title = at == std::string_view::npos ? song : trimmed(song.substr(at + width));
    if (artist.empty() || title.empty()) {
        metadata.emplace_back("song", utf8_or_latin1(artist.empty() ? title : song));
        return;
    }
    metadata.emplace_back("artist", utf8_or_latin1(artist));
    metadata.emplace_back("title", utf8_or_latin1(title));
}

// After "#EXTINF:": "123,Artist - Title", "123 key="value",Artist - Title", "-1,Title".
std::vector<Metadata::Entry> parse_extinf(std::string_view text) {
    std::vector<Metadata::Entry> metadata;
    text = trimmed(text);
    std::size_t digits = 0;
    while (digits < text.size() && (std::isdigit(static_cast<unsigned char>(text[digits])) || text[digits] == '.')) ++digits;
    if (digits > 0) metadata.emplace_back("extinf_duration", std::string(text.substr(0, digits)));
    if (digits == 0 && text.starts_with('-'))
        for (digits = 1; digits < text.size() && std::isdigit(static_cast<unsigned char>(text[digits]));) ++digits;
    text = trimmed(text.substr(digits));
    if (!text.starts_with(',')) {
        for (Metadata::Entry& entry : parse_annotation_list(text)) metadata.push_back(std::move(entry));
        text = trimmed(text);
    }
    if (text.starts_with(',')) text.remove_prefix(1);
    add_title(metadata, text);
    return metadata;
}

std::string_view without_byte_order_mark(std::string_view text) {
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
    return text;
}

}  // namespace

Playlist parse_m3u(std::string_view text, const std::string& base) {
    Playlist list;
    std::vector<Metadata::Entry> metadata;
    each_line(without_byte_order_mark(text), [&](std::string_view line) {
        if (begins_with(line, "#extinf:")) {
            metadata = parse_extinf(line.substr(8));
        } else if (!line.starts_with('#') && !trimmed(line).empty()) {
            list.push_back({std::exchange(metadata, {}), located(base, line)});
        }
        return list.size() < max_playlist_entries;
    });
    return list;
}

Playlist parse_pls(std::string_view text, const std::string& base) {
    Playlist list;
    each_line(without_byte_order_mark(text), [&](std::string_view line) {
        line = trimmed(line);
        if (!begins_with(line, "file")) return true;
        std::size_t at = 4;
        while (at < line.size() && std::isdigit(static_cast<unsigned char>(line[at]))) ++at;
        std::string_view value = trimmed(line.substr(at));
        if (!value.starts_with('=')) return true;
        value = trimmed(value.substr(1));
        if (!value.empty()) list.push_back({{}, located(base, value)});
        return list.size() < max_playlist_entries;
    });
    return list;
}

namespace {

std::string unquoted(std::string_view text) {
    text = trimmed(text);
    if (text.size() >= 2 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
    return utf8_or_latin1(text);
}

// "mm:ss:ff", 75 frames a second.
std::optional<double> time_code(std::string_view text) {
    std::array<unsigned, 3> parts{};
    const char* at = text.data();
    const char* const end = text.data() + text.size();
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const auto [next, error] = std::from_chars(at, end, parts[i]);
        if (error != std::errc() || (i < 2 && (next == end || *next != ':'))) return std::nullopt;
        at = next + (i < 2);
    }
    return parts[0] * 60. + parts[1] + parts[2] / 75.;
}

/// As scripts print a float.
std::string seconds_text(double seconds) {
    std::string text = fmt::format("{:.12g}", seconds);
    return text.find_first_not_of("0123456789") == std::string::npos ? text + ".0" : text;
}

constexpr std::size_t most_remarks = 100;

struct CueTrack {
    std::string number, file, title, album, isrc;
    std::optional<std::string> performer;        // may be told to be nobody
    std::string gap_file;                        // of index 0
    std::optional<double> gap_start, start;      // indexes 0 and 1
    std::optional<double> before, after;         // silence to be played
};

struct CueSheet {
    std::string title, performer, catalog, file;
    std::vector<Metadata::Entry> remarks;   // newest first
    std::vector<CueTrack> tracks;

    void read(std::string_view line, const std::string& base) {
        line = trimmed(line);
        const std::size_t space = std::min(line.find_first_of(" \t"), line.size());
        const std::string word = lower_case(line.substr(0, space));
        const std::string_view rest = trimmed(line.substr(space));
        CueTrack* track = tracks.empty() ? nullptr : &tracks.back();
        if (word == "file") {
            file = located(base, file_name(rest));
        } else if (word == "track") {
            if (tracks.size() < max_playlist_entries) tracks.push_back({.number = std::string(rest.substr(0, rest.find(' '))), .file = file});
        } else if (word == "title") {
            (track ? track->title : title) = unquoted(rest);
        } else if (word == "performer") {
            if (track) track->performer = unquoted(rest);
            else performer = unquoted(rest);
        } else if (word == "isrc" && track) {
            track->isrc = unquoted(rest);
        } else if (word == "catalog") {
            catalog = unquoted(rest);
        } else if (word == "rem") {
            const std::size_t gap = rest.find(' ');
            if (gap == rest.npos) return;
            const std::string label = lower_case(rest.substr(0, gap));
            if (track && label == "album") track->album = unquoted(rest.substr(gap));
            if (track || remarks.size() == most_remarks) return;
            remarks.emplace(remarks.begin(), label == "date" ? "year" : label, unquoted(rest.substr(gap)));
        } else if (word == "pregap" && track) {
            track->before = time_code(rest);
        } else if (word == "postgap" && track) {
            track->after = time_code(rest);
        } else if (word == "index" && track) {
            index(*track, rest);
        }
    }

    void index(CueTrack& track, std::string_view rest) {
        const std::size_t space = rest.find(' ');
        if (space == std::string_view::npos) return;
        const auto at = time_code(trimmed(rest.substr(space)));
        unsigned number = 99;
        std::from_chars(rest.data(), rest.data() + space, number);
        if (number == 0) {
            track.gap_start = at;
            track.gap_file = file;
        }
        if (number == 1) {
            track.start = at;
            track.file = file;  // a FILE line may come between the indexes
        }
    }

    // `"name with spaces" WAVE`, or `name TYPE`.
    static std::string file_name(std::string_view rest) {
        if (rest.starts_with('"')) return std::string(rest.substr(1, std::min(rest.find('"', 1), rest.size()) - 1));
        const std::size_t space = rest.rfind(' ');
        return std::string(trimmed(rest.substr(0, space)));
    }
};

}  // namespace

Playlist parse_cue_sheet(std::string_view text, const std::string& base) {
    CueSheet sheet;
    each_line(without_byte_order_mark(text), [&](std::string_view line) {
        sheet.read(line, base);
        return true;
    });
    Playlist list;
    for (std::size_t i = 0; i < sheet.tracks.size(); ++i) {
        const CueTrack& track = sheet.tracks[i];
        if (track.file.empty() || !track.start) continue;
        PlaylistEntry entry{{}, track.file};
        const auto add = [&](const char* label, const std::string& value) {
            if (!value.empty()) entry.metadata.emplace_back(label, value);
        };
        if (*track.start > 0) entry.metadata.emplace_back(cue_in_label.get(), seconds_text(*track.start));
        if (i + 1 < sheet.tracks.size() && sheet.tracks[i + 1].file == track.file) {
            const CueTrack& next = sheet.tracks[i + 1];
            if (const auto end = next.gap_start ? next.gap_start : next.start; end && *end > *track.start)
                entry.metadata.emplace_back(cue_out_label.get(), seconds_text(*end));
        }
        const std::size_t digits = track.number.find_first_not_of('0');   // "02" is track 2
        add("album", track.album.empty() ? sheet.title : track.album);
        add("catalog", sheet.catalog);
        add("isrc", track.isrc);
        add("title", track.title);
        add("albumartist", sheet.performer);
        if (track.performer) entry.metadata.emplace_back("artist", *track.performer);
        else add("artist", sheet.performer);
        add("tracknumber", digits == std::string::npos ? track.number : track.number.substr(digits));
        const auto add_time = [&](const Setting<std::string>& label, const std::optional<double>& time) {
            if (time) entry.metadata.emplace_back(label.get(), seconds_text(*time));
        };
        add_time(pregap_label, track.before);
        add_time(postgap_label, track.after);
        if (track.gap_start) entry.metadata.emplace_back(index_zero_file_label.get(), track.gap_file);
        add_time(index_zero_label, track.gap_start);
        for (const auto& [label, value] : sheet.remarks) add(label.c_str(), value);
        list.push_back(std::move(entry));
    }
    return list;
}

namespace {

struct Parsers {
    std::mutex list_mutex;
    std::vector<PlaylistParser> list;
};

Parsers& parsers() {
    static Parsers* parsers = new Parsers;  // outlives every static
    return *parsers;
}

/// What the script's parsers make of a text: those of its kind, or, when that is unknown, the strict (or the other) ones.
Playlist parse_by_script(std::string_view text, const std::string& mime, const std::string& base, bool strict) {
    std::vector<PlaylistParser> list;
    {
        std::lock_guard lock(parsers().list_mutex);
        list = parsers().list;
    }
    for (const PlaylistParser& parser : list) {
        if (mime.empty() ? parser.strict != strict : std::ranges::find(parser.mimes, mime) == parser.mimes.end()) continue;
        try {
            if (Playlist found = parser.parse(text, base); !found.empty()) return found;
        } catch (const std::exception& error) {
            static const Logger log("playlist");
            log.important("The parser of {} failed: {}", parser.name, error.what());
        }
    }
    return {};
}

}  // namespace

void add_playlist_parser(PlaylistParser parser) {
    std::lock_guard lock(parsers().list_mutex);
    std::erase_if(parsers().list, [&](const PlaylistParser& other) { return other.name == parser.name; });
    parsers().list.push_back(std::move(parser));
}

std::string locate_entry(const std::string& base, std::string_view entry) { return located(base, entry); }

std::expected<Playlist, Failure> parse_playlist(std::string_view text, const std::string& mime, const std::string& base) {
    if (text.size() > max_playlist_bytes)
        return std::unexpected(Failure{Failure::Kind::invalid, fmt::format("The playlist is larger than {} MB.", max_playlist_bytes >> 20)});
    if (text.find('\0') != std::string_view::npos)
        return std::unexpected(Failure{Failure::Kind::unsupported, "This is not a playlist: it holds binary data."});
    if (Playlist list = parse_by_script(text, mime, base, true); !list.empty()) return list;
    const std::string_view start = trimmed(without_byte_order_mark(text).substr(0, 4096));
    if (mime == "audio/x-scpls" || (mime.empty() && begins_with(start, "[playlist]"))) return parse_pls(text, base);
    if (mime == "application/x-cue") return parse_cue_sheet(text, base);
    if (mime.find("xml") != std::string::npos || mime.find("asf") != std::string::npos || mime.find("asx") != std::string::npos ||
        mime.find("smil") != std::string::npos)
        return parse_xml_playlist(text, base);
    if (mime.empty() && start.starts_with('<'))
        if (Playlist list = parse_xml_playlist(text, base); !list.empty()) return list;
    if (mime.empty() && text.find("FILE ") != std::string_view::npos && text.find("TRACK ") != std::string_view::npos)
        if (Playlist list = parse_cue_sheet(text, base); !list.empty()) return list;
    if (Playlist list = parse_m3u(text, base); !list.empty() || !mime.empty()) return list;
    return parse_by_script(text, mime, base, false);
}

}  // namespace castile
