#include "lang/lexer.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "lang/diag.h"
#include "lang/literal.h"

namespace castile::lang {

namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }
bool ascii_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

struct Word {
    std::string_view text;
    Tok kind;
};

constexpr std::array keywords{
    Word{"and", Tok::kw_and},     Word{"begin", Tok::kw_begin}, Word{"catch", Tok::kw_catch},     Word{"def", Tok::kw_def},
    Word{"do", Tok::kw_do},       Word{"else", Tok::kw_else},   Word{"elsif", Tok::kw_elsif},     Word{"end", Tok::kw_end},
    Word{"false", Tok::kw_false}, Word{"finally", Tok::kw_finally}, Word{"for", Tok::kw_for},     Word{"fun", Tok::kw_fun},
    Word{"if", Tok::kw_if},       Word{"let", Tok::kw_let},     Word{"mod", Tok::kw_mod},         Word{"not", Tok::kw_not},
    Word{"null", Tok::kw_null},   Word{"open", Tok::kw_open},   Word{"or", Tok::kw_or},           Word{"then", Tok::kw_then},
    Word{"to", Tok::kw_to},       Word{"true", Tok::kw_true},   Word{"try", Tok::kw_try},         Word{"while", Tok::kw_while},
};

constexpr std::array directives{
    Word{"ifdef", Tok::if_defined},          Word{"ifndef", Tok::if_not_defined}, Word{"ifversion", Tok::if_version},
    Word{"ifencoder", Tok::if_encoder},      Word{"ifnencoder", Tok::if_not_encoder}, Word{"else", Tok::static_else},
    Word{"endif", Tok::static_end},          Word{"include", Tok::include},       Word{"include_extra", Tok::include_extra},
    Word{"argsof", Tok::arguments_of},
};

/// Longest first among those that start alike.
constexpr std::array symbols{
    Word{"...", Tok::ellipsis},     Word{"->", Tok::arrow},         Word{"-.", Tok::additive},       Word{"?.", Tok::question_dot},
    Word{"\?\?", Tok::coalesce},    Word{"::", Tok::colon_colon},   Word{":=", Tok::set},            Word{"!=", Tok::comparison},
    Word{"==", Tok::comparison},    Word{"<=", Tok::comparison},    Word{">=", Tok::comparison},     Word{"+.", Tok::additive},
    Word{"*.", Tok::multiplicative}, Word{"/.", Tok::multiplicative}, Word{"=", Tok::assign},        Word{".", Tok::dot},
    Word{"[", Tok::left_bracket},   Word{"]", Tok::right_bracket},  Word{"(", Tok::left_paren},      Word{")", Tok::right_paren},
    Word{"{", Tok::left_brace},     Word{"}", Tok::right_brace},    Word{",", Tok::comma},           Word{"@", Tok::at},
    Word{":", Tok::colon},          Word{";", Tok::semicolon},      Word{"~", Tok::tilde},           Word{"?", Tok::question},
    Word{"-", Tok::minus},          Word{"!", Tok::bang},           Word{"*", Tok::star},            Word{"<", Tok::comparison},
    Word{">", Tok::comparison},     Word{"+", Tok::additive},       Word{"%", Tok::additive},        Word{"^", Tok::additive},
    Word{"/", Tok::multiplicative},
};

/// Length of the UTF-8 character that starts at `offset`, 0 when it is malformed.
std::size_t character_length(std::string_view text, std::size_t offset) {
    const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
    const auto next = [&](std::size_t i) { return (byte(offset + i) & 0xC0U) == 0x80U; };
    const unsigned c = byte(offset);
    if (c < 0x80) return 1;
    if (c >= 0xC2 && c < 0xE0) return next(1) ? 2 : 0;
    if (c >= 0xE0 && c < 0xF0) {
        if (!next(1) || !next(2)) return 0;
        if (c == 0xE0 && byte(offset + 1) < 0xA0) return 0;
        return c == 0xED && byte(offset + 1) >= 0xA0 ? 0 : 3;
    }
    if (c >= 0xF0 && c < 0xF5) {
        if (!next(1) || !next(2) || !next(3)) return 0;
        if (c == 0xF0 && byte(offset + 1) < 0x90) return 0;
        return c == 0xF4 && byte(offset + 1) >= 0x90 ? 0 : 4;
    }
    return 0;
}

/// Of a well-formed character.
unsigned code_point(std::string_view text, std::size_t offset, std::size_t length) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[offset + i]); };
    if (length == 1) return byte(0);
    unsigned point = byte(0) & (0xFFU >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) point = point << 6 | (byte(i) & 0x3FU);
    return point;
}

}  // namespace

std::string_view describe(Tok kind) {
    switch (kind) {
        case Tok::end_of_file: return "the end of the script";
        case Tok::identifier: return "a name";
        case Tok::underscore: return "`_`";
        case Tok::type_variable: return "a type variable";
        case Tok::integer: return "an integer";
        case Tok::floating: return "a number";
        case Tok::version: return "a version";
        case Tok::time:
        case Tok::interval: return "a time";
        case Tok::string:
        case Tok::raw_string:
        case Tok::interpolation_begin:
        case Tok::interpolation_text: return "a string";
        case Tok::interpolation_end: return "the end of the `#{...}`";
        case Tok::regexp: return "a regular expression";
        case Tok::encoder: return "an encoder";
        case Tok::if_defined: return "`%ifdef`";
        case Tok::if_not_defined: return "`%ifndef`";
        case Tok::if_version: return "`%ifversion`";
        case Tok::if_encoder: return "`%ifencoder`";
        case Tok::if_not_encoder: return "`%ifnencoder`";
        case Tok::static_else: return "`%else`";
        case Tok::static_end: return "`%endif`";
        case Tok::include:
        case Tok::include_library: return "`%include`";
        case Tok::include_extra: return "`%include_extra`";
        case Tok::arguments_of: return "`%argsof`";
        case Tok::kw_and: return "`and`";
        case Tok::kw_begin: return "`begin`";
        case Tok::kw_catch: return "`catch`";
        case Tok::kw_def: return "`def`";
        case Tok::kw_do: return "`do`";
        case Tok::kw_else: return "`else`";
        case Tok::kw_elsif: return "`elsif`";
        case Tok::kw_end: return "`end`";
        case Tok::kw_false: return "`false`";
        case Tok::kw_finally: return "`finally`";
        case Tok::kw_for: return "`for`";
        case Tok::kw_fun: return "`fun`";
        case Tok::kw_if: return "`if`";
        case Tok::kw_let: return "`let`";
        case Tok::kw_mod: return "`mod`";
        case Tok::kw_not: return "`not`";
        case Tok::kw_null: return "`null`";
        case Tok::kw_open: return "`open`";
        case Tok::kw_or: return "`or`";
        case Tok::kw_then: return "`then`";
        case Tok::kw_to: return "`to`";
        case Tok::kw_true: return "`true`";
        case Tok::kw_try: return "`try`";
        case Tok::kw_while: return "`while`";
        case Tok::assign: return "`=`";
        case Tok::arrow: return "`->`";
        case Tok::dot: return "`.`";
        case Tok::ellipsis: return "`...`";
        case Tok::left_bracket: return "`[`";
        case Tok::right_bracket: return "`]`";
        case Tok::left_paren: return "`(`";
        case Tok::right_paren: return "`)`";
        case Tok::left_brace: return "`{`";
        case Tok::right_brace: return "`}`";
        case Tok::comma: return "`,`";
        case Tok::at: return "`@`";
        case Tok::colon: return "`:`";
        case Tok::colon_colon: return "`::`";
        case Tok::semicolon: return "`;`";
        case Tok::tilde: return "`~`";
        case Tok::question: return "`?`";
        case Tok::question_dot: return "`?.`";
        case Tok::minus: return "`-`";
        case Tok::bang: return "`!`";
        case Tok::set: return "`:=`";
        case Tok::star: return "`*`";
        case Tok::coalesce: return "`?\?`";
        case Tok::comparison:
        case Tok::additive:
        case Tok::multiplicative: return "an operator";
    }
    return "";
}

Lexer::Lexer(std::uint32_t file) : file_(file), text_(source_map().text(file)) {
    check_encoding();
    if (text_.starts_with("\xEF\xBB\xBF")) position_ = 3;
}

void Lexer::fail(int code, std::size_t begin, std::size_t end, std::string message) const {
    throw ScriptError({Severity::error, code, {file_, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)}, std::move(message), {}, position_ >= text_.size()});
}

void Lexer::check_encoding() const {
    for (std::size_t i = 0; i < text_.size();) {
        const std::size_t length = character_length(text_, i);
        if (length == 0)
            fail(1, i, i + 1, fmt::format("This is not UTF-8 text (byte 0x{:02x}). Is it a script?", static_cast<unsigned char>(text_[i])));
        i += length;
    }
}

void Lexer::illegal_character() const {
    const std::size_t length = character_length(text_, position_);
    const unsigned point = code_point(text_, position_, length);
    const std::string shown(text_.substr(position_, length));
    std::string message = fmt::format("Unexpected character `{}`.", shown);
    if (point < 0x20 || point == 0x7F) message = fmt::format("Unexpected control character 0x{:02x}. Is this a script?", point);
    if (point == '&') message += " A logical conjunction is written `and`.";
    if (point == '|') message += " A logical disjunction is written `or`.";
    if (point == 0x2013 || point == 0x2014) message += " A minus sign is written `-`.";
    if ((point >= 0x2018 && point <= 0x201F) || point == 0xAB || point == 0xBB) message += " Strings are written between \" or '.";
    fail(1, position_, position_ + length, std::move(message));
}

std::size_t Lexer::space_length(std::size_t offset, bool& newline) const {
    const char c = at(offset);
    if (c == ' ' || c == '\t' || c == '\r') return 1;
    if (c == '\n' || c == '\f' || c == '\v') {
        newline = true;
        return 1;
    }
    if (static_cast<unsigned char>(c) < 0x80) return 0;
    const std::size_t length = character_length(text_, offset);
    const unsigned point = code_point(text_, offset, length);
    if (point == 0x2028 || point == 0x2029 || point == 0x85) newline = true;
    return point == 0xA0 || point == 0x85 || point == 0x1680 || (point >= 0x2000 && point <= 0x200A) || point == 0x2028 || point == 0x2029 ||
                   point == 0x202F || point == 0x205F || point == 0x3000
               ? length
               : 0;
}

std::size_t Lexer::letter_length(std::size_t offset) const {
    const char c = at(offset);
    if (ascii_letter(c)) return 1;
    if (static_cast<unsigned char>(c) < 0x80) return 0;
    const std::size_t length = character_length(text_, offset);
    const unsigned point = code_point(text_, offset, length);
    bool newline = false;
    if (space_length(offset, newline) != 0) return 0;
    const bool punctuation = (point < 0xC0 && point != 0xAA && point != 0xB5 && point != 0xBA) || point == 0xD7 || point == 0xF7 ||
                             (point >= 0x2010 && point <= 0x205E) || (point >= 0x3001 && point <= 0x3020) || point == 0xFEFF ||
                             (point >= 0xFF01 && point <= 0xFF20);
    return punctuation ? 0 : length;
}

std::size_t Lexer::identifier_length(std::size_t offset) const {
    std::size_t end = offset;
    while (at(end) == '_') ++end;
    const std::size_t first = letter_length(end);
    if (first == 0) return end - offset >= 2 ? end - offset : 0;
    end += first;
    return end - offset + name_rest_length(end);
}

std::size_t Lexer::name_rest_length(std::size_t offset) const {
    std::size_t end = offset;
    for (;;) {
        const char c = at(end);
        if (digit(c) || c == '_' || c == '\'') {
            ++end;
        } else if (const std::size_t letter = letter_length(end); letter != 0) {
            end += letter;
        } else {
            return end - offset;
        }
    }
}

Token Lexer::token(Tok kind, std::size_t begin) {
    if (++tokens_ > most_tokens) fail(3, begin, position_, fmt::format("This script is too long: it has more than {} words and signs.", most_tokens));
    Token t{kind, newline_, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(position_),
            static_cast<std::uint32_t>(comments_.size())};
    newline_ = false;
    before_previous_ = previous_;
    previous_ = kind;
    return t;
}

void Lexer::skip_comment() {
    const std::size_t begin = position_;
    std::size_t before = begin;
    while (before > 0 && (text_[before - 1] == ' ' || text_[before - 1] == '\t')) --before;
    if (match("#<")) {
        unsigned level = 0;
        do {
            if (match("#<")) {
                ++level;
                position_ += 2;
            } else if (match(">#")) {
                --level;
                position_ += 2;
            } else {
                if (position_ >= text_.size()) fail(3, begin, begin + 2, "This comment is not terminated: its `>#` is missing.");
                if (text_[position_] == '\n') newline_ = true;
                ++position_;
            }
        } while (level != 0);
    } else {
        position_ = std::min(text_.find('\n', position_), text_.size());
    }
    comments_.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(position_), before == 0 || text_[before - 1] == '\n'});
}

void Lexer::skip_blanks() {
    while (position_ < text_.size()) {
        if (text_[position_] == '#') {
            skip_comment();
        } else if (const std::size_t length = space_length(position_, newline_); length != 0) {
            position_ += length;
        } else {
            return;
        }
    }
}

Token Lexer::next() {
    if (string_ended_) {
        string_ended_ = false;
        const std::size_t begin = position_;
        position_ += open_.back().escaped ? 2 : 1;
        open_.pop_back();
        return token(Tok::interpolation_end, begin);
    }
    if (in_string_) return string_rest();
    skip_blanks();
    const std::size_t begin = position_;
    if (begin >= text_.size()) {
        if (!open_.empty()) fail(3, open_.back().begin, open_.back().begin + 1, "This string is not terminated: the `}` of a `#{` in it is missing.");
        return token(Tok::end_of_file, begin);
    }
    const char c = text_[begin];
    if (const std::size_t length = identifier_length(begin); length != 0) {
        if (length == 1 && c == 'r' && at(begin + 1) == '/' && previous_ != Tok::dot && previous_ != Tok::question_dot) return regexp();
        return word(length);
    }
    if (digit(c) || (c == '.' && digit(at(begin + 1)))) return number();
    // A name of a setting may start with _ and a digit, after its dot and in types only: codecs._4xm.
    if (c == '_' && digit(at(begin + 1)) && (types_ || previous_ == Tok::dot || previous_ == Tok::question_dot)) {
        std::size_t end = begin + 1;
        while (digit(at(end))) ++end;
        return word(end - begin + name_rest_length(end));
    }
    if (c == '_') {
        ++position_;
        return token(Tok::underscore, begin);
    }
    if (c == '"' || c == '\'') {
        if (types_ && c == '\'') {
            const std::size_t length = identifier_length(begin + 1);
            if (length != 0 && text_[begin + length] != '\'') {
                position_ += 1 + length;
                return token(Tok::type_variable, begin);
            }
        }
        return string(c, false);
    }
    if (c == '\\' && !open_.empty() && (at(begin + 1) == '"' || at(begin + 1) == '\'')) return string(at(begin + 1), true);
    if (c == '%' && letter_length(begin + 1) != 0) return percent();
    if (c == '{') {
        std::size_t end = begin + 1;
        while ((at(end) >= 'a' && at(end) <= 'z') || at(end) == '_') ++end;
        if (at(end) == '|') return raw_string(end - begin - 1);
    }
    return symbol();
}

Token Lexer::word(std::size_t length) {
    const std::size_t begin = position_;
    position_ += length;
    const std::string_view text = text_.substr(begin, length);
    for (const Word& keyword : keywords) {
        if (keyword.text == text) return token(keyword.kind, begin);
    }
    return token(Tok::identifier, begin);
}

Token Lexer::number() {
    const std::size_t begin = position_;
    std::size_t end = begin;
    const auto digits = [&](auto&& accept) {
        while (accept(at(end)) || at(end) == '_') ++end;
    };
    const auto finish = [&](Tok kind) {
        position_ = end;
        return token(kind, begin);
    };
    if (at(begin) == '0') {
        const char letter = static_cast<char>(at(begin + 1) | 0x20);
        const auto prefixed = [&](char which, auto&& accept) {
            if (letter != which || !accept(at(begin + 2))) return false;
            end = begin + 2;
            digits(accept);
            return true;
        };
        if (prefixed('x', [](char c) { return digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f'); }) ||
            prefixed('o', [](char c) { return c >= '0' && c <= '7'; }) || prefixed('b', [](char c) { return c == '0' || c == '1'; }))
            return finish(Tok::integer);
    }
    digits(digit);
    if (const std::size_t length = time_length(text_.substr(begin)); begin + length > end && letter_length(begin + length) == 0) {
        end = begin + length;
        std::size_t dash = end;
        while (at(dash) == ' ' || at(dash) == '\t') ++dash;
        if (at(dash) != '-') return finish(Tok::time);
        do ++dash;
        while (at(dash) == ' ' || at(dash) == '\t');
        const std::size_t second = time_length(text_.substr(dash));
        if (second == 0) return finish(Tok::time);
        end = dash + second;
        return finish(Tok::interval);
    }
    // A method of an integer (3.{a = 1}) and a spread are not the dot of a number.
    Tok kind = Tok::integer;
    if (at(end) == '.' && at(end + 1) != '{' && text_.substr(end, 3) != "...") {
        kind = Tok::floating;
        ++end;
        digits(digit);
    }
    if (before_previous_ == Tok::if_version) {
        while (end < text_.size() && static_cast<unsigned char>(text_[end]) > ' ') ++end;
        return finish(Tok::version);
    }
    if ((at(end) | 0x20) == 'e') {
        std::size_t exponent = end + 1;
        if (at(exponent) == '+' || at(exponent) == '-') ++exponent;
        if (digit(at(exponent))) {
            end = exponent;
            digits(digit);
            kind = Tok::floating;
        }
    }
    return finish(kind);
}

Token Lexer::percent() {
    const std::size_t begin = position_;
    std::size_t end = begin + 1;
    for (;;) {
        const std::size_t letter = letter_length(end);
        if (letter != 0) {
            end += letter;
        } else if (digit(at(end)) || at(end) == '.' || at(end) == '_') {
            ++end;
        } else {
            break;
        }
    }
    position_ = end;
    const std::string_view name = text_.substr(begin + 1, end - begin - 1);
    for (const Word& directive : directives) {
        if (directive.text != name) continue;
        if (directive.kind == Tok::include || directive.kind == Tok::include_extra) return included(begin, directive.kind);
        return token(directive.kind, begin);
    }
    return token(Tok::encoder, begin);
}

Token Lexer::included(std::size_t begin, Tok kind) {
    std::size_t open = position_;
    while (at(open) == ' ' || at(open) == '\t') ++open;
    const bool library = at(open) == '<' && kind == Tok::include;
    if (at(open) != '"' && !library)
        fail(3, begin, position_, fmt::format("`{}` must be followed by the name of a file: %include \"file.liq\".", text_.substr(begin, position_ - begin)));
    const std::size_t close = text_.find(library ? '>' : '"', open + 1);
    if (close == std::string_view::npos || text_.substr(open, close - open).find('\n') != std::string_view::npos)
        fail(3, open, open + 1, "The name of the included file is not terminated.");
    position_ = close + 1;
    return token(library ? Tok::include_library : kind, begin);
}

bool Lexer::string_text(const Open& open) {
    for (;;) {
        position_ = text_.find_first_of("\\#\"'", position_);
        if (position_ == std::string_view::npos) {
            position_ = text_.size();
            fail(3, open.begin, open.begin + 1, fmt::format("This string is not terminated: its closing {} is missing.", open.quote));
        }
        const char c = text_[position_];
        if (c == '#' && at(position_ + 1) == '{') return false;
        if (c == '\\') {
            if (open.escaped && at(position_ + 1) == open.quote) return true;
            position_ = std::min(position_ + 2, text_.size());
        } else if (c == open.quote && !open.escaped) {
            return true;
        } else {
            ++position_;
        }
    }
}

Token Lexer::string(char quote, bool escaped) {
    const std::size_t begin = position_;
    const std::size_t delimiter = escaped ? 2 : 1;
    position_ += delimiter;
    const Open open{quote, escaped, static_cast<std::uint32_t>(begin), 0};
    if (string_text(open)) {
        position_ += delimiter;
        return token(Tok::string, begin);
    }
    // Read again, piece by piece.
    position_ = begin + delimiter;
    open_.push_back(open);
    in_string_ = true;
    return token(Tok::interpolation_begin, begin);
}

Token Lexer::string_rest() {
    const std::size_t begin = position_;
    const bool ended = string_text(open_.back());
    in_string_ = false;
    // Even an empty text separates the expressions of "#{a}#{b}".
    const Token text = token(Tok::interpolation_text, begin);
    string_ended_ = ended;
    if (!ended) position_ += 2;
    return text;
}

Token Lexer::regexp() {
    const std::size_t begin = position_;
    position_ += 2;
    for (;;) {
        position_ = text_.find_first_of("\\/", position_);
        if (position_ == std::string_view::npos) {
            position_ = text_.size();
            fail(3, begin, begin + 2, "This regular expression is not terminated: its closing `/` is missing. A division by r needs spaces: x / r.");
        }
        if (text_[position_] == '/') break;
        position_ = std::min(position_ + 2, text_.size());
    }
    ++position_;
    while (std::string_view("gismu").find(at(position_)) != std::string_view::npos) ++position_;
    return token(Tok::regexp, begin);
}

Token Lexer::raw_string(std::size_t id_length) {
    const std::size_t begin = position_;
    const std::string end = "|" + std::string(text_.substr(begin + 1, id_length)) + "}";
    const std::size_t close = text_.find(end, begin + id_length + 2);
    if (close == std::string_view::npos) {
        position_ = text_.size();
        fail(3, begin, begin + id_length + 2, fmt::format("This raw string is not terminated: its `{}` is missing.", end));
    }
    position_ = close + end.size();
    return token(Tok::raw_string, begin);
}

Token Lexer::symbol() {
    const std::size_t begin = position_;
    for (const Word& s : symbols) {
        if (!match(s.text)) continue;
        if (s.kind == Tok::left_brace && !open_.empty()) ++open_.back().braces;
        if (s.kind == Tok::right_brace && !open_.empty() && open_.back().braces-- == 0) {
            ++position_;
            in_string_ = true;
            open_.back().braces = 0;
            return string_rest();
        }
        position_ += s.text.size();
        return token(s.kind, begin);
    }
    illegal_character();
}

}  // namespace castile::lang
