#pragma once
// The lexer: one token at a time, on demand, so that an error is found where reading stops.

#include <cstdint>
#include <string_view>
#include <vector>

#include "lang/span.h"
#include "lang/token.h"

namespace castile::lang {

/// Reads a file of source_map(). Throws ScriptError: 1 for what cannot be a script (bytes, characters), 3 for what does not end.
class Lexer {
public:
    /// Checks the encoding of the whole file: Throws ScriptError.
    explicit Lexer(std::uint32_t file);

    static constexpr std::size_t most_tokens = 1'000'000;   ///< a bound on the memory of what follows

    Token next();
    /// Types: 'a is a variable and not the start of a string. Concerns what is read from now on.
    void set_types(bool types) noexcept { types_ = types; }

    std::uint32_t file() const noexcept { return file_; }
    std::string_view text() const noexcept { return text_; }
    const std::vector<Comment>& comments() const noexcept { return comments_; }

private:
    /// An interpolated string being read: `#{` was seen and its `}` not yet.
    struct Open {
        char quote;
        bool escaped;               ///< it began with \" inside another string
        std::uint32_t begin;
        unsigned braces;            ///< open ones inside the #{ }
    };

    [[noreturn]] void fail(int code, std::size_t begin, std::size_t end, std::string message) const;
    [[noreturn]] void illegal_character() const;
    char at(std::size_t offset) const noexcept { return offset < text_.size() ? text_[offset] : '\0'; }
    bool match(std::string_view what) const noexcept { return text_.substr(position_, what.size()) == what; }
    Token token(Tok kind, std::size_t begin);
    void check_encoding() const;
    void skip_blanks();
    void skip_comment();
    std::size_t space_length(std::size_t offset, bool& newline) const;
    /// Length of the identifier character at offset; 0: none.
    std::size_t letter_length(std::size_t offset) const;
    std::size_t identifier_length(std::size_t offset) const;
    /// Of the characters that may follow the first of a name.
    std::size_t name_rest_length(std::size_t offset) const;
    Token word(std::size_t length);
    Token number();
    Token percent();
    Token included(std::size_t begin, Tok kind);
    Token string(char quote, bool escaped);
    Token string_rest();            ///< after the } of an interpolation
    /// Reads text of a string up to its end (true) or `#{` (false); position_ is then at the quote or at the `#`.
    bool string_text(const Open& open);
    Token regexp();
    Token raw_string(std::size_t id_length);
    Token symbol();

    std::uint32_t file_;
    std::string_view text_;
    std::size_t position_ = 0;
    std::vector<Comment> comments_;
    std::vector<Open> open_;
    bool in_string_ = false;        ///< what comes next is text of open_.back()
    bool string_ended_ = false;     ///< the closing quote of open_.back() comes next
    std::size_t tokens_ = 0;
    bool types_ = false;
    bool newline_ = true;
    Tok previous_ = Tok::end_of_file, before_previous_ = Tok::end_of_file;
};

}  // namespace castile::lang
