#include "request/annotate.h"

#include <cctype>
#include <cstdint>
#include <optional>

#include <fmt/format.h>

namespace castile {

namespace {

constexpr std::size_t max_entries = 10'000;

void append_utf8(std::string& out, std::uint32_t c) {
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) c = 0xfffd;
    if (c < 0x80) {
        out += static_cast<char>(c);
    } else if (c < 0x800) {
        out += static_cast<char>(0xc0 | c >> 6);
        out += static_cast<char>(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        out += static_cast<char>(0xe0 | c >> 12);
        out += static_cast<char>(0x80 | (c >> 6 & 0x3f));
        out += static_cast<char>(0x80 | (c & 0x3f));
    } else {
        out += static_cast<char>(0xf0 | c >> 18);
        out += static_cast<char>(0x80 | (c >> 12 & 0x3f));
        out += static_cast<char>(0x80 | (c >> 6 & 0x3f));
        out += static_cast<char>(0x80 | (c & 0x3f));
    }
}

// Length of the well-formed UTF-8 sequence at the front, 0 when there is none.
std::size_t sequence_length(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char first = byte(0);
    if (first < 0x80) return 1;
    const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((byte(i) & 0xc0) != 0x80) return 0;
    if ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) > 0x9f) || (first == 0xf0 && byte(1) < 0x90) ||
        (first == 0xf4 && byte(1) > 0x8f))
        return 0;
    return length;
}

std::optional<std::uint32_t> number(std::string_view digits, unsigned base) {
    std::uint32_t value = 0;
    for (const char c : digits) {
        const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
        if (static_cast<unsigned>(digit) >= base) return std::nullopt;
        value = value * base + static_cast<unsigned>(digit);
    }
    return value;
}

// Reads one annotation list; `text` is what is left.
class Reader {
public:
    explicit Reader(std::string_view text) : text_(text) {}

    std::string_view left() const { return text_.substr(at_); }
    std::size_t position() const { return at_; }
    void rewind(std::size_t position) { at_ = position; }
    bool done() const { return at_ >= text_.size(); }
    void skip_spaces() {
        while (!done() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) ++at_;
    }
    bool accept(char c) {
        if (done() || text_[at_] != c) return false;
        ++at_;
        return true;
    }

    std::optional<Metadata::Entry> entry() {
        skip_spaces();
        auto key = at_quote() ? in_quotes() : word(false);
        skip_spaces();
        if (!key || key->empty() || !accept('=')) return std::nullopt;
        skip_spaces();
        auto value = at_quote() ? in_quotes() : word(true);
        if (!value) return std::nullopt;
        skip_spaces();
        return Metadata::Entry(utf8_or_latin1(*key), utf8_or_latin1(*value));
    }

private:
    bool at_quote() const { return !done() && (text_[at_] == '"' || text_[at_] == '\''); }

    std::optional<std::string> word(bool value) {
        const std::size_t begin = at_;
        while (!done()) {
            const char c = text_[at_];
            const bool letter = std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.' || (c & 0x80);
            if (!letter && !(value && (c == '+' || c == '/' || c == '\''))) break;
            ++at_;
        }
        if (at_ == begin) return std::nullopt;
        return std::string(text_.substr(begin, at_ - begin));
    }

    std::optional<std::string> in_quotes() {
        const char quote = text_[at_++];
        std::string value;
        while (!done()) {
            const char c = text_[at_++];
            if (c == quote) return value;
            if (c != '\\') value += c;
            else if (!escape(value)) return std::nullopt;
        }
        return std::nullopt;
    }

    // Takes `count` digits at the current place.
    std::optional<std::uint32_t> digits(std::size_t count, unsigned base) {
        if (text_.size() - at_ < count) return std::nullopt;
        const auto value = number(text_.substr(at_, count), base);
        if (value) at_ += count;
        return value;
    }

    // After a backslash. What is no known escape stands for itself, backslash included.
    bool escape(std::string& value) {
        if (done()) return false;
        const char c = text_[at_++];
        switch (c) {
            case 'n': value += '\n'; return true;
            case 't': value += '\t'; return true;
            case 'r': value += '\r'; return true;
            case 'b': value += '\b'; return true;
            case 'a': value += '\a'; return true;
            case 'f': value += '\f'; return true;
            case 'v': value += '\v'; return true;
            case 'x':
                if (const auto byte = digits(2, 16)) return value += static_cast<char>(*byte), true;
                break;
            case 'u':
                if (auto code = digits(4, 16)) {
                    if (*code >= 0xd800 && *code < 0xdc00 && left().starts_with("\\u")) {
                        const std::size_t before = at_;
                        at_ += 2;
                        const auto low = digits(4, 16);
                        if (low && *low >= 0xdc00 && *low < 0xe000) code = 0x10000 + ((*code - 0xd800) << 10) + (*low - 0xdc00);
                        else at_ = before;
                    }
                    return append_utf8(value, *code), true;
                }
                break;
            case 'o':
                if (const auto byte = digits(3, 8); byte && *byte < 256) return value += static_cast<char>(*byte), true;
                break;
            case '\n':
                skip_spaces();  // a line continued
                return true;
            case '"': case '\'': case '\\': case '/':
                value += c;
                return true;
            default:
                if (c >= '0' && c <= '9') {
                    --at_;
                    if (const auto byte = digits(3, 10); byte && *byte < 256) return value += static_cast<char>(*byte), true;
                    ++at_;
                }
        }
        value += '\\';
        value += c;
        return true;
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

}  // namespace

std::string utf8_or_latin1(std::string_view text) {
    bool valid = true;
    for (std::size_t i = 0; i < text.size() && valid;) {
        const std::size_t length = sequence_length(text.substr(i));
        valid = length > 0;
        i += length;
    }
    if (valid) return std::string(text);
    std::string converted;
    for (const char c : text) append_utf8(converted, static_cast<unsigned char>(c));
    return converted;
}

std::expected<Annotated, Failure> parse_annotations(std::string_view text) {
    Reader reader(text);
    Annotated annotated;
    reader.skip_spaces();
    while (!reader.accept(':')) {
        const std::size_t begin = reader.position();
        auto entry = reader.entry();
        if (!entry || annotated.entries.size() >= max_entries)
            return std::unexpected(Failure{Failure::Kind::invalid, fmt::format("annotate: syntax error at character {} to {}", begin, reader.position())});
        annotated.entries.push_back(std::move(*entry));
        if (reader.accept(',')) continue;
        if (!reader.accept(':'))
            return std::unexpected(Failure{Failure::Kind::invalid,
                                           fmt::format("annotate: expected `,` or `:` at character {}", reader.position())});
        break;
    }
    annotated.rest = std::string(reader.left());
    return annotated;
}

std::vector<Metadata::Entry> parse_annotation_list(std::string_view& text) {
    std::vector<Metadata::Entry> entries;
    Reader reader(text);
    while (entries.size() < max_entries) {
        const std::size_t begin = reader.position();
        auto entry = reader.entry();
        if (!entry) {
            reader.rewind(begin);
            break;
        }
        entries.push_back(std::move(*entry));
        if (!reader.accept(',')) break;
    }
    text = reader.left();
    return entries;
}

namespace {

void append_quoted(std::string& text, std::string_view value) {
    text += '"';
    for (const char c : value) {
        if (c == '"' || c == '\\') text += '\\';
        if (c == '\n') text += "\\n";
        else if (c == '\r') text += "\\r";
        else text += c;
    }
    text += '"';
}

}  // namespace

std::string annotate_uri(const std::vector<Metadata::Entry>& entries, const std::string& uri) {
    if (entries.empty()) return uri;
    std::string text = "annotate:";
    for (const auto& [key, value] : entries) {
        if (&key != &entries.front().first) text += ',';
        if (key.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == std::string::npos) text += key;
        else append_quoted(text, key);
        text += '=';
        append_quoted(text, value);
    }
    return text + ":" + uri;
}

}  // namespace castile
