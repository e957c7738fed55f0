#pragma once
// Tokens of a script. A token is a kind and a place: its text is the script's.

#include <cstdint>
#include <string_view>

namespace castile::lang {

enum class Tok : std::uint8_t {
    end_of_file,
    identifier, underscore, type_variable,
    integer, floating, version, time, interval,
    string, raw_string, regexp,
    interpolation_begin, interpolation_text, interpolation_end,
    encoder,                                                    // %name, dots included
    kw_and, kw_begin, kw_catch, kw_def, kw_do, kw_else, kw_elsif, kw_end, kw_false, kw_finally, kw_for, kw_fun, kw_if, kw_let, kw_mod,
    kw_not, kw_null, kw_open, kw_or, kw_then, kw_to, kw_true, kw_try, kw_while,
    if_defined, if_not_defined, if_version, if_encoder, if_not_encoder, static_else, static_end,
    include, include_extra, include_library, arguments_of,
    assign, arrow, dot, ellipsis, left_bracket, right_bracket, left_paren, right_paren, left_brace, right_brace,
    comma, at, colon, colon_colon, semicolon, tilde, question, question_dot, minus, bang, set, star, coalesce,
    comparison,                                                 // == != < <= > >=
    additive,                                                   // + % ^ +. -.
    multiplicative,                                             // / *. /.
};

struct Token {
    Tok kind = Tok::end_of_file;
    bool newline_before = false;        ///< `f` and `(` on two lines are two expressions
    std::uint32_t begin = 0, end = 0;
    std::uint32_t comments = 0;         ///< how many comments precede it in the file
};

struct Comment {
    std::uint32_t begin = 0, end = 0;
    bool own_line = false;              ///< nothing but blanks before it on its line
};

/// For messages: "`then`", "a string", "the end of the script".
std::string_view describe(Tok kind);

inline bool is_keyword(Tok kind) { return kind >= Tok::kw_and && kind <= Tok::kw_while; }

}  // namespace castile::lang
