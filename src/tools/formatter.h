#pragma once
// From a parsed script to the document that prints it: one class, in the order of the script's tokens.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "lang/ast.h"
#include "lang/token.h"
#include "tools/layout.h"

namespace castile::tools {

/// Walks the tree for the structure and the tokens for the text: every token and comment is given back once, as written.
/// Throws FormatError (format.h) where tree and tokens do not agree.
class Formatter {
public:
    /// `tokens` as the parser took them.
    Formatter(Docs& docs, std::string_view text, std::vector<lang::Token> tokens, const std::vector<lang::Comment>& comments);

    DocPtr program(const lang::ast::Program& program);

private:
    using Tok = lang::Tok;
    using Parts = std::vector<DocPtr>;

    // Tokens and comments: trivia.cpp.
    bool is(Tok kind, std::size_t ahead = 0) const { return kind_at(at_ + ahead) == kind; }
    Tok kind_at(std::size_t index) const { return tokens_[index < tokens_.size() ? index : tokens_.size() - 1].kind; }
    std::string_view text_of(std::size_t index) const;
    DocPtr token();                          ///< the next one, with the comments that belong to it
    DocPtr expect(Tok kind);
    DocPtr token_without_text();             ///< only its comments
    DocPtr dangling();                       ///< the comments before a closing token, each on a line; null when there are none
    DocPtr comment(const lang::Comment& comment);
    void comments_before(std::size_t token, Parts& out);
    void comments_after(std::size_t token, Parts& out);
    bool trails(std::size_t comment, std::size_t token) const;
    bool comment_before(std::size_t token) const;   ///< does one end the line before it, or precede it on lines of their own?
    bool line_between(std::size_t begin, std::size_t end) const;
    bool blank_before(std::size_t token) const;          ///< an empty line before it or before its comments
    bool one_line(lang::Span span) const { return !line_between(span.begin, span.end); }
    [[noreturn]] void lost() const;

    // Statements: formatter.cpp.
    enum class Place : std::uint8_t { in_line, own_line };
    DocPtr statements(const lang::ast::Block& block, Place place = Place::in_line);
    DocPtr statement(const lang::ast::Statement& statement, Place place);
    DocPtr binding(const lang::ast::Binding& binding);
    DocPtr definition(const lang::ast::Binding& binding, lang::Span span);
    DocPtr assigned(DocPtr equals, const lang::ast::Expr& value);
    DocPtr params(const std::vector<lang::ast::Param>& params);
    DocPtr param(const lang::ast::Param& param);
    DocPtr static_if(const lang::ast::StaticIf& node, lang::Span span);

    // Patterns and types, by their tokens alone: run.cpp.
    struct Run { bool types = false, braces = false; };
    DocPtr run(Run where, const std::function<bool()>& ends);
    DocPtr run_brackets(Run where);
    bool spaced(std::size_t previous, std::size_t next, Run where) const;

    // Expressions: formatter_expression.cpp.
    DocPtr expression(const lang::ast::Expr& e, Place place = Place::in_line);
    DocPtr interpolation();
    DocPtr chain(const lang::ast::Expr& e);
    DocPtr binary(const lang::ast::Expr& e, Place place);
    DocPtr argument(const lang::ast::Argument& argument);
    DocPtr call(const lang::ast::Call& call);
    DocPtr record(const lang::ast::Record& record);
    DocPtr function(const lang::ast::Function& function);
    DocPtr conditional(const lang::ast::If& node, lang::Span span);
    DocPtr attempt(const lang::ast::Try& node, lang::Span span);
    DocPtr loop(const lang::ast::Block& body, Parts head, lang::Span span);
    /// A block between two words or braces; `edge` is what stands between them and the block when it is flat.
    void block(Parts& out, const lang::ast::Block& block, DocPtr edge, Place place = Place::in_line);
    /// hug: the last item may stay open at the end of the line. fill: as many as fit on each line.
    struct Items { std::size_t count; std::function<DocPtr(std::size_t)> make; bool hug = false; bool fill = false; };
    DocPtr bracketed(Tok closing, const Items& items);

    Docs& docs_;
    std::string_view text_;
    std::vector<lang::Token> tokens_;        ///< and the end of the file
    const std::vector<lang::Comment>& comments_;
    std::vector<std::uint32_t> leading_;     ///< of each token: the first comment before it that is not printed yet
    std::size_t at_ = 0;
    bool opened_ = true;                     ///< nothing was printed in this block yet: no empty line
    unsigned depth_ = 0;
};

}  // namespace castile::tools
