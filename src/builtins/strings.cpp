// Strings: parts, cases, searches.

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <mutex>
#include <random>

#include "base/settings.h"
#include "builtins/define.h"
#include "builtins/numbers.h"
#include "builtins/utf8.h"
#include "lang/limits.h"
#include "lang/text.h"

namespace castile::builtins {

namespace {

Setting<std::string> default_encoding{"string.default_encoding", "utf8", "How `string.length`, `string.chars` and `string.sub` split strings: \"utf8\" or \"ascii\"."};
Setting<int> longest_printable{"string.max_printable_length", 4096, "Strings longer than this (in bytes) are binary data for `string(print_binary=false, s)`."};

bool is_utf8(const Value& encoding) {
    const std::string name = encoding.is_null() ? default_encoding.get() : encoding.as_string();
    if (name == "utf8") return true;
    if (name == "ascii") return false;
    raise("invalid", "The encoding should be \"utf8\" or \"ascii\".");
}

std::string cased(std::string s, bool lower) {
    for (char& c : s) {
        if (lower && c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
        else if (!lower && c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
    }
    return s;
}

std::string capitalized(std::string s, bool upper, bool each_word) {
    bool first = true;
    for (char& c : s) {
        if (first) c = cased(std::string(1, c), !upper)[0];
        first = each_word && c == ' ';
    }
    return s;
}

std::string_view trimmed(std::string_view s) {
    constexpr const char* blank = " \t\n\r\f";
    std::size_t from = s.find_first_not_of(blank);
    return from == s.npos ? std::string_view() : s.substr(from, s.find_last_not_of(blank) - from + 1);
}

std::string substring(std::string_view s, std::int64_t start, std::int64_t length, bool utf8) {
    if (start < 0 || length < 0) return "";
    if (utf8 && !lang::valid_utf8(s)) return "";
    auto parts = characters(s, utf8, false);
    if (static_cast<std::uint64_t>(start) + static_cast<std::uint64_t>(length) > parts.size()) return "";
    std::string out;
    for (std::int64_t i = start; i < start + length; ++i) out += parts[static_cast<std::size_t>(i)];
    return out;
}

std::string padded(std::string s, std::int64_t width) {
    if (static_cast<std::int64_t>(s.size()) < width) s.insert(0, static_cast<std::size_t>(width) - s.size(), '0');
    return s;
}

Value converted(std::optional<Value> value, const Value& otherwise, const char* function) {
    if (value) return *value;
    if (otherwise.is_null()) raise("failure", function);
    return otherwise;
}

bool is_binary(const std::string& s) { return s.size() > static_cast<std::size_t>(std::max(longest_printable.get(), 0)) || !lang::valid_utf8(s); }

Value to_text(const Value& v, bool fields, bool binary) {
    Value bare = v.without_methods();
    const Value& shown = fields || bare.is_unit() ? v : bare;
    if (shown.kind() == Value::Kind::string)
        return binary || !is_binary(shown.as_string()) ? text(shown.as_string()) : text("<string>");
    return text(lang::to_string(shown));
}

/// Names that are used once: "radio", "radio.2", ...
std::string unique_id(const std::string& wanted) {
    static std::mutex ids_mutex;
    static std::map<std::string, int> ids;
    std::lock_guard lock(ids_mutex);
    int n = ids[wanted]++;
    return n == 0 ? wanted : fmt::format("{}.{}", wanted, n);
}

const BuiltinParam encoding = opt("encoding", "string?", "null", "How the string is split into characters: \"utf8\" (the default) or \"ascii\".");

const Definitions basics("String", {
    {"string", "A value as a string.", {opt("fields", "bool", "false", "Show methods too, not only those of records."), opt("print_binary", "bool", "true", "Keep strings that are no text."), pos("'a")},
     "string", [](const BuiltinArgs& a) { return to_text(a[2], a[0].as_bool(), a[1].as_bool()); }},
    {"^", "Concatenate two strings.", {pos("string"), pos("string")}, "string", [](const BuiltinArgs& a) {
        const std::string &x = a[0].as_string(), &y = a[1].as_string();
        lang::string_length(static_cast<std::int64_t>(x.size() + y.size()));
        return text(x + y); }},
    {"string.concat", "Concatenate strings.", {opt("separator", "string", "\"\"", "Put between them."), pos("[string]")}, "string", [](const BuiltinArgs& a) {
        const std::string& separator = a[0].as_string();
        std::size_t size = 0;
        for (const Value& e : a[1].elements()) size += e.as_string().size() + separator.size();
        std::string out;
        out.reserve(lang::string_length(static_cast<std::int64_t>(size)));
        bool first = true;
        for (const Value& e : a[1].elements()) {
            if (!std::exchange(first, false)) out += separator;
            out += e.as_string();
        }
        return text(std::move(out)); }},
    {"string.compare", "Compare in the order of bytes: negative, 0 or positive.", {pos("string"), pos("string")}, "int", [](const BuiltinArgs& a) {
        int c = a[0].as_string().compare(a[1].as_string());
        return integer(c < 0 ? -1 : c > 0); }},
    {"string.length", "Number of characters.", {encoding, pos("string")}, "int", [](const BuiltinArgs& a) {
        return integer(static_cast<std::int64_t>(characters(a[1].as_string(), is_utf8(a[0]), true).size())); }},
    {"string.bytes.length", "Number of bytes.", {pos("string")}, "int", [](const BuiltinArgs& a) { return integer(static_cast<std::int64_t>(a[0].as_string().size())); }},
    {"string.chars", "The characters of a string.", {encoding, pos("string")}, "[string]", [](const BuiltinArgs& a) {
        std::vector<Value> out;
        for (auto c : characters(a[1].as_string(), is_utf8(a[0]), true)) out.push_back(text(std::string(c)));
        return Value::list(std::move(out)); }},
    {"string.bytes", "The bytes of a string.", {pos("string")}, "[string]", [](const BuiltinArgs& a) {
        std::vector<Value> out;
        for (char c : a[0].as_string()) out.push_back(text(std::string(1, c)));
        return Value::list(std::move(out)); }},
    {"string.nth", "Code of the byte at a position.", {pos("string"), pos("int", "Position.")}, "int", [](const BuiltinArgs& a) {
        std::int64_t i = a[1].as_int();
        if (i < 0 || i >= static_cast<std::int64_t>(a[0].as_string().size())) raise("not_found", "string.nth: character not found!");
        return integer(static_cast<unsigned char>(a[0].as_string()[static_cast<std::size_t>(i)])); }},
    {"string.char", "The character of a code below 256.", {pos("int", "Code.")}, "string", [](const BuiltinArgs& a) {
        if (a[0].as_int() < 0 || a[0].as_int() > 255) raise("invalid", "The code of a character is between 0 and 255.");
        return text(std::string(1, static_cast<char>(a[0].as_int()))); }},
    {"string.sub", "Part of a string; empty when there is no such part.",
     {pos("string"), arg("start", "int", "First character, from 0."), encoding, arg("length", "int", "How many characters.")}, "string", [](const BuiltinArgs& a) {
        return text(substring(a[0].as_string(), a[1].as_int(), a[3].as_int(), is_utf8(a[2]))); }},
    {"string.index", "Position of a substring in bytes, -1 when it is not there.", {arg("substring", "string", "What to look for."), pos("string")}, "int", [](const BuiltinArgs& a) {
        std::size_t i = a[1].as_string().find(a[0].as_string());
        return integer(i == std::string::npos ? -1 : static_cast<std::int64_t>(i)); }},
    {"string.contains", "Does a string start with, contain or end with another?",
     {encoding, opt("prefix", "string", "\"\"", "Start to look for."), opt("substring", "string", "\"\"", "Part to look for."), opt("suffix", "string", "\"\"", "End to look for."), pos("string")},
     "bool", [](const BuiltinArgs& a) {
        const std::string &s = a[4].as_string(), &prefix = a[1].as_string(), &part = a[2].as_string(), &suffix = a[3].as_string();
        if (prefix.empty() && part.empty() && suffix.empty()) return boolean(true);
        return boolean((!prefix.empty() && s.starts_with(prefix)) || (!part.empty() && s.contains(part)) || (!suffix.empty() && s.ends_with(suffix))); }},
    {"string.residual", "What follows a prefix, or null when the string does not start so.", {encoding, arg("prefix", "string", "Prefix."), pos("string")}, "string?",
     [](const BuiltinArgs& a) {
        const std::string& s = a[2].as_string();
        return s.starts_with(a[1].as_string()) ? text(s.substr(a[1].as_string().size())) : Value::null(); }},
    {"string.split.first", "Split at the first separator.", {encoding, arg("separator", "string", "Separator."), pos("string")}, "string * string", [](const BuiltinArgs& a) {
        const std::string &s = a[2].as_string(), &separator = a[1].as_string();
        std::size_t i = s.find(separator);
        if (i == std::string::npos) raise("not_found", "String does not contain the separator.");
        return pair(text(s.substr(0, i)), text(s.substr(i + separator.size()))); }},
    {"string.case", "Letters of ASCII in lower or upper case.", {opt("lower", "bool", "true", "Lower case?"), pos("string")}, "string", [](const BuiltinArgs& a) {
        return text(cased(a[1].as_string(), a[0].as_bool())); }},
    {"string.lowercase", "In lower case.", {pos("string")}, "string", [](const BuiltinArgs& a) { return text(cased(a[0].as_string(), true)); }},
    {"string.uppercase", "In upper case.", {pos("string")}, "string", [](const BuiltinArgs& a) { return text(cased(a[0].as_string(), false)); }},
    {"string.capitalize", "With the first letter of words in upper case.",
     {opt("capitalize", "bool", "true", "Upper case rather than lower?"), opt("space_sensitive", "bool", "true", "Each word rather than the first?"), pos("string")}, "string",
     [](const BuiltinArgs& a) { return text(capitalized(a[2].as_string(), a[0].as_bool(), a[1].as_bool())); }},
    {"string.trim", "Without white space around.", {pos("string")}, "string", [](const BuiltinArgs& a) { return text(std::string(trimmed(a[0].as_string()))); }},
    {"string.make", "One character repeated.", {opt("char_code", "int", "32", "Code of the character."), pos("int", "Length.")}, "string", [](const BuiltinArgs& a) {
        if (a[1].as_int() < 0) raise("invalid", "Invalid string length!");
        if (a[0].as_int() < 0 || a[0].as_int() > 255) raise("invalid", "Invalid character code!");
        return text(std::string(lang::string_length(a[1].as_int()), static_cast<char>(a[0].as_int()))); }},
    {"string.spaces", "Spaces.", {pos("int", "How many.")}, "string", [](const BuiltinArgs& a) {
        return text(std::string(lang::string_length(a[0].as_int()), ' ')); }},
    {"string.flags.binary", "Is a string binary data? A variable of its own: writing to it has no effect on the string.", {pos("string")}, "(() -> bool).{set : (bool) -> unit}",
     [](const BuiltinArgs& a) { return Value::reference(boolean(is_binary(a[0].as_string()))); }},
    {"string.null_terminated", "With a zero byte at the end.", {pos("string")}, "string", [](const BuiltinArgs& a) { return text(a[0].as_string() + '\0'); }},
    {"string.id", "A name that no other call gives.", {opt("category", "string", "\"\"", "Kind of name."), pos("string", "Wanted name.")}, "string", [](const BuiltinArgs& a) {
        return text(unique_id(a[1].as_string())); }},
    {"string.id.default", "The name, or a fresh one made of the default when it is null.", {arg("default", "string", "Wanted name."), pos("string?")}, "string", [](const BuiltinArgs& a) {
        return a[1].is_null() ? text(unique_id(a[0].as_string())) : a[1]; }},
});

const Definitions conversions("String", {
    {"int_of_string", "A string as an integer.", {pos("string"), opt("default", "int?", "null", "Value when it is none.")}, "int", [](const BuiltinArgs& a) {
        auto i = parse_int(a[0].as_string());
        return converted(i ? std::optional(integer(*i)) : std::nullopt, a[1], "int_of_string"); }},
    {"float_of_string", "A string as a number.", {pos("string"), opt("default", "float?", "null", "Value when it is none.")}, "float", [](const BuiltinArgs& a) {
        auto d = parse_float(a[0].as_string());
        return converted(d ? std::optional(number(*d)) : std::nullopt, a[1], "float_of_string"); }},
    {"bool_of_string", "\"true\" or \"false\" as a boolean.", {pos("string"), opt("default", "bool?", "null", "Value when it is neither.")}, "bool", [](const BuiltinArgs& a) {
        const std::string& s = a[0].as_string();
        return converted(s == "true" || s == "false" ? std::optional(boolean(s == "true")) : std::nullopt, a[1], "bool_of_string"); }},
    {"string.to_int", "A string as an integer.", {opt("default", "int", "0", "Value when it is none."), pos("string")}, "int", [](const BuiltinArgs& a) {
        return integer(parse_int(a[1].as_string()).value_or(a[0].as_int())); }},
    {"string.to_float", "A string as a number.", {opt("default", "float", "0.", "Value when it is none."), pos("string")}, "float", [](const BuiltinArgs& a) {
        return number(parse_float(a[1].as_string()).value_or(a[0].as_float())); }},
    {"string.is_int", "Is it an integer?", {pos("string")}, "bool", [](const BuiltinArgs& a) { return boolean(parse_int(a[0].as_string()).has_value()); }},
    {"string.of_int", "A number as a string, with zeros in front.", {opt("digits", "int", "0", "Least number of digits."), pos("'a")}, "string", [](const BuiltinArgs& a) {
        return text(padded(lang::to_string(a[1]), a[0].as_int())); }},
    {"string.float", "A float as a string.", {opt("decimal_places", "int?", "null", "Number of decimals."), pos("float")}, "string", [](const BuiltinArgs& a) {
        if (a[0].is_null()) return text(lang::float_text(a[1].as_float()));
        return text(fmt::format("{:.{}f}", a[1].as_float(), std::clamp<std::int64_t>(a[0].as_int(), 0, 300))); }},
    {"string.hex_of_int", "In base 16.", {opt("pad", "int", "0", "Least number of digits."), pos("int")}, "string", [](const BuiltinArgs& a) {
        return text(padded(fmt::format("{:x}", static_cast<std::uint64_t>(a[1].as_int())), a[0].as_int())); }},
    {"string.binary.to_int", "The number that bytes stand for.", {opt("little_endian", "bool", "true", "Least byte first?"), pos("string")}, "int", [](const BuiltinArgs& a) {
        std::string s = a[1].as_string();
        if (a[0].as_bool()) std::ranges::reverse(s);
        std::uint64_t n = 0;
        for (char c : s) n = n << 8 | static_cast<unsigned char>(c);
        return integer(static_cast<std::int64_t>(n)); }},
    {"string.binary.of_int", "The bytes of a number.", {opt("pad", "int", "0", "Least number of bytes."), opt("little_endian", "bool", "true", "Least byte first?"), pos("int")}, "string",
     [](const BuiltinArgs& a) {
        std::string s;
        auto n = static_cast<std::uint64_t>(a[2].as_int());
        do s += static_cast<char>(n & 0xFF);
        while (n >>= 8);
        std::int64_t missing = a[0].as_int() - static_cast<std::int64_t>(s.size());
        if (missing > 0 && missing < 1 << 20) s.append(static_cast<std::size_t>(missing), '\0');
        if (!a[1].as_bool()) std::ranges::reverse(s);
        return text(s); }},
});

const Definitions getters("String", {
    {"string.getter.single", "A getter that gives the string once, then empty strings.", {pos("string")}, "() -> string", [](const BuiltinArgs& a) {
        auto first = std::make_shared<std::atomic<bool>>(true);
        return native([first, s = a[0]](std::span<const CallArgument>) { return first->exchange(false) ? s : text(""); }); }},
    {"string.getter.flush", "All that a getter gives until it is empty.", {opt("separator", "string", "\"\"", "Put between the parts."), pos("{string}")}, "string", [](const BuiltinArgs& a) {
        if (a[1].kind() != Value::Kind::function) return a[1];
        std::string out;
        for (bool first = true;; first = false) {
            std::string part = a[1].get().as_string();
            if (part.empty()) return text(out);
            out += (first ? "" : a[0].as_string()) + part;
        } }},
    {"string.getter.concat", "A getter that gives what several give, one after another.", {pos("[{string}]")}, "{string}", [](const BuiltinArgs& a) {
        Value position = Value::reference(integer(0));
        return native([position, list = a[0]](std::span<const CallArgument>) {
            for (;;) {
                auto i = static_cast<std::size_t>(position.call().as_int());
                if (i >= list.elements().size()) return text("");
                const Value& g = list.elements()[i];
                Value part = g.get();
                if (part.as_string().empty() || g.kind() != Value::Kind::function)
                    position.find_method("set")->call({integer(static_cast<std::int64_t>(i + 1))});
                if (!part.as_string().empty()) return part;
            }
        }); }},
});

Value codes(int from, int count) {
    std::vector<Value> v;
    for (int i = from; i < from + count; ++i) v.push_back(integer(i));
    return Value::list(std::move(v));
}

Value letters() {
    std::vector<Value> v;
    for (int i = 'A'; i <= 'Z'; ++i) v.push_back(integer(i));
    for (int i = 'a'; i <= 'z'; ++i) v.push_back(integer(i));
    return Value::list(std::move(v));
}

const Constants ascii("String", {
    {"string.char.ascii", "The codes of ASCII.", "[int]", [] { return codes(0, 128); }},
    {"string.char.ascii.control", "The codes of ASCII's control characters.", "[int]", [] { return codes(0, 32); }},
    {"string.char.ascii.printable", "The codes of ASCII's printable characters.", "[int]", [] { return codes(32, 96); }},
    {"string.char.ascii.alphabet", "The codes of ASCII's letters.", "[int]", letters},
    {"string.char.ascii.number", "The codes of the digits.", "[int]", [] { return codes(48, 10); }},
});

const Definitions random_character("String", {
    {"string.char.ascii.random", "A random character.", {opt_pos("[int]", "string.char.ascii", "Codes to choose among.")}, "string", [](const BuiltinArgs& a) {
        auto e = a[0].elements();
        if (e.empty()) raise("invalid", "There is no character to choose.");
        thread_local std::mt19937 generator{std::random_device{}()};
        std::int64_t code = e[std::uniform_int_distribution<std::size_t>(0, e.size() - 1)(generator)].as_int();
        return text(std::string(1, static_cast<char>(code))); }},
});

}  // namespace

std::optional<std::int64_t> parse_int(std::string_view s) {
    bool negative = s.starts_with('-');
    if (negative || s.starts_with('+')) s.remove_prefix(1);
    int base = 10;
    if (s.size() > 2 && s[0] == '0') {
        const char c = static_cast<char>(s[1] | 32);
        base = c == 'x' ? 16 : c == 'o' ? 8 : c == 'b' ? 2 : 10;
        if (base != 10 || c == 'u') s.remove_prefix(2);
    }
    std::string digits;
    for (char c : s)
        if (c != '_') digits += c;
    std::uint64_t u = 0;
    auto [p, e] = std::from_chars(digits.data(), digits.data() + digits.size(), u, base);
    if (e != std::errc() || p != digits.data() + digits.size() || s.starts_with('_')) return std::nullopt;
    constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
    if (base == 10 && u > most + negative) return std::nullopt;   // other bases wrap around
    return static_cast<std::int64_t>(negative ? 0 - u : u);
}

std::optional<double> parse_float(std::string_view s) {
    std::string low;
    for (char c : cased(std::string(s), true))
        if (c != '_') low += c;
    std::string_view body(low);
    const bool negative = body.starts_with('-');
    if (negative || body.starts_with('+')) body.remove_prefix(1);
    if (body == "infinity" || body == "inf") return negative ? -HUGE_VAL : HUGE_VAL;
    if (body == "nan") return NAN;
    auto format = std::chars_format::general;
    if (body.starts_with("0x")) {
        body.remove_prefix(2);
        format = std::chars_format::hex;
    }
    if (body.find_first_not_of("0123456789abcdef.p+-") != body.npos || s.starts_with('_')) return std::nullopt;
    double d = 0;
    auto [p, e] = std::from_chars(body.data(), body.data() + body.size(), d, format);
    if (e == std::errc::result_out_of_range) d = std::strtod(low.c_str(), nullptr);   // infinite, or nearly nothing
    else if (e != std::errc()) return std::nullopt;
    if (p != body.data() + body.size()) return std::nullopt;
    return e == std::errc() && negative ? -d : d;
}

}  // namespace castile::builtins
