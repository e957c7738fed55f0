#pragma once
// The parser: recursive descent, precedence climbing for operators. One file to one ast::Program.

#include <string>
#include <string_view>
#include <vector>

#include "lang/arena.h"
#include "lang/ast.h"
#include "lang/diag.h"
#include "lang/lexer.h"

namespace castile::lang {

/// Throws ScriptError: those of the lexer, 2 for an unexpected token, 3 for anything that can be said more precisely.
class Parser {
public:
    /// Deeper nesting is an error: the stack of whoever walks the tree is bounded.
    static constexpr unsigned max_nesting = 400;

    /// `types` holds the types, which outlive the tree.
    Parser(Arena& tree, Arena& types, std::uint32_t file, std::vector<Diagnostic>& warnings);

    ast::Program program();
    /// Every token taken from now on is kept there, for tools that give the script back.
    void record_tokens(std::vector<Token>* tokens) noexcept { recorded_ = tokens; }
    /// A whole file that holds one type.
    TypeExpr* only_type();

private:
    class Nest {
    public:
        explicit Nest(Parser& parser);
        ~Nest() { --parser_.nesting_; }
        Nest(const Nest&) = delete;
        Nest& operator=(const Nest&) = delete;

    private:
        Parser& parser_;
    };
    friend class Nest;

    // Tokens.
    Token peek(std::size_t ahead = 0);
    bool is(Tok kind, std::size_t ahead = 0) { return peek(ahead).kind == kind; }
    Token take();
    bool accept(Tok kind);
    /// `where`: "to close the list opened at ..." and such; may be empty.
    Token expect(Tok kind, std::string_view where = "");
    Token expect_closing(Tok kind, const Token& opening);
    std::string_view text(const Token& t) const { return lexer_.text().substr(t.begin, t.end - t.begin); }
    std::string found(const Token& t) const;
    Span span(const Token& t) const { return {lexer_.file(), t.begin, t.end}; }
    Span since(std::uint32_t begin) const { return {lexer_.file(), begin, last_end_}; }
    [[noreturn]] void fail(int code, Span where, std::string message, std::vector<Diagnostic::Note> notes = {}) const;
    [[noreturn]] void unexpected(std::string_view expected);
    void deprecated(Span where, std::string message);
    Name name(std::string_view what);
    Name method_name();
    std::string string_value(const Token& t) const;
    template <class Node> ast::Expr* make(std::uint32_t begin, Node node) { return arena_.make<ast::Expr>(since(begin), std::move(node)); }

    // Statements: parser_statement.cpp.
    ast::Block* block();
    bool ends_block();
    void statement(ast::Block& into, bool first_of_getter);
    ast::Binding definition();
    ast::Binding let();
    void decoration(ast::Binding& binding);
    ast::Binding bare(ast::Expr* target, std::uint32_t begin);
    ast::Pattern* pattern_of(ast::Expr* target);
    std::vector<ast::Param> params(const Token& opening);
    ast::Param param();
    ast::Argsof argsof();
    std::vector<Name> path();

    // Patterns.
    ast::Pattern* pattern();
    ast::Pattern* parenthesised_pattern(TypeExpr*& annotated);
    ast::Pattern* list_pattern();
    ast::Pattern* record_pattern(ast::Pattern* base, std::uint32_t begin);
    ast::Pattern* variable_or_wildcard(std::string_view what);
    ast::Pattern* make_pattern(std::uint32_t begin, decltype(ast::Pattern::node) node);

    // Expressions: parser_expression.cpp, parser_form.cpp.
    ast::Expr* expression(int minimum = 0);
    ast::Expr* choice(ast::Expr* condition, std::uint32_t begin);
    ast::Expr* operand();
    ast::Expr* postfix(ast::Expr* value, std::uint32_t begin);
    ast::Expr* call(ast::Expr* function, std::uint32_t begin);
    ast::Expr* index(ast::Expr* base, std::uint32_t begin);
    ast::Expr* primary();
    ast::Expr* literal();
    ast::Expr* identifier();
    ast::Expr* interpolation();
    ast::Expr* parenthesised();
    ast::Expr* list();
    ast::Expr* braces();
    ast::Expr* record(ast::Expr* base, const Token& opening, std::uint32_t begin);
    ast::Expr* function();
    ast::Expr* conditional();
    ast::Expr* loop();
    ast::Expr* attempt();
    ast::Expr* encoder();
    ast::EncoderParam encoder_param();
    ast::Expr* static_if();

    // Types: parser_type.cpp.
    TypeExpr* type();
    TypeExpr* annotation();             ///< after its colon
    TypeExpr* type_postfix(TypeExpr* t);
    TypeExpr* type_of_method(TypeExpr* t);
    TypeExpr* type_primary();
    TypeExpr* type_parens();
    TypeExpr* type_braces();
    TypeExpr* type_named();
    TypeExpr* type_list();
    texpr::Param type_param();
    std::vector<texpr::Method> type_methods(const Token& opening);
    void type_constraints(TypeExpr* t);
    texpr::ApplyArg type_argument();
    TypeExpr* make_type(std::uint32_t begin, decltype(TypeExpr::node) node);

    Arena& arena_;
    Arena& types_;
    Lexer lexer_;
    std::vector<Diagnostic>& warnings_;
    std::vector<Token> tokens_;         ///< read and not yet taken, from position_ on
    std::size_t position_ = 0;
    std::vector<Token>* recorded_ = nullptr;
    std::uint32_t last_end_ = 0;        ///< of the last token taken
    std::uint32_t comments_seen_ = 0;   ///< those before the last token taken
    unsigned nesting_ = 0;
};

}  // namespace castile::lang
