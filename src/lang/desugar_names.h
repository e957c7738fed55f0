#pragma once
// The globals that desugaring calls: whoever evaluates must define them. Names no script can write start with "_0_".

namespace castile::lang::desugar_names {

// a + b is Apply(Variable "+", [a, b]): the spelling of the operator is the name of the builtin.
inline constexpr const char* binary_operators[] = {"+",  "-",  "*",  "/",  "%",  "^",  "==", "!=", "<",
                                                   "<=", ">",  ">=", "mod", "+.", "-.", "*.", "/."};
inline constexpr const char* negate = "~-";     ///< -x: ~-(x); a literal is negated in place
inline constexpr const char* negation = "not";  ///< not x: not(x)
inline constexpr const char* index = "_[_]";    ///< m[k]: _[_](m, k)

// "a#{e}b" is string.concat(["a", string(e), "b"]); `concat` is a method of the global `string`.
inline constexpr const char* string = "string";
inline constexpr const char* string_concat = "concat";

inline constexpr const char* regexp = "regexp";        ///< r/x/gi: regexp(flags=["g", "i"], "x")
inline constexpr const char* regexp_flags = "flags";

/// 10h30 and 10h-12h: time_in_mod(from, to, modulus), in local seconds since Sunday 0h taken modulo `modulus` (60, 3600, 86400 or
/// 604800): whether now is in [from, to), or, when from > to, not in [to, from). {10h-12h} is a getter of it.
inline constexpr const char* time_in_mod = "time_in_mod";

// a := b is (a.set(b) : unit); !a is a().
inline constexpr const char* set = "set";

// null(x) is null(x), null.get(x) is null.get(x): Variable "null", a function with methods. Only the bare word `null` is term::Null.
// What follows an optional link is skipped when the link is missing, so a?.b.c(d) is
//   let _0_link = a?.b in if null.defined(_0_link) then null.get(_0_link).c(d) else null end
inline constexpr const char* null = "null";
inline constexpr const char* null_defined = "defined";
inline constexpr const char* null_get = "get";
inline constexpr const char* link_variable = "_0_link";

// The first statement of a script is `let liquidsoap.script.path = "x.liq"` when `liquidsoap.script.path` is defined.
inline constexpr const char* script_path[] = {"liquidsoap", "script", "path"};

// try, for, while, and, or, ??, if and let json.parse have terms of their own (term.h). a :: b is the list [a, ...b]; x @ f is f(x).

}  // namespace castile::lang::desugar_names
