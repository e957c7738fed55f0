#include "lang/literal.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace castile::lang {

namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }

int hexadecimal(char c) {
    if (digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/// The value of `count` digits of a base at the start of the text, or -1.
int code(std::string_view text, std::size_t count, int base) {
    if (text.size() < count) return -1;
    int value = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const int d = hexadecimal(text[i]);
        if (d < 0 || d >= base) return -1;
        value = value * base + d;
    }
    return value;
}

void append_utf8(std::string& out, unsigned point) {
    if (point < 0x80) {
        out += static_cast<char>(point);
    } else if (point < 0x800) {
        out += static_cast<char>(0xC0 | (point >> 6));
        out += static_cast<char>(0x80 | (point & 0x3F));
    } else if (point < 0x10000) {
        out += static_cast<char>(0xE0 | (point >> 12));
        out += static_cast<char>(0x80 | ((point >> 6) & 0x3F));
        out += static_cast<char>(0x80 | (point & 0x3F));
    } else {
        out += static_cast<char>(0xF0 | (point >> 18));
        out += static_cast<char>(0x80 | ((point >> 12) & 0x3F));
        out += static_cast<char>(0x80 | ((point >> 6) & 0x3F));
        out += static_cast<char>(0x80 | (point & 0x3F));
    }
}

/// Appends what the escape stands for; `text` is what follows the backslash, not empty. Returns how much of it was used.
std::size_t append_escape(std::string& out, std::string_view text) {
    switch (text[0]) {
        case 'a': out += '\a'; return 1;
        case 'b': out += '\b'; return 1;
        case 'e': out += '\x1b'; return 1;
        case 'f': out += '\f'; return 1;
        case 'n': out += '\n'; return 1;
        case 'r': out += '\r'; return 1;
        case 't': out += '\t'; return 1;
        case 'v': out += '\v'; return 1;
        case '"': case '\'': case '/': case '\\': case '?': out += text[0]; return 1;
        case '\n': {  // the string goes on after the blanks of the next line
            std::size_t used = 1;
            while (used < text.size() && (text[used] == ' ' || text[used] == '\t' || text[used] == '\r')) ++used;
            return used;
        }
        case 'x':
            if (const int byte = code(text.substr(1), 2, 16); byte >= 0) {
                out += static_cast<char>(byte);
                return 3;
            }
            break;
        case 'u':
            if (int point = code(text.substr(1), 4, 16); point >= 0) {
                std::size_t used = 5;
                if (point >= 0xD800 && point < 0xDC00 && text.substr(used, 2) == "\\u") {  // a surrogate pair, as JSON writes it
                    const int low = code(text.substr(used + 2), 4, 16);
                    if (low >= 0xDC00 && low < 0xE000) {
                        point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
                        used += 6;
                    }
                }
                append_utf8(out, static_cast<unsigned>(point));
                return used;
            }
            break;
        default:
            if (const int byte = code(text, 3, 8); byte >= 0) {
                out += static_cast<char>(byte > 255 ? 255 : byte);
                return 3;
            }
    }
    out += '\\';  // not an escape: kept as written
    out += text[0];
    return 1;
}

/// 7 days, 1 day, 1 hour, 1 minute, 1 second.
constexpr std::array<std::int64_t, 5> units{604800, 86400, 3600, 60, 1};

std::array<std::optional<std::int64_t>, 4> fields(const TimePoint& t) { return {t.day, t.hours, t.minutes, t.seconds}; }

std::int64_t seconds(const TimePoint& t) {
    return t.day.value_or(0) % 7 * units[1] + t.hours.value_or(0) * units[2] + t.minutes.value_or(0) * units[3] + t.seconds.value_or(0);
}

std::int64_t precision(const TimePoint& t) {
    const auto f = fields(t);
    std::size_t first = 0;
    while (first < f.size() && !f[first]) ++first;
    return units[first];
}

std::int64_t duration(const TimePoint& t) {
    const auto f = fields(t);
    std::size_t last = f.size();
    while (last > 0 && !f[last - 1]) --last;
    return units[last];
}

}  // namespace

std::string unescape(std::string_view raw, char quote) {
    std::string out;
    out.reserve(raw.size());
    for (std::size_t i = 0; i < raw.size();) {
        const std::size_t next = raw.find('\\', i);
        out += raw.substr(i, next - i);
        if (next == std::string_view::npos) break;
        i = next + 1;
        if (i == raw.size()) {
            out += '\\';
        } else if (quote == '/' && raw[i] != '/' && raw[i] != 'u' && raw[i] != '\n') {
            // The regexp engine reads \xHH, \b and so on itself.
            out += '\\';
            out += raw[i++];
        } else {
            i += append_escape(out, raw.substr(i));
        }
    }
    return out;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
    std::string digits;
    int base = 10;
    if (text.size() > 2 && text[0] == '0' && !digit(text[1]) && text[1] != '_') {
        const char letter = static_cast<char>(text[1] | 0x20);
        base = letter == 'x' ? 16 : letter == 'o' ? 8 : 2;
        text.remove_prefix(2);
    }
    for (const char c : text) {
        if (c != '_') digits += c;
    }
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
    return value;
}

std::optional<double> parse_floating(std::string_view text) {
    std::string digits;
    for (const char c : text) {
        if (c == '_') continue;
        if (c == '+' && !digits.empty() && (digits.back() == 'e' || digits.back() == 'E')) continue;
        digits += c;
    }
    double value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (end != digits.data() + digits.size()) return std::nullopt;
    if (error == std::errc::result_out_of_range) return std::nullopt;
    return error == std::errc{} ? std::optional(value) : std::nullopt;
}

std::size_t time_length(std::string_view text) {
    constexpr std::string_view letters = "whms";
    std::size_t length = 0, next_letter = 0;
    bool after_hours = false;
    for (std::size_t i = 0; i < text.size() && digit(text[i]);) {
        std::size_t end = i;
        while (end < text.size() && (digit(text[end]) || text[end] == '_')) ++end;
        const std::size_t letter = end < text.size() ? letters.find(text[end]) : std::string_view::npos;
        if (letter == std::string_view::npos || letter < next_letter) {
            if (after_hours) length = end;  // 10h30
            break;
        }
        next_letter = letter + 1;
        after_hours = text[end] == 'h';
        length = i = end + 1;
    }
    return length;
}

TimePoint parse_time(std::string_view text) {
    TimePoint t;
    bool after_hours = false;
    for (std::size_t i = 0; i < text.size();) {
        std::size_t end = i;
        while (end < text.size() && (digit(text[end]) || text[end] == '_')) ++end;
        // Bounded, so that sums in seconds cannot overflow.
        const auto value = std::min<std::int64_t>(parse_integer(text.substr(i, end - i)).value_or(0), 1'000'000'000);
        const char letter = end < text.size() ? text[end] : after_hours ? 'm' : 's';
        (letter == 'w' ? t.day : letter == 'h' ? t.hours : letter == 'm' ? t.minutes : t.seconds) = value;
        after_hours = letter == 'h';
        i = end + 1;
    }
    return t;
}

std::optional<TimeRange> time_range(const TimePoint& from, const std::optional<TimePoint>& to) {
    if (!to) return TimeRange{seconds(from), seconds(from) + duration(from), precision(from)};
    if (precision(from) != precision(*to)) return std::nullopt;
    return TimeRange{seconds(from), seconds(*to), precision(from)};
}

}  // namespace castile::lang
