// Characters of UTF-8 text.

#include "builtins/utf8.h"

#include "lang/text.h"
#include "lang/value.h"

namespace castile::builtins {

std::vector<std::string_view> characters(std::string_view text, bool utf8, bool strict) {
    if (utf8 && !lang::valid_utf8(text)) {
        if (strict) throw lang::RuntimeError("invalid", "The string is not in UTF-8.");
        utf8 = false;
    }
    std::vector<std::string_view> out;
    for (std::size_t i = 0; i < text.size();) {
        auto c = static_cast<unsigned char>(text[i]);
        std::size_t n = !utf8 || c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
        out.push_back(text.substr(i, n));
        i += n;
    }
    return out;
}

char32_t code_point(std::string_view s) {
    auto byte = [&](std::size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(s[i])); };
    switch (s.size()) {
    case 2: return (byte(0) & 0x1F) << 6 | (byte(1) & 0x3F);
    case 3: return (byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
    case 4: return (byte(0) & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F);
    default: return s.empty() ? 0 : byte(0);
    }
}

std::string encode_utf8(char32_t c) {
    std::string s;
    auto put = [&](char32_t b) { s += static_cast<char>(b); };
    if (c < 0x80) put(c);
    else if (c < 0x800) put(0xC0 | c >> 6), put(0x80 | (c & 0x3F));
    else if (c < 0x10000) put(0xE0 | c >> 12), put(0x80 | (c >> 6 & 0x3F)), put(0x80 | (c & 0x3F));
    else put(0xF0 | c >> 18), put(0x80 | (c >> 12 & 0x3F)), put(0x80 | (c >> 6 & 0x3F)), put(0x80 | (c & 0x3F));
    return s;
}

}  // namespace castile::builtins
