#pragma once
// From the surface tree to terms: sugar goes, %ifdef is decided, included files take the place of their %include.

#include <string>
#include <string_view>
#include <vector>

#include "lang/arena.h"
#include "lang/ast.h"
#include "lang/parse.h"
#include "lang/term.h"

namespace castile::lang {

/// One script with all that it includes. Throws ScriptError (3, and those of the parser for included files).
class Desugar {
public:
    Desugar(Arena& arena, const ParseContext& context, std::vector<Diagnostic>& warnings)
        : arena_(arena), context_(context), warnings_(warnings) {}

    Term* program(const ast::Program& program);

private:
    class Depth {
    public:
        Depth(Desugar& desugar, Span where, std::size_t levels);
        ~Depth() { desugar_.depth_ -= levels_; }
        Depth(const Depth&) = delete;
        Depth& operator=(const Depth&) = delete;

    private:
        Desugar& desugar_;
        std::size_t levels_;
    };
    friend class Depth;

    template <class Node> Term* make(Span span, Node node) { return arena_.make<Term>(span, std::move(node)); }
    Term* unit(Span span) { return make(span, term::Tuple{}); }
    Term* variable(Span span, Name name) { return make(span, term::Variable{name}); }
    Term* method(Span span, Name object, Name method);
    Term* apply(Span span, Term* function, std::vector<Term*> arguments);
    [[noreturn]] void fail(Span where, std::string message, std::vector<Diagnostic::Note> notes = {}) const;

    // Blocks: desugar_block.cpp.
    /// A statement; what follows it in the block goes into its body when it opens a scope (Let, Open).
    struct Piece { Term* term; bool opens; };
    Term* block(const ast::Block& block);
    void statements(const ast::Block& block, std::vector<Piece>& out);
    Term* chain(const std::vector<Piece>& pieces, Span span);
    Term* binding(const ast::Statement& statement, const ast::Binding& binding);
    Term* bound_value(const ast::Binding& binding, Span span);
    void include(const ast::Include& include, Span span, std::vector<Piece>& out);
    const ast::Block* taken(const ast::StaticIf& conditional);
    void remember(const Pattern& pattern, const std::vector<Name>& path);
    Pattern* pattern(const ast::Pattern& pattern);
    term::Function function(const std::vector<ast::Param>& params, Name name);
    term::Argsof argsof(const ast::Argsof& argsof) { return {argsof.function, argsof.only, argsof.except, argsof.span}; }

    // Expressions: desugar.cpp, desugar_chain.cpp.
    Term* term(const ast::Expr* e);
    Term* interpolation(const ast::Interpolation& node, Span span);
    Term* record(const ast::Record& node, Span span);
    Term* conditional(const ast::If& node, Span span);
    Term* unary(const ast::Unary& node, Span span);
    Term* binary(const ast::Binary& node, Span span);
    Term* time(const ast::Time& node, Span span);
    Term* regexp(const ast::Regexp& node, Span span);
    Term* encoder(const ast::Encoder& node, Span span);
    Term* list(const ast::List& node, Span span);
    /// a.b(c)?.d; `otherwise` is what follows `??`.
    Term* links(const ast::Expr* e, const ast::Expr* otherwise);
    Term* follow(Term* value, const std::vector<const ast::Expr*>& steps, std::size_t step, Term* otherwise);
    std::vector<term::Argument> arguments(const std::vector<ast::Argument>& arguments);

    Arena& arena_;
    Arena trees_;                               ///< of the included files
    const ParseContext& context_;
    std::vector<Diagnostic>& warnings_;
    const ast::Program* current_ = nullptr;
    struct Reading { std::string path; Span where; };
    std::vector<Reading> reading_;              ///< files being included, outermost first
    std::vector<std::string> defined_;          ///< names in scope, dotted
    std::size_t depth_ = 0;
};

}  // namespace castile::lang
