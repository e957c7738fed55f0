// Tags of files: all that can be read, or those of one kind of file.

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string_view>

#include "builtins/define.h"
#include "builtins/paths.h"
#include "codec/decoder.h"

namespace castile::builtins {

namespace {

/// What a file begins and ends with.
struct Look {
    std::string head, tail;   // 64 KiB and 128 bytes at most

    explicit Look(const std::string& path) {
        std::ifstream in(path, std::ios::binary);
        head.resize(65536);
        in.read(head.data(), static_cast<std::streamsize>(head.size()));
        head.resize(static_cast<std::size_t>(in.gcount()));
        in.clear();
        in.seekg(-128, std::ios::end);
        tail.resize(128);
        in.read(tail.data(), 128);
        tail.resize(static_cast<std::size_t>(in.gcount()));
    }
    bool begins(std::string_view s, std::size_t at = 0) const { return std::string_view(head).substr(std::min(at, head.size())).starts_with(s); }
    std::uint32_t number(std::size_t at, std::size_t bytes) const {
        std::uint32_t n = 0;
        for (std::size_t i = 0; i < bytes && at + i < head.size(); ++i) n = n << 8 | static_cast<unsigned char>(head[at + i]);
        return n;
    }
};

bool is_riff(const Look& f) { return f.begins("RIFF") && f.begins("WAVE", 8); }
bool has_id3v2(const Look& f) { return f.begins("ID3") || is_riff(f); }
bool has_id3v1(const Look& f) { return f.tail.starts_with("TAG"); }
bool is_flac(const Look& f) { return f.begins("fLaC"); }
bool is_ogg(const Look& f) { return f.begins("OggS"); }
bool is_mp4(const Look& f) { return f.begins("ftyp", 4); }
bool is_video(const Look& f) { return is_mp4(f) || f.begins("AVI ", 8); }

Value tags_if(const BuiltinArgs& a, bool (*fits)(const Look&)) {
    const std::string path = expanded(a[0].as_string());
    return fits(Look(path)) ? assoc(read_file_metadata(path).entries()) : Value::list({});
}

/// Width and height of a PNG or JPEG picture.
Value picture_size(const BuiltinArgs& a) {
    const Look f(expanded(a[0].as_string()));
    std::uint32_t width = 0, height = 0;
    if (f.begins("\x89PNG\r\n\x1a\n")) {
        width = f.number(16, 4);
        height = f.number(20, 4);
    } else if (f.begins("\xff\xd8")) {
        for (std::size_t at = 2; at + 9 < f.head.size();) {
            const std::uint32_t marker = f.number(at, 2);
            if (marker < 0xff00) break;
            const bool frame = marker >= 0xffc0 && marker <= 0xffcf && marker != 0xffc4 && marker != 0xffc8 && marker != 0xffcc;
            if (frame) {
                height = f.number(at + 5, 2);
                width = f.number(at + 7, 2);
                break;
            }
            at += 2 + std::max<std::uint32_t>(2, f.number(at + 2, 2));
        }
    }
    if (width == 0 || height == 0) return Value::list({});
    return assoc({{"width", std::to_string(width)}, {"height", std::to_string(height)}});
}

Value all_tags(const BuiltinArgs& a) { return assoc(read_file_metadata(expanded(a[0].as_string())).entries()); }

const std::vector<BuiltinParam> path{pos("string", "The file.")};

const Definitions definitions("File", {
    {"file.metadata", "The tags of a media file.", {pos("string", "The file."), opt("exclude", "[string]", "[]", "Readers not to use: with \"ffmpeg\" there is none left.")}, "[string * string]",
     [](const BuiltinArgs& a) {
        for (const Value& name : a[1].elements())
            if (name.as_string() == "ffmpeg") return Value::list({});
        return all_tags(a); }},
    {"file.metadata.ffmpeg", "The tags of a media file.", path, "[string * string]", all_tags},
    {"file.metadata.native", "The tags of a media file.", path, "[string * string]", all_tags},
    {"file.metadata.id3", "The ID3 tags of a file.", path, "[string * string]",
     [](const BuiltinArgs& a) { return tags_if(a, [](const Look& f) { return has_id3v2(f) || has_id3v1(f); }); }},
    {"file.metadata.id3v1", "The ID3 tags of a file that has ones of version 1.", path, "[string * string]", [](const BuiltinArgs& a) { return tags_if(a, has_id3v1); }},
    {"file.metadata.id3v2", "The ID3 tags of a file that has ones of version 2.", path, "[string * string]", [](const BuiltinArgs& a) { return tags_if(a, has_id3v2); }},
    {"file.metadata.flac", "The tags of a FLAC file.", path, "[string * string]", [](const BuiltinArgs& a) { return tags_if(a, is_flac); }},
    {"file.metadata.flac_native", "The tags of a FLAC file.", path, "[string * string]", [](const BuiltinArgs& a) { return tags_if(a, is_flac); }},
    {"file.metadata.ogg", "The tags of an Ogg file.", path, "[string * string]", [](const BuiltinArgs& a) { return tags_if(a, is_ogg); }},
    {"file.metadata.ogg_native", "The tags of an Ogg file.", path, "[string * string]", [](const BuiltinArgs& a) { return tags_if(a, is_ogg); }},
    {"file.metadata.mp4", "The tags of an MP4 file.", path, "[string * string]", [](const BuiltinArgs& a) { return tags_if(a, is_mp4); }},
    {"file.metadata.video-metadata", "The tags of a video.", path, "[string * string]", [](const BuiltinArgs& a) { return tags_if(a, is_video); }},
    {"file.metadata.image", "Width and height of a PNG or JPEG picture.", path, "[string * string]", picture_size},
});

}  // namespace

}  // namespace castile::builtins
