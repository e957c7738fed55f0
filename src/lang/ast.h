#pragma once
// The surface tree: a script as written. What a formatter needs is here or under the spans: parentheses, spellings, comments.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/name.h"
#include "lang/literal.h"
#include "lang/span.h"
#include "lang/token.h"
#include "lang/type_expr.h"

namespace castile::lang::ast {

struct Expr;
struct Pattern;
struct Block;

// Patterns.
struct VariablePattern { std::vector<Name> path; };      ///< a, or a.b.c where a definition takes one
struct WildcardPattern {};
struct TuplePattern { std::vector<Pattern*> elements; };
struct ListPattern { std::vector<Pattern*> before; Pattern* rest = nullptr; std::vector<Pattern*> after; };
struct FieldPattern { Name name; Pattern* pattern = nullptr; bool optional = false; Span span; };
/// base.{a, b?, c = p}, {a, ...base}
struct RecordPattern { std::vector<FieldPattern> fields; Pattern* base = nullptr; bool spread = false; };

struct Pattern {
    Span span;
    std::variant<VariablePattern, WildcardPattern, TuplePattern, ListPattern, RecordPattern> node;
};

// Expressions.
struct Int { std::int64_t value; };
struct Float { double value; };
struct String { std::string value; char quote; };
struct RawString { std::string id, value; };
struct Part { Span span; std::string text; Expr* value = nullptr; };           ///< a text, or a value
struct Interpolation { std::vector<Part> parts; char quote; };
struct Regexp { std::string pattern, flags; };
struct Bool { bool value; };
struct Null {};
struct Variable { Name name; };
struct Tuple { std::vector<Expr*> elements; };
struct Item { Expr* value; bool spread = false; };
struct List { std::vector<Item> items; };
struct Field { Name name; Expr* value; bool spread = false; };
struct Record { Expr* base; std::vector<Field> fields; };                      ///< {a = 1, ...r}, base.{a = 1}
struct Parens { Expr* value; };
struct Ascribe { Expr* value; TypeExpr* type; };                               ///< (value : type)
struct Begin { Block* block; };                                                ///< begin ... end
struct Getter { Block* block; };                                               ///< { ... }
struct Argsof { Name function; std::vector<Name> only, except; Span span; };   ///< %argsof(f[a, !b])
struct Param {
    Span span;
    Name label;
    Pattern* pattern = nullptr;        ///< null: `argsof`, or ~label alone
    TypeExpr* type = nullptr;
    Expr* default_value = nullptr;
    std::optional<Argsof> argsof;
};
struct Function { std::vector<Param> params; Expr* body; };
struct Argument { Name label; Expr* value = nullptr; std::optional<Argsof> argsof; };
struct Call { Expr* function; std::vector<Argument> arguments; };
struct Index { Expr* base; Expr* key; };                                       ///< base[key]
struct Access { Expr* base; Name name; bool optional = false; };               ///< base.name, base?.name
struct Unary { Name op; Expr* operand; };                                      ///< - ! not
struct Binary { Name op; Expr* left; Expr* right; };
struct Ternary { Expr* condition; Expr* then; Expr* otherwise; };
struct Branch { Block* condition; Block* then; };
struct If { std::vector<Branch> branches; Block* otherwise = nullptr; };
struct While { Expr* condition; Block* body; };
struct For { Pattern* variable; Expr* from; Expr* to; Block* body; };
struct ForEach { Pattern* variable; Expr* iterator; Block* body; };
struct Try { Block* body; Pattern* error = nullptr; Expr* errors = nullptr; Block* handler = nullptr; Block* finally = nullptr; };
struct EncoderParam { Name label; Expr* value = nullptr; Expr* encoder = nullptr; Name word; };
struct Encoder { Name name; std::vector<EncoderParam> params; };
struct Time { TimePoint from; std::optional<TimePoint> to; };
/// %ifdef name, %ifversion >= 2.1, %ifencoder %name.
struct Condition { enum class Kind : std::uint8_t { defined, version, encoder } kind; bool negated = false; std::string name, op; };
struct StaticIf { Condition condition; Block* then; Block* otherwise = nullptr; };

struct Expr {
    Span span;
    std::variant<Int, Float, String, RawString, Interpolation, Regexp, Bool, Null, Variable, Tuple, List, Record, Parens, Ascribe, Begin,
                 Getter, Function, Call, Index, Access, Unary, Binary, Ternary, If, While, For, ForEach, Try, Encoder, Time, StaticIf> node;
};

// Statements.
struct Evaluate { Expr* value; };
struct Open { Expr* value; };
struct Include { enum class Kind : std::uint8_t { file, extra, library } kind; std::string name; };
enum class BindingKind : std::uint8_t { bare, let, def };
struct Binding {
    BindingKind kind;
    std::string decoration;                      ///< "", rec, replaces, json.parse, ..., eval
    std::vector<Argument> options;               ///< let json.parse[json5=true]
    Pattern* pattern;
    TypeExpr* type = nullptr;                    ///< let (x : t) = ...
    std::optional<std::vector<Param>> params;    ///< def f(...)
    Expr* value = nullptr;                       ///< of bare and let
    Block* body = nullptr;                       ///< of def
};

struct Statement {
    Span span;
    std::variant<Evaluate, Binding, Open, Include> node;
    std::uint32_t comments_begin = 0, comments_end = 0;   ///< Program::comments just before it
};

/// What is bound by a statement is known to those that follow in the block.
struct Block {
    Span span;
    std::vector<Statement> statements;
};

struct Program {
    std::uint32_t file = 0;
    Block* block = nullptr;
    std::vector<Comment> comments;
};

}  // namespace castile::lang::ast
