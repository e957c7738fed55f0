#pragma once
// Terms: the small core that the AST is desugared into; what is typed and evaluated.

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/name.h"
#include "lang/span.h"
#include "lang/type_expr.h"

namespace castile::lang {

inline constexpr unsigned max_term_depth = 1000;

struct Term;
struct Type;     // lang/type.h
struct Pattern;
struct Shape;    // lang/decode.h

/// A pattern of let, def parameters, for and catch. Bound variables carry the slot given by the resolver.
namespace pat {
struct Variable { Name name; int slot = -1; bool global = false; };
struct Wildcard {};
struct Tuple { std::vector<Pattern*> elements; };
/// [a, b, ...rest, c]: `rest` null when there is no spread; an anonymous spread is a Wildcard.
struct List { std::vector<Pattern*> before; Pattern* rest = nullptr; std::vector<Pattern*> after; };
struct Field { Name name; Pattern* pattern; bool optional = false; Term* default_value = nullptr; };
/// {a, b = p, c?} over an optional base pattern: p.{a, b}, _.{a}, {a, ...rest}. `rest`: the value without the named methods.
struct Record { std::vector<Field> fields; Pattern* base = nullptr; };
}  // namespace pat

struct Pattern {
    Span span;
    std::variant<pat::Variable, pat::Wildcard, pat::Tuple, pat::List, pat::Record> node;
    TypeExpr* annotation = nullptr;
};

namespace term {
struct Int { std::int64_t value; };
struct Float { double value; };
struct String { std::string value; };
struct Bool { bool value; };
struct Null {};
/// How a variable is reached at run time; filled by the resolver (lang/resolve.h).
enum class Scope : std::uint8_t { unresolved, local, captured, global };
struct Variable { Name name; Scope scope = Scope::unresolved; int slot = -1; };
struct Tuple { std::vector<Term*> elements; };             ///< empty: ()
struct ListItem { Term* value; bool spread = false; };
struct List { std::vector<ListItem> items; };
struct Param {
    Name label;                 ///< empty: unlabelled
    Pattern* pattern;           ///< most often a Variable
    TypeExpr* annotation = nullptr;
    Term* default_value = nullptr;
    bool optional = false;      ///< has a default value
};
/// %argsof(f), %argsof(f[a, b]), %argsof(f[!a]): the labelled params of f, or only some, or all but some.
struct Argsof {
    Name function;              ///< may be dotted
    std::vector<Name> only, except;
    Span span;
    operator Name() const { return function; }
};
struct Capture { Name name; Scope scope; int slot; };      ///< from the enclosing function, into captured slot i
struct Function {
    std::vector<Param> params;
    Term* body;
    TypeExpr* result = nullptr;
    Name name;                  ///< for messages; may be empty
    std::vector<Argsof> argsof; ///< resolved by the checker into params
    std::vector<Capture> captures;
    int locals = 0;             ///< slots of one activation; parameter i arrives in slot i
    int self_slot = -1;         ///< where a recursive local function finds itself
};
/// spread_argsof: f(%argsof(g)) gives f each labelled param of g by its variable (`only`, `except` as in Argsof); value is then null.
struct Argument { Name label; Term* value = nullptr; Name spread_argsof; std::vector<Name> only, except; };
struct Apply { Term* function; std::vector<Argument> arguments; };
struct Doc {
    std::string text;
    std::vector<std::pair<std::string, std::string>> tags;         ///< ("@category", "..."), ("@param", "~x ..."), in order
};
enum class LetKind : std::uint8_t { plain, recursive, replaces };
struct Let {
    LetKind kind;
    Pattern* pattern;
    /// `def a.b.c` / `let a.b.c = ...`: extends the value a with a method: {a, b, c}, and the pattern is then the Variable a. Else empty.
    std::vector<Name> path;
    Term* value;
    Term* body;                 ///< null at the end of a program or block: the value is then ()
    Doc* doc = nullptr;
    bool is_def = false;        ///< written with def (a function or a getter): generalised, unused is warned differently
};
/// `let json.parse (x : t) = s`, `yaml.parse`, `xml.parse`, `sqlite.row`, `sqlite.query`, `eval`: the decoder is guided by the pattern's type.
struct Decode { Name decoder; std::vector<Argument> options; Term* input; const Shape* shape = nullptr; };   ///< shape: by the resolver
struct Sequence { Term* first; Term* second; };
struct MethodValue { Name name; Term* value; };
/// base.{m = v}; {m = v, ...spread}; base null: (). `methods` win over the base's own, and the spread's win over both.
struct Methods { Term* base; std::vector<MethodValue> methods; Term* spread = nullptr; };
/// b.m, b?.m (null when there is no m), (b.m ?? otherwise: when there is no m or it is null)
struct Invoke { Term* base; Name method; bool optional = false; Term* otherwise = nullptr; };
struct Open { Term* record; Term* body; int slot = -1; };     ///< slot: of the record while it is open, by the resolver
struct Coalesce { Term* value; Term* otherwise; };           ///< a ?? b, b only when a is null
struct And { Term* left; Term* right; };
struct Or { Term* left; Term* right; };
struct If { Term* condition; Term* then; Term* otherwise; };
struct While { Term* condition; Term* body; };
struct For { Pattern* variable; Term* from; Term* to; Term* body; };       ///< inclusive
struct ForIn { Pattern* variable; Term* iterator; Term* body; };           ///< iterator: () -> t?
struct Try { Term* body; Pattern* error; Term* errors; Term* handler; Term* finally; };  ///< any of the last four may be null
struct Ascribe { Term* value; TypeExpr* type; };             ///< (v : t)
struct ToFloat { Term* value; };                             ///< inserted by the checker: int where float is wanted
/// %ffmpeg(format="mp3", %audio(codec="libmp3lame", b="128k")), %mp3(bitrate=128, stereo), %audio_low.copy ...
struct EncoderParam {
    Name label;                        ///< empty: positional
    Term* value = nullptr;             ///< a value, or
    Term* encoder = nullptr;           ///< a nested %name(...) (an Encoder term)
    Name word;                         ///< or a bare word: stereo, mono, vbr
};
struct Encoder { Name name; std::vector<EncoderParam> params; };           ///< name without %, "audio_low.copy" keeps the dot
}  // namespace term

/// Not nested deeper than max_term_depth, except along Let::body, Sequence::second and Open::body, which are as long as the program.
struct Term {
    Span span;
    std::variant<term::Int, term::Float, term::String, term::Bool, term::Null, term::Variable, term::Tuple, term::List,
                 term::Function, term::Apply, term::Let, term::Decode, term::Sequence, term::Methods, term::Invoke, term::Open,
                 term::Coalesce, term::And, term::Or, term::If, term::While, term::For, term::ForIn, term::Try, term::Ascribe,
                 term::ToFloat, term::Encoder> node;
    Type* type = nullptr;   ///< set by the checker
};

}  // namespace castile::lang
