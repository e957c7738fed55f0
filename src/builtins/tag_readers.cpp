// ID3 and FLAC tags of a file, read by ourselves: with what libav hides, such as pictures.

#include <algorithm>
#include <fstream>

#include "builtins/define.h"
#include "builtins/encodings.h"

namespace castile::builtins {

namespace {

constexpr std::size_t max_tag_bytes = 64u << 20;

using Tags = std::vector<std::pair<std::string, std::string>>;

constexpr std::pair<const char*, const char*> labels[] = {
    {"COMM", "comment"}, {"TALB", "album"}, {"TBPM", "bpm"}, {"TCOM", "composer"}, {"TCON", "genre"}, {"TCOP", "copyright"}, {"TDAT", "date"},
    {"TDOR", "original release time"}, {"TDRC", "recording time"}, {"TENC", "encodedby"}, {"TEXT", "lyricist"}, {"TIT1", "grouping"}, {"TIT2", "title"},
    {"TIT3", "subtitle"}, {"TKEY", "key"}, {"TLAN", "language"}, {"TLEN", "length"}, {"TMED", "media"}, {"TOAL", "originalalbum"},
    {"TOFN", "originalfilename"}, {"TOPE", "originalartist"}, {"TPOS", "discnumber"}, {"TPE1", "artist"}, {"TPE2", "albumartist"}, {"TPE3", "conductor"},
    {"TPE4", "remixer"}, {"TPUB", "label"}, {"TRCK", "tracknumber"}, {"TSOA", "albumsort"}, {"TSO2", "albumartistsort"}, {"TSOT", "titlesort"},
    {"TSRC", "isrc"}, {"TSSE", "encoder"}, {"TSST", "discsubtitle"}, {"TYER", "year"}, {"WOAR", "website"}, {"WXXX", "url"},
    // version 2.2
    {"COM", "comment"}, {"TT2", "title"}, {"TP1", "artist"}, {"TP2", "albumartist"}, {"TAL", "album"}, {"TRK", "tracknumber"}, {"TYE", "year"}, {"TCO", "genre"},
};

std::string lower_case(std::string s) {
    std::ranges::transform(s, s.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    return s;
}

std::string label_of(std::string_view frame) {
    for (const auto& [f, label] : labels)
        if (frame == f) return label;
    return lower_case(std::string(frame));
}

std::size_t size_of(std::string_view bytes, int bits) {
    std::size_t n = 0;
    for (char c : bytes) n = n << bits | static_cast<unsigned char>(c);
    return n;
}

/// A text without its terminator. Encodings: 0 ISO-8859-1, 1 UTF-16 with a mark, 2 UTF-16BE, 3 UTF-8.
std::string decoded(std::string_view s, unsigned encoding) {
    const bool wide = encoding == 1 || encoding == 2;
    if (wide) {
        while (s.size() >= 2 && s.ends_with(std::string_view("\0\0", 2))) s.remove_suffix(2);
    } else {
        s = s.substr(0, s.find_last_not_of('\0') + 1);
    }
    if (encoding == 3) return std::string(s);
    return recode(s, encoding == 0 ? "ISO-8859-1" : encoding == 1 ? "UTF-16" : "UTF-16BE", "UTF-8").value_or(std::string(s));
}

/// The part before a terminator, which is taken off with it.
std::string_view take_terminated(std::string_view& s, unsigned encoding) {
    const std::size_t width = encoding == 1 || encoding == 2 ? 2 : 1;
    for (std::size_t i = 0; i + width <= s.size(); i += width) {
        if (s.substr(i, width).find_first_not_of('\0') != s.npos) continue;
        const std::string_view taken = s.substr(0, i);
        s.remove_prefix(i + width);
        return taken;
    }
    return {};
}

void add_frame(Tags& tags, std::string_view id, std::string_view data) {
    if (data.empty() || id == "SEEK") return;
    const auto encoding = static_cast<unsigned char>(data[0]);
    if (id == "TXXX" || id == "TXX") {
        data.remove_prefix(1);
        const std::string label = decoded(take_terminated(data, encoding), encoding);
        if (!label.empty()) tags.emplace_back(label, decoded(data, encoding));
    } else if (id == "COMM" || id == "COM") {
        if (data.size() < 4) return;
        data.remove_prefix(4);   // and the language
        take_terminated(data, encoding);
        tags.emplace_back("comment", decoded(data, encoding));
    } else if (id[0] == 'T') {
        tags.emplace_back(label_of(id), decoded(data.substr(1), encoding));
    } else {
        tags.emplace_back(label_of(id), std::string(data));
    }
}

/// Each FF 00 was FF once.
std::string resynchronised(std::string_view s) {
    std::string out;
    for (std::size_t i = 0; i < s.size(); ++i) {
        out += s[i];
        if (s[i] == '\xFF' && i + 1 < s.size() && s[i + 1] == '\0') ++i;
    }
    return out;
}

/// The next bytes, as many as there are.
std::string take(std::istream& file, std::size_t size) {
    const auto here = file.tellg();
    file.seekg(0, std::ios::end);
    const auto left = file.tellg() - here;
    file.seekg(here);
    std::string bytes(std::min({size, max_tag_bytes, static_cast<std::size_t>(std::max<std::streamoff>(left, 0))}), '\0');
    file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    bytes.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
    return bytes;
}

/// Moves to the chunk that holds the tags of a WAV file; stays where it is in another.
void find_chunk(std::istream& file) {
    std::string head(12, '\0');
    if (file.read(head.data(), 12) && head.starts_with("RIFF") && head.ends_with("WAVE")) {
        while (file.read(head.data(), 8)) {
            const std::string id = head.substr(0, 4);
            if (id == "id3 " || id == "ID3 ") return;
            const std::string size(head.rend() - 8, head.rend() - 4);   // little endian
            file.seekg(static_cast<std::streamoff>(size_of(size, 8) + (size_of(size, 8) & 1)), std::ios::cur);
        }
    }
    file.clear();
    file.seekg(0);
}

Tags read_id3v2(std::istream& file) {
    Tags tags;
    find_chunk(file);
    std::string header(10, '\0');
    if (!file.read(header.data(), 10) || !header.starts_with("ID3")) return tags;
    const int version = header[3];
    const auto flags = static_cast<unsigned char>(header[5]);
    if (version < 2 || version > 4) return tags;
    std::string content = take(file, size_of(header.substr(6), 7));
    if (flags & 0x80) content = resynchronised(content);
    std::string_view rest = content;
    if (version > 2 && flags & 0x40) {   // an extended header; version 2.3 does not count the size itself
        if (rest.size() < 4) return tags;
        const std::size_t size = version == 3 ? size_of(rest.substr(0, 4), 8) + 4 : size_of(rest.substr(0, 4), 7);
        rest.remove_prefix(std::min(size, rest.size()));
    }
    const std::size_t id_size = version == 2 ? 3 : 4, head = version == 2 ? 6 : 10;
    while (rest.size() >= head && rest[0] != '\0') {
        const std::string_view id = rest.substr(0, id_size), frame_flags = version == 2 ? std::string_view("\0\0", 2) : rest.substr(8, 2);
        const std::size_t size = std::min(size_of(rest.substr(id_size, version == 2 ? 3 : 4), version == 4 ? 7 : 8), rest.size() - head);
        const bool unreadable = frame_flags[1] & (version == 3 ? 0xC0 : 0x0C);   // compressed or encrypted
        if (!unreadable) add_frame(tags, id, rest.substr(head, size));
        rest.remove_prefix(head + size);
    }
    return tags;
}

Tags read_id3v1(std::istream& file) {
    std::string tag(128, '\0');
    file.seekg(-128, std::ios::end);
    Tags tags;
    if (!file.read(tag.data(), 128) || !tag.starts_with("TAG")) return tags;
    auto add = [&](const char* label, std::size_t from, std::size_t size) {
        std::string value = tag.substr(from, size);
        value.resize(std::min(value.find('\0'), value.size()));
        value.resize(value.find_last_not_of(' ') + 1);
        if (!value.empty()) tags.emplace_back(label, decoded(value, 0));
    };
    add("title", 3, 30);
    add("artist", 33, 30);
    add("album", 63, 30);
    add("year", 93, 4);
    add("comment", 97, 30);
    const auto track = static_cast<unsigned char>(tag[126]), genre = static_cast<unsigned char>(tag[127]);
    if (tag[125] == '\0' && track) tags.emplace_back("track", std::to_string(track));
    if (genre != 255) tags.emplace_back("genre", std::to_string(genre));
    return tags;
}

/// LABEL=value, each after its length (little endian).
void add_comments(Tags& tags, std::string_view s) {
    auto take = [&](std::size_t n) {
        const std::string_view taken = s.substr(0, n);
        s.remove_prefix(std::min(n, s.size()));
        return taken;
    };
    auto number = [&] {
        std::size_t n = 0;
        const std::string_view bytes = take(4);
        for (std::size_t i = bytes.size(); i-- > 0;) n = n << 8 | static_cast<unsigned char>(bytes[i]);
        return n;
    };
    take(number());   // who wrote them
    for (std::size_t count = number(); count > 0 && !s.empty(); --count) {
        const std::string_view comment = take(number());
        const std::size_t equals = comment.find('=');
        if (equals != comment.npos) tags.emplace_back(lower_case(std::string(comment.substr(0, equals))), std::string(comment.substr(equals + 1)));
    }
}

/// The comments, and the first picture as `metadata_block_picture`.
Tags read_flac(std::istream& file) {
    enum : unsigned { comments = 4, picture = 6 };
    Tags tags;
    std::string head(4, '\0');
    if (!file.read(head.data(), 4) || head != "fLaC") return tags;
    bool pictured = false;
    for (bool last = false; !last && file.read(head.data(), 4);) {
        const auto type = static_cast<unsigned char>(head[0]) & 0x7Fu;
        last = head[0] & 0x80;
        const std::size_t size = size_of(std::string_view(head).substr(1), 8);   // below 16 MiB
        if (type != comments && (type != picture || pictured)) {
            file.seekg(static_cast<std::streamoff>(size), std::ios::cur);
            continue;
        }
        std::string block = take(file, size);
        if (block.size() < size) return tags;
        if (type == comments) add_comments(tags, block);
        else tags.emplace_back("metadata_block_picture", std::move(block));
        pictured = pictured || type == picture;
    }
    return tags;
}

constexpr const char* result = "[string * string]";

Tags read_all(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    for (auto* read : {read_id3v2, read_flac, read_id3v1}) {
        if (Tags tags = read(file); !tags.empty()) return tags;
        file.clear();
        file.seekg(0);
    }
    return {};
}

const Definitions definitions("File", {
    {"file.metadata.tags", "All that the tags of an MP3, WAV or FLAC file hold, pictures as they are: `apic` and `pic` (ID3v2), `metadata_block_picture` (FLAC).",
     {pos("string", "The file.")}, result, [](const BuiltinArgs& a) { return assoc(read_all(a[0].as_string())); }},
});

}  // namespace

}  // namespace castile::builtins
