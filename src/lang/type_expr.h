#pragma once
// Types as written in a script: the grammar of annotations and of the builtins' declarations.

#include <string>
#include <variant>
#include <vector>

#include "base/name.h"
#include "lang/span.h"

namespace castile::lang {

struct TypeExpr;

namespace texpr {
struct Named { Name name; };                              ///< int, float, string, bool, never, any, yuv420p, stereo, ... dotted too: ffmpeg.copy
struct Variable { Name name; };                           ///< 'a, without the quote
struct Wildcard {};                                       ///< _
struct Apply { Name name; std::vector<struct ApplyArg> args; };   ///< pcm(stereo), source(audio=pcm('a), video=none), ref(int), [..] is List
struct ApplyArg { Name label; TypeExpr* type; std::string literal; bool rest = false; bool optional = false; };  ///< label may be empty; literal for numbers/strings; rest: `...` or `...'a`; optional: ?audio=pcm('a)
struct List { TypeExpr* element; bool json_object = false; };  ///< [t]; [(string * t)] as json.object
struct Tuple { std::vector<TypeExpr*> elements; };        ///< t * u; empty: unit
struct Nullable { TypeExpr* type; };                      ///< t?
struct Getter { TypeExpr* type; };                        ///< {t}
struct Param { Name label; TypeExpr* type; bool optional = false; };  ///< ?label : t
struct Arrow { std::vector<Param> params; TypeExpr* result; };        ///< (t, ?label : u) -> v
struct Method { Name name; TypeExpr* type; bool optional = false; std::string json_name; };  ///< name : t, name? : t, "key" as name : t
struct Record { TypeExpr* base; std::vector<Method> methods; };       ///< base.{...}; base null: a plain record
struct Argsof { Name function; std::vector<std::string> only_or_except; };
}  // namespace texpr

/// Constraints of builtin declarations ("where 'a is a number type") are `where` clauses on the outermost node.
/// Without the quote; the words without article and final "type": "number", "orderable", "track", "set of internal tracks", ...
struct TypeConstraint { Name variable; std::string kind; };

struct TypeExpr {
    Span span;
    std::variant<texpr::Named, texpr::Variable, texpr::Wildcard, texpr::Apply, texpr::List, texpr::Tuple, texpr::Nullable,
                 texpr::Getter, texpr::Arrow, texpr::Record, texpr::Argsof> node;
    std::vector<TypeConstraint> where;
};

}  // namespace castile::lang
