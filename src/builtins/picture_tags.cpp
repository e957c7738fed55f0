// Pictures in tags (ID3v2's APIC and PIC, FLAC's picture block) and rendering ID3v2 tags.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/settings.h"
#include "builtins/define.h"
#include "builtins/encodings.h"
#include "lang/text.h"

namespace castile::builtins {

namespace {

// Read by the script's part of the library.
Setting<std::vector<std::string>> picture_labels{"encoder.metadata.cover", {"pic", "apic", "metadata_block_picture", "cover"}, "Labels of metadata that hold pictures."};

/// Reads from the front. Throws RuntimeError "invalid" past the end.
class Bytes {
public:
    explicit Bytes(std::string_view data) : data_(data) {}
    std::string_view take(std::size_t n) {
        if (n > data_.size()) raise("invalid", "The picture's data ends too early.");
        const std::string_view taken = data_.substr(0, n);
        data_.remove_prefix(n);
        return taken;
    }
    unsigned byte() { return static_cast<unsigned char>(take(1)[0]); }
    std::uint32_t number() {   // big endian
        std::uint32_t n = 0;
        for (char c : take(4)) n = n << 8 | static_cast<unsigned char>(c);
        return n;
    }
    /// Up to a terminator of `width` zero bytes, which is read too.
    std::string_view terminated(std::size_t width) {
        for (std::size_t i = 0; i + width <= data_.size(); i += width) {
            if (data_.substr(i, width).find_first_not_of('\0') != std::string_view::npos) continue;
            const std::string_view taken = data_.substr(0, i);
            data_.remove_prefix(i + width);
            return taken;
        }
        raise("invalid", "The picture's data ends too early.");
    }
    std::string_view rest() const { return data_; }

private:
    std::string_view data_;
};

/// ID3v2's encodings: 0 ISO-8859-1, 1 UTF-16 with a mark, 2 UTF-16BE, 3 UTF-8.
std::string description(Bytes& bytes, unsigned encoding) {
    const std::string_view s = bytes.terminated(encoding == 1 || encoding == 2 ? 2 : 1);
    static constexpr std::array names{"ISO-8859-1", "UTF-16", "UTF-16BE"};
    if (encoding >= names.size()) return std::string(s);
    return recode(s, names[encoding], "UTF-8").value_or(std::string(s));
}

Value parse_apic(const BuiltinArgs& a) {
    Bytes bytes(a[0].as_string());
    const unsigned encoding = bytes.byte();
    const std::string mime(bytes.terminated(1));
    const unsigned type = bytes.byte();
    const std::string about = description(bytes, encoding);
    return text(std::string(bytes.rest())).with_method("mime", text(mime)).with_method("picture_type", integer(type)).with_method("description", text(about));
}

Value parse_pic(const BuiltinArgs& a) {
    Bytes bytes(a[0].as_string());
    const unsigned encoding = bytes.byte();
    const std::string format(bytes.take(3));
    const unsigned type = bytes.byte();
    const std::string about = description(bytes, encoding);
    return text(std::string(bytes.rest())).with_method("format", text(format)).with_method("picture_type", integer(type)).with_method("description", text(about));
}

Value decode_flac(const BuiltinArgs& a) {
    try {
        Bytes bytes(a[0].as_string());
        const std::uint32_t type = bytes.number();
        std::string mime(bytes.take(bytes.number()));
        mime = mime.substr(0, mime.find('\0'));   // some writers pad it
        const std::string about(bytes.take(bytes.number()));
        const std::uint32_t width = bytes.number(), height = bytes.number(), depth = bytes.number(), colors = bytes.number();
        std::string data(bytes.take(bytes.number()));
        if (data.empty()) return Value::null();
        Value picture = text(std::move(data));
        picture = picture.with_method("picture_type", integer(type)).with_method("mime", text(mime.empty() ? "image/" : mime));
        picture = picture.with_method("description", text(about)).with_method("width", integer(width)).with_method("height", integer(height));
        return picture.with_method("color_depth", integer(depth)).with_method("number_of_colors", colors ? integer(colors) : Value::null());
    } catch (const RuntimeError&) {
        return Value::null();
    }
}

std::string big_endian(std::int64_t n) {
    std::string s;
    for (int shift = 24; shift >= 0; shift -= 8) s += static_cast<char>(n >> shift & 0xFF);
    return s;
}
std::string counted(const std::string& s) { return big_endian(static_cast<std::int64_t>(s.size())) + s; }

enum : unsigned { type, mime, about, width, height, depth, colors, data };

Value encode_flac(const BuiltinArgs& a) {
    std::string s = big_endian(a[type].as_int()) + counted(a[mime].as_string()) + counted(a[about].as_string());
    for (unsigned i : {width, height, depth}) s += big_endian(a[i].as_int());
    return text(s + big_endian(a[colors].is_null() ? 0 : a[colors].as_int()) + counted(a[data].as_string()));
}

/// The ID3v2 frame of a label; empty when there is none.
std::string frame_of(const std::string& label, int version) {
    static constexpr std::pair<const char*, const char*> frames[] = {
        {"title", "TIT2"}, {"artist", "TPE1"}, {"album", "TALB"}, {"comment", "COMM"}, {"bpm", "TBPM"}, {"composer", "TCOM"}, {"content", "TCON"}, {"genre", "TCON"},
        {"copyright", "TCOP"}, {"encoder", "TENC"}, {"language", "TLAN"}, {"length", "TLEN"}, {"performer", "TOPE"}, {"band", "TPE2"}, {"albumartist", "TPE2"},
        {"publisher", "TPUB"}, {"tracknumber", "TRCK"}, {"url", "WXXX"}, {"isrc", "TSRC"}};
    if (label == "date" || label == "year") return version == 3 ? (label == "date" ? "TDAT" : "TYER") : "TDRC";
    for (const auto& [l, frame] : frames)
        if (label == l) return frame;
    const bool is_text = label.size() == 4 && label[0] == 'T' && std::ranges::all_of(label, [](char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); });
    return is_text && label != "TXXX" ? label : "";
}

/// Version 2.3 has no UTF-8: what is not ASCII is UTF-16 there.
std::pair<char, std::string> encoded(const std::string& s, int version) {
    if (version == 4) return {3, s};
    if (std::ranges::all_of(s, [](char c) { return static_cast<unsigned char>(c) < 0x80; })) return {0, s};
    auto wide = recode(s, "UTF-8", "UTF-16LE");
    return wide ? std::pair<char, std::string>(1, "\xFF\xFE" + *wide) : std::pair<char, std::string>(0, s);
}

std::string size_bytes(std::size_t n, bool synchsafe) {
    const int bits = synchsafe ? 7 : 8;
    std::string s;
    for (int i = 3; i >= 0; --i) s += static_cast<char>(n >> (i * bits) & ((1u << bits) - 1));
    return s;
}

Value render_id3v2(const BuiltinArgs& a) {
    const int version = static_cast<int>(a[1].as_int());
    if (version != 3 && version != 4) raise("invalid", "The version of an ID3v2 tag is 3 or 4.");
    std::string frames;
    for (const auto& [label, value] : to_assoc(a[0])) {
        const std::string frame = frame_of(label, version);
        if (frame.empty()) continue;
        std::string body;
        if (frame == "WXXX") {
            body = std::string(2, '\0') + value;
        } else {
            const auto [encoding, content] = encoded(value, version);
            body = std::string(1, encoding);
            if (frame == "COMM") body += encoding == 1 ? std::string("eng\xFF\xFE\0\0", 7) : std::string("eng\0", 4);   // a language, no description
            body += content;
        }
        frames += frame + size_bytes(body.size(), version == 4) + std::string(2, '\0') + body;
    }
    if (frames.size() >= 1u << 28) raise("invalid", "The metadata is too large for an ID3v2 tag.");
    return text("ID3" + std::string(1, static_cast<char>(version)) + std::string(2, '\0') + size_bytes(frames.size(), true) + frames);
}

const Definitions parsers("Metadata", {
    {"string.apic.parse", "The picture of an ID3v2 APIC frame.", {pos("string", "Content of the frame.")}, "string", parse_apic,
     {{"description", "string", "What it shows."}, {"mime", "string", "MIME type."}, {"picture_type", "int", "Use of the picture; 3 is the front cover."}}},
    {"string.pic.parse", "The picture of an ID3v2.2 PIC frame.", {pos("string", "Content of the frame.")}, "string", parse_pic,
     {{"description", "string", "What it shows."}, {"format", "string", "\"JPG\", \"PNG\"..."}, {"picture_type", "int", "Use of the picture; 3 is the front cover."}}},
});

const Definitions flac("String", {
    {"file.metadata.flac.cover.decode", "The picture of a FLAC picture block (`metadata_block_picture`, out of its base 64); null when it is none.", {pos("string", "Content of the block.")},
     "string.{color_depth : int, description : string, height : int, mime : string, number_of_colors : int?, picture_type : int, width : int}?", decode_flac},
    {"file.metadata.flac.cover.encode", "A picture as a FLAC picture block.",
     {arg("picture_type", "int", "Use of the picture; 3 is the front cover."), arg("mime", "string", "MIME type."), opt("description", "string", "\"\"", "What it shows."),
      arg("width", "int", "In pixels."), arg("height", "int", "In pixels."), arg("color_depth", "int", "Bits a pixel."),
      opt("number_of_colors", "int?", "null", "Of pictures with a palette."), pos("string", "The picture's data.")}, "string", encode_flac},
    {"metadata.id3v2.render", "Metadata as an ID3v2 tag.", {pos("[string * string]", "Metadata."), opt("version", "int", "3", "3 or 4.")}, "string", render_id3v2},
});

}  // namespace

}  // namespace castile::builtins
