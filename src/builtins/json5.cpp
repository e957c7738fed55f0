// JSON5 (json5.org): JSON with comments, trailing commas, bare keys, single quotes and more numbers. No library reads it.

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "base/error.h"
#include "builtins/data.h"
#include "builtins/utf8.h"
#include "lang/text.h"

namespace castile::builtins {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_digit(c) || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_' || c == '$' || static_cast<unsigned char>(c) >= 0x80; }

class Reader {
public:
    explicit Reader(std::string_view text) : text_(text) {}

    Data read() {
        skip();
        value();
        skip();
        if (at_ < text_.size()) fail("something follows the value");
        return builder_.take();
    }

private:
    [[noreturn]] void fail(const std::string& what) const {
        std::size_t line = 1, start = 0;
        for (std::size_t i = 0; i < at_ && i < text_.size(); ++i)
            if (text_[i] == '\n') ++line, start = i + 1;
        throw Error("line " + std::to_string(line) + ", column " + std::to_string(at_ - start + 1) + ": " + what);
    }
    bool starts(std::string_view s) const { return text_.substr(at_).starts_with(s); }
    bool take(std::string_view s) {
        if (!starts(s)) return false;
        at_ += s.size();
        return true;
    }
    char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

    void skip() {
        static constexpr std::string_view blanks[] = {" ", "\t", "\n", "\r", "\v", "\f", "\u00A0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004",
            "\u2005", "\u2006", "\u2007", "\u2008", "\u2009", "\u200A", "\u2028", "\u2029", "\u202F", "\u205F", "\u3000", "\uFEFF"};
        for (;;) {
            bool more = false;
            for (std::string_view blank : blanks) more = more || take(blank);
            if (starts("//")) {
                while (at_ < text_.size() && text_[at_] != '\n' && text_[at_] != '\r' && !starts("\u2028") && !starts("\u2029")) ++at_;
                more = true;
            } else if (starts("/*")) {
                const std::size_t end = text_.find("*/", at_ + 2);
                if (end == text_.npos) fail("the comment is not ended");
                at_ = end + 2;
                more = true;
            }
            if (!more) return;
        }
    }

    // Depth is bounded by the builder.
    void value() {
        const char c = peek();
        if (c == '{') return object();
        if (c == '[') return list();
        if (c == '"' || c == '\'') return builder_.add({string()});
        if (is_digit(c) || c == '.' || c == '+' || c == '-') return builder_.add(number());
        const std::string word = identifier();
        if (word == "null") builder_.add({});
        else if (word == "true" || word == "false") builder_.add({word == "true"});
        else if (word == "Infinity") builder_.add({std::numeric_limits<double>::infinity()});
        else if (word == "NaN") builder_.add({std::numeric_limits<double>::quiet_NaN()});
        else fail(at_ >= text_.size() ? "the text ends too early" : "a value is expected");
    }

    void object() {
        ++at_;
        builder_.begin(true);
        for (skip(); !take("}"); skip()) {
            const bool quoted = peek() == '"' || peek() == '\'';
            std::string key = quoted ? string() : identifier();
            if (key.empty() && !quoted) fail("a key is expected");
            builder_.key(std::move(key));
            skip();
            if (!take(":")) fail("a colon is expected");
            skip();
            value();
            skip();
            if (!take(",") && peek() != '}') fail("a comma or } is expected");
        }
        builder_.end();
    }

    void list() {
        ++at_;
        builder_.begin(false);
        for (skip(); !take("]"); skip()) {
            value();
            skip();
            if (!take(",") && peek() != ']') fail("a comma or ] is expected");
        }
        builder_.end();
    }

    std::string identifier() {
        std::string word;
        while (at_ < text_.size()) {
            if (is_word(text_[at_]) && !(word.empty() && is_digit(text_[at_]))) word += text_[at_++];
            else if (take("\\u")) word += encode_utf8(hexadecimal(4));
            else break;
        }
        return word;
    }

    char32_t hexadecimal(std::size_t digits) {
        unsigned code = 0;
        const std::string_view s = text_.substr(std::min(at_, text_.size()), digits);
        const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), code, 16);
        if (s.size() != digits || error != std::errc() || end != s.data() + s.size()) fail("hexadecimal digits are expected");
        at_ += digits;
        return code;
    }

    std::string string() {
        const char quote = text_[at_++];
        std::string out;
        for (;;) {
            if (at_ >= text_.size()) fail("the string is not ended");
            const char c = text_[at_++];
            if (c == quote) return out;
            if (c == '\n' || c == '\r') fail("a string cannot hold a line break without \\");
            if (c != '\\') {
                out += c;
                continue;
            }
            if (at_ >= text_.size()) fail("the string is not ended");
            escape(out);
        }
    }

    void escape(std::string& out) {
        if (take("\r\n") || take("\n") || take("\r") || take("\u2028") || take("\u2029")) return;   // a continued line
        const char c = text_[at_++];
        switch (c) {
        case 'b': out += '\b'; return;
        case 'f': out += '\f'; return;
        case 'n': out += '\n'; return;
        case 'r': out += '\r'; return;
        case 't': out += '\t'; return;
        case 'v': out += '\v'; return;
        case '0': out += '\0'; return;
        case 'x': out += encode_utf8(hexadecimal(2)); return;
        case 'u': {
            char32_t code = hexadecimal(4);
            if (code >= 0xD800 && code < 0xDC00 && take("\\u")) {
                const char32_t low = hexadecimal(4);
                if (low < 0xDC00 || low >= 0xE000) fail("half of a surrogate pair is missing");
                code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
            }
            out += code >= 0xD800 && code < 0xE000 ? "\uFFFD" : encode_utf8(code);
            return;
        }
        default: out += c;
        }
    }

    Data number() {
        const bool negative = peek() == '-';
        if (peek() == '-' || peek() == '+') ++at_;
        if (take("Infinity")) return {negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity()};
        if (take("NaN")) return {std::numeric_limits<double>::quiet_NaN()};
        if (starts("0x") || starts("0X")) {
            at_ += 2;
            std::uint64_t u = 0;
            const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), u, 16);
            if (error != std::errc()) fail(error == std::errc::result_out_of_range ? "the number is too large" : "hexadecimal digits are expected");
            at_ = static_cast<std::size_t>(end - text_.data());
            return whole(u, negative);
        }
        const std::size_t start = at_;
        while (is_digit(peek())) ++at_;
        const std::size_t digits = at_ - start;
        bool fraction = false;
        std::size_t decimals = 0;
        if (peek() == '.') {
            ++at_;
            fraction = true;
            while (is_digit(peek())) ++at_, ++decimals;
        }
        if (digits + decimals == 0) fail("a number is expected");
        if (digits > 1 && text_[start] == '0') fail("a number does not start with 0");
        if ((peek() | 32) == 'e') {
            ++at_;
            fraction = true;
            if (peek() == '+' || peek() == '-') ++at_;
            if (!is_digit(peek())) fail("an exponent is expected");
            while (is_digit(peek())) ++at_;
        }
        const char *from = text_.data() + start, *to = text_.data() + at_;
        std::uint64_t u = 0;
        if (!fraction && std::from_chars(from, to, u).ec == std::errc()) return whole(u, negative);
        double d = 0;
        if (std::from_chars(from, to, d).ec == std::errc::result_out_of_range) fail("the number is out of range");
        return {negative ? -d : d};
    }

    static Data whole(std::uint64_t u, bool negative) {
        constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
        if (u > most + negative) return {negative ? -static_cast<double>(u) : static_cast<double>(u)};
        return {static_cast<std::int64_t>(negative ? 0 - u : u)};
    }

    std::string_view text_;
    std::size_t at_ = 0;
    DataBuilder builder_;
};

}  // namespace

Data read_json5(std::string_view text) {
    if (text.size() > max_data_bytes) throw Error("it is longer than " + std::to_string(max_data_bytes) + " bytes");
    if (!lang::valid_utf8(text)) throw Error("it is not in UTF-8");
    return Reader(text).read();
}

}  // namespace castile::builtins
