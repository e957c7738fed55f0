// Escaping and encoding of strings, URLs, shell words.

#include <fmt/format.h>
#include <openssl/evp.h>

#include <charconv>

#include "base/error.h"
#include "builtins/data.h"
#include "builtins/define.h"
#include "builtins/encodings.h"
#include "builtins/utf8.h"
#include "lang/text.h"

namespace castile::builtins {

std::string markup_escape(std::string_view text, std::string_view apostrophe) {
    std::string out;
    for (const char c : text) {
        switch (c) {
        case '&': out += "&amp;"; break;
        case '<': out += "&lt;"; break;
        case '>': out += "&gt;"; break;
        case '"': out += "&quot;"; break;
        case '\'': out += apostrophe; break;
        default: out += c;
        }
    }
    return out;
}

namespace {

const char* named_escape(std::string_view c) {
    if (c == "\b") return "\\b";
    if (c == "\n") return "\\n";
    if (c == "\r") return "\\r";
    if (c == "\t") return "\\t";
    if (c == "\\") return "\\\\";
    if (c == "\"") return "\\\"";
    if (c == "'") return "\\'";
    return nullptr;
}

bool special(std::string_view c, bool utf8) {
    if (named_escape(c)) return true;
    auto b = static_cast<unsigned char>(c[0]);
    return c.size() == 1 && (b < 0x20 || b == 0x7F || (!utf8 && b > 0x7E));
}

std::string unicode_escape(std::string_view c) {
    char32_t code = code_point(c);
    if (code < 0x10000) return fmt::format("\\u{:04X}", static_cast<unsigned>(code));
    code -= 0x10000;
    return fmt::format("\\u{:04X}\\u{:04X}", 0xD800 + static_cast<unsigned>(code >> 10), 0xDC00 + static_cast<unsigned>(code & 0x3FF));
}

std::string escape_default(std::string_view c, bool utf8) {
    if (const char* named = named_escape(c)) return named;
    return utf8 ? unicode_escape(c) : fmt::format("\\x{:02X}", static_cast<unsigned char>(c[0]));
}

std::string escape(const BuiltinArgs& a) {
    const std::string& s = a[3].as_string();
    bool utf8 = lang::valid_utf8(s);
    if (auto wanted = optional_text(a[2])) {
        if (*wanted == "ascii") utf8 = false;
        else if (*wanted != "utf8") raise("invalid", "The encoding should be \"ascii\" or \"utf8\".");
        else if (!utf8) raise("string", "Error while escaping utf8 string.");
    }
    Value name = text(utf8 ? "utf8" : "ascii");
    auto ask = [&](const Value& f, std::string_view c) {
        CallArgument arguments[] = {{"encoding", name}, {"", text(std::string(c))}};
        return f.call(arguments);
    };
    std::string out;
    for (std::string_view c : characters(s, utf8, true)) {
        if (!(a[0].is_null() ? special(c, utf8) : ask(a[0], c).as_bool())) out += c;
        else out += a[1].is_null() ? escape_default(c, utf8) : ask(a[1], c).as_string();
    }
    return out;
}

std::string escape_all(const std::string& format, const std::string& s) {
    std::string out;
    bool utf8 = format == "utf8";
    if (!utf8 && format != "octal" && format != "hex") raise("invalid", "The format should be \"octal\", \"hex\" or \"utf8\".");
    for (std::string_view c : characters(s, utf8, false)) {
        if (const char* named = named_escape(c)) out += named;
        else if (utf8) out += unicode_escape(c);
        else out += fmt::format(fmt::runtime(format == "hex" ? "\\x{:02X}" : "\\{:03o}"), static_cast<unsigned char>(c[0]));
    }
    return out;
}

std::optional<unsigned> digits(std::string_view s, std::size_t at, std::size_t count, int base) {
    if (at + count > s.size()) return std::nullopt;
    unsigned n = 0;
    auto [p, e] = std::from_chars(s.data() + at, s.data() + at + count, n, base);
    return e == std::errc() && p == s.data() + at + count ? std::optional(n) : std::nullopt;
}

const BuiltinParam encoding = opt("encoding", "string?", "null", "\"utf8\" or \"ascii\"; null: whichever fits.");
constexpr const char* character_test = "((encoding : string, string) -> bool)?";
constexpr const char* character_map = "((encoding : string, string) -> string)?";

const Definitions definitions("String", {
    {"string.escape", "Escape special characters, as in JSON.",
     {opt("special_char", character_test, "null", "Should a character be escaped?"), opt("escape_char", character_map, "null", "How a character is escaped."), encoding, pos("string")},
     "string", [](const BuiltinArgs& a) { return text(escape(a)); }},
    {"string.escape.all", "Escape every character.", {opt("format", "string", "\"utf8\"", "\"octal\", \"hex\" or \"utf8\"."), pos("string")}, "string",
     [](const BuiltinArgs& a) { return text(escape_all(a[0].as_string(), a[1].as_string())); }},
    {"string.escape.special_char", "Is it a character that `string.escape` escapes?", {opt("encoding", "string", "\"utf8\"", "\"utf8\" or \"ascii\"."), pos("string")}, "bool",
     [](const BuiltinArgs& a) { return boolean(!a[1].as_string().empty() && special(a[1].as_string(), a[0].as_string() == "utf8")); }},
    {"string.escape.html", "Escape what HTML reads as markup.", {encoding, pos("string")}, "string", [](const BuiltinArgs& a) { return text(markup_escape(a[1].as_string())); }},
    {"string.unescape", "The inverse of `string.escape`.", {pos("string")}, "string", [](const BuiltinArgs& a) { return text(unescape(a[0].as_string())); }},
    {"string.quote", "Between quotes, with special characters escaped.", {encoding, pos("string")}, "string", [](const BuiltinArgs& a) {
        if (a[0].is_null()) return text(lang::quote_text(a[1].as_string()));
        std::string out = "\"";
        bool utf8 = a[0].as_string() == "utf8";
        if (!utf8 && a[0].as_string() != "ascii") raise("invalid", "The encoding should be \"ascii\" or \"utf8\".");
        if (utf8 && !lang::valid_utf8(a[1].as_string())) raise("string", "Error while escaping utf8 string.");
        for (std::string_view c : characters(a[1].as_string(), utf8, true)) out += c != "'" && special(c, utf8) ? escape_default(c, utf8) : std::string(c);
        return text(out + "\""); }},
    {"string.unquote", "The inverse of `string.quote`: what a text in quotes says, with JSON's escapes; another one is left as it is.", {pos("string")}, "string", [](const BuiltinArgs& a) {
        try {
            const Data data = read_json(a[0].as_string());
            return data.as<std::string>() ? text(*data.as<std::string>()) : a[0];
        } catch (const Error&) {
            return a[0];
        } }},
    {"string.base64.encode", "In base 64.", {pos("string")}, "string", [](const BuiltinArgs& a) { return text(base64_encode(a[0].as_string())); }},
    {"string.base64.decode", "Decode base 64.", {pos("string")}, "string", [](const BuiltinArgs& a) {
        auto s = base64_decode(a[0].as_string());
        if (!s) raise("invalid", "Invalid base64 string!");
        return text(std::move(*s)); }},
    {"base64.encode", "In base 64.", {pos("string")}, "string", [](const BuiltinArgs& a) { return text(base64_encode(a[0].as_string())); }, {}, "Use `string.base64.encode` instead."},
    {"base64.decode", "Decode base 64.", {pos("string")}, "string", [](const BuiltinArgs& a) {
        auto s = base64_decode(a[0].as_string());
        if (!s) raise("invalid", "Invalid base64 string!");
        return text(std::move(*s)); }, {}, "Use `string.base64.decode` instead."},
    {"string.digest", "MD5 digest, in hexadecimal.", {pos("string")}, "string", [](const BuiltinArgs& a) { return text(md5(a[0].as_string())); }},
    {"string.data_uri.encode", "As a data: URI.", {opt("base64", "bool", "true", "Encode in base 64?"), arg("mime", "string", "MIME type."), pos("string")}, "string",
     [](const BuiltinArgs& a) {
        std::string data = a[0].as_bool() ? ";base64," + base64_encode(a[2].as_string()) : "," + a[2].as_string();
        return text("data:" + a[1].as_string() + data); }},
    {"string.data_uri.decode", "The data of a data: URI, with its MIME type; null when it is none.", {pos("string")}, "string.{mime : string}?", [](const BuiltinArgs& a) {
        std::string_view s = a[0].as_string();
        std::size_t comma = s.find(',');
        if (!s.starts_with("data:") || comma == s.npos) return Value::null();
        std::string_view type = s.substr(5, comma - 5), data = s.substr(comma + 1);
        bool base64 = type.ends_with(";base64");
        if (base64) type.remove_suffix(7);
        auto decoded = base64 ? base64_decode(data) : std::optional(std::string(data));
        if (!decoded) return Value::null();
        return text(std::move(*decoded)).with_method("mime", text(std::string(type.empty() ? "text/plain" : type))); }},
    {"url.encode", "Encode for a URL.", {opt("plus", "bool", "true", "Write spaces as +?"), pos("string")}, "string", [](const BuiltinArgs& a) {
        return text(url_encode(a[1].as_string(), a[0].as_bool())); }},
    {"url.decode", "Decode a part of a URL.", {opt("plus", "bool", "true", "Read + as a space?"), pos("string")}, "string", [](const BuiltinArgs& a) {
        return text(url_decode(a[1].as_string(), a[0].as_bool())); }},
    {"url.split_args", "The arguments of a query: a=1&b=2.", {pos("string")}, "[string * string]", [](const BuiltinArgs& a) { return assoc(query_arguments(a[0].as_string())); }},
    {"url.split", "A URL without its query, and the arguments of the query.", {pos("string")}, "string * [string * string]", [](const BuiltinArgs& a) {
        const std::string& s = a[0].as_string();
        std::size_t mark = s.find('?');
        if (mark == s.npos) return pair(a[0], Value::list({}));
        return pair(text(s.substr(0, mark)), assoc(query_arguments(s.substr(mark + 1)))); }},
    {"http.www_form_urlencoded", "Values of a form as the body of a request.", {pos("[string * string]")}, "string", [](const BuiltinArgs& a) {
        std::string out;
        for (const auto& [k, v] : to_assoc(a[0])) out += (out.empty() ? "" : "&") + url_encode(k, true) + "=" + url_encode(v, true);
        return text(out); }},
});

}  // namespace

std::string unescape(std::string_view s) {
    std::string out;
    for (std::size_t i = 0; i < s.size(); ++i) {
        if (s[i] != '\\' || i + 1 >= s.size()) {
            out += s[i];
            continue;
        }
        char c = s[++i];
        switch (c) {
        case 'a': out += '\a'; continue;
        case 'b': out += '\b'; continue;
        case 'e': out += '\x1b'; continue;
        case 'f': out += '\f'; continue;
        case 'n': out += '\n'; continue;
        case 'r': out += '\r'; continue;
        case 't': out += '\t'; continue;
        case 'v': out += '\v'; continue;
        case '\\': case '"': case '\'': case '?': case '/': out += c; continue;
        default: break;
        }
        if (auto hex = digits(s, i + 1, 2, 16); c == 'x' && hex) {
            out += static_cast<char>(*hex);
            i += 2;
        } else if (auto code = digits(s, i + 1, 4, 16); c == 'u' && code) {
            i += 4;
            auto low = *code >= 0xD800 && *code < 0xDC00 && s.substr(i + 1).starts_with("\\u") ? digits(s, i + 3, 4, 16) : std::nullopt;
            if (low && *low >= 0xDC00 && *low < 0xE000) {
                out += encode_utf8(0x10000 + ((*code - 0xD800) << 10) + (*low - 0xDC00));
                i += 6;
            } else {
                out += encode_utf8(*code);
            }
        } else if (auto octal = digits(s, i, 3, 8); octal && *octal < 256) {
            out += static_cast<char>(*octal);
            i += 2;
        } else {
            out += '\\';
            out += c;
        }
    }
    return out;
}

std::string base64_encode(std::string_view s) {
    std::string out((s.size() + 2) / 3 * 4, '\0');
    EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()), reinterpret_cast<const unsigned char*>(s.data()), static_cast<int>(s.size()));
    return out;
}

std::optional<std::string> base64_decode(std::string_view s) {
    auto value = [](char c) {
        if (c >= 'A' && c <= 'Z') return c - 'A';
        if (c >= 'a' && c <= 'z') return c - 'a' + 26;
        if (c >= '0' && c <= '9') return c - '0' + 52;
        if (c == '+' || c == '-') return 62;
        if (c == '/' || c == '_') return 63;
        return -1;
    };
    std::string out;
    std::uint32_t pending = 0;
    int count = 0;
    for (char c : s) {
        if (c == '=') break;
        if (c == '\n' || c == '\r' || c == ' ') continue;
        int v = value(c);
        if (v < 0) return std::nullopt;
        pending = pending << 6 | static_cast<std::uint32_t>(v);
        if ((count += 6) >= 8) out += static_cast<char>(pending >> (count -= 8) & 0xFF);
    }
    return out;
}

std::string md5(std::string_view s) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned length = 0;
    EVP_Digest(s.data(), s.size(), digest, &length, EVP_md5(), nullptr);
    std::string out;
    for (unsigned i = 0; i < length; ++i) out += fmt::format("{:02x}", digest[i]);
    return out;
}

std::string url_encode(std::string_view s, bool plus) {
    std::string out;
    for (char c : s) {
        if (std::isalnum(static_cast<unsigned char>(c)) || std::string_view("-_.~").contains(c)) out += c;
        else if (c == ' ' && plus) out += '+';
        else out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
    return out;
}

std::string url_decode(std::string_view s, bool plus) {
    std::string out;
    for (std::size_t i = 0; i < s.size(); ++i) {
        auto hex = s[i] == '%' ? digits(s, i + 1, 2, 16) : std::nullopt;
        if (hex) {
            out += static_cast<char>(*hex);
            i += 2;
        } else {
            out += s[i] == '+' && plus ? ' ' : s[i];
        }
    }
    return out;
}

std::vector<std::pair<std::string, std::string>> query_arguments(std::string_view query) {
    std::vector<std::pair<std::string, std::string>> out;
    while (!query.empty()) {
        std::size_t end = std::min(query.find('&'), query.size());
        std::string_view one = query.substr(0, end);
        query.remove_prefix(std::min(end + 1, query.size()));
        if (one.empty()) continue;
        std::size_t equals = one.find('=');
        std::string_view value = equals == one.npos ? std::string_view() : one.substr(equals + 1);
        out.emplace_back(url_decode(one.substr(0, equals), true), url_decode(value, true));
    }
    return out;
}

}  // namespace castile::builtins
