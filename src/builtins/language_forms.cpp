// What the language's own words do, as functions: documented and typed like any other.

#include "builtins/define.h"
#include "lang/eval.h"

namespace castile::builtins {

namespace {

/// Runs what must run at the end, whether an error passes or not.
template <class F> Value ending_with(const Value& finally, F body) {
    Value result;
    try {
        result = body();
    } catch (const RuntimeError&) {
        finally.call();
        throw;
    }
    finally.call();
    return result;
}

Value catch_error(const BuiltinArgs& a) {
    const Value &kinds = a[0], &body = a[1], &handler = a[2];
    return ending_with(a[3], [&] {
        try {
            return body.call();
        } catch (const RuntimeError& e) {
            bool wanted = kinds.is_null();
            if (!wanted)
                for (const Value& kind : kinds.elements()) wanted = wanted || lang::error_info(kind).kind == e.kind();
            if (!wanted) throw;
            return handler.call({lang::to_value(e)});
        }
    });
}

const Definitions booleans("Bool", {
    {"and", "Are both true? The second is asked only when the first is true.", {pos("{bool}"), pos("{bool}")}, "bool", [](const BuiltinArgs& a) {
        return boolean(a[0].get().as_bool() && a[1].get().as_bool()); }},
    {"or", "Is one of them true? The second is asked only when the first is false.", {pos("{bool}"), pos("{bool}")}, "bool", [](const BuiltinArgs& a) {
        return boolean(a[0].get().as_bool() || a[1].get().as_bool()); }},
});

const Definitions control("Programming", {
    {"if", "One of two functions, whether a condition holds: `if c then a else b end`.", {pos("bool", "Condition."), arg("then", "() -> 'a", "Called when it holds."), arg("else", "() -> 'a", "Called when not.")},
     "'a", [](const BuiltinArgs& a) { return a[a[0].as_bool() ? 1 : 2].call(); }},
    {"while", "Call a function as long as a condition holds: `while c do ... end`.", {pos("{bool}", "Condition."), pos("() -> unit", "What to repeat.")}, "unit", [](const BuiltinArgs& a) {
        while (a[0].get().as_bool()) a[1].call();
        return Value(); }},
    {"for", "Call a function on what an iterator gives, until that is null: `for x = iterator do ... end`.", {pos("() -> 'a?", "Iterator."), pos("('a) -> unit", "What to call.")}, "unit",
     [](const BuiltinArgs& a) {
        for (Value v = a[0].call(); !v.is_null(); v = a[0].call()) a[1].call({v});
        return Value(); }},
    {"error.catch", "The result of a function, or of another one on the error it raises: `try ... catch e do ... finally ... end`.",
     {arg("errors", "[error]?", "Kinds of errors to catch; all when `null`."), arg("body", "() -> 'a", "Called first."),
      arg("catch", "(error.{kind : string, message : string, trace : [{cstart : int, cstop : int, filename : string, lstart : int, lstop : int, to_string : (?prefix : string) -> string}]}) -> 'a", "Called on the error."),
      arg("finally", "() -> unit", "Called at the end, whatever happened.")}, "'a", catch_error},
});

}  // namespace

}  // namespace castile::builtins
