// Errors as values.

#include <mutex>

#include "builtins/define.h"
#include "lang/diag.h"
#include "lang/eval.h"

namespace castile::builtins {

namespace {

/// A place in a script, as scripts see it.
Value position(lang::Span span) {
    auto& map = lang::source_map();
    auto from = map.position(span.file, span.begin), to = map.position(span.file, span.end);
    std::string where = map.describe(span);
    Value to_string = native([where](std::span<const CallArgument> a) {
        std::string prefix = "at ";
        for (const CallArgument& argument : a)
            if (argument.label == Name("prefix")) prefix = argument.value.as_string();
        return text(prefix + (where.starts_with("at ") ? where.substr(3) : where));
    });
    return Value::record({{"filename", text(map.name(span.file))}, {"lstart", integer(from.line)}, {"lstop", integer(to.line)},
                          {"cstart", integer(from.column)}, {"cstop", integer(to.column)}, {"to_string", to_string}});
}

constexpr const char* position_type = "{filename : string, lstart : int, lstop : int, cstart : int, cstop : int, to_string : (?prefix : string) -> string}";
const std::string trace_type = std::string("[") + position_type + "]";

Value trace(const Value& error) {
    std::vector<Value> positions;
    for (lang::Span s : lang::error_info(error).stack) positions.push_back(position(s));
    return Value::list(std::move(positions));
}

const lang::RegisterBuiltin methods[] = {
    lang::RegisterBuiltin(ForeignMethod{"error", "kind", "What kind of error it is.", {}, "", [](const Value& e, const BuiltinArgs&) { return text(lang::error_info(e).kind); }, "string"}),
    lang::RegisterBuiltin(ForeignMethod{"error", "message", "What happened.", {}, "", [](const Value& e, const BuiltinArgs&) { return text(lang::error_info(e).message); }, "string"}),
    lang::RegisterBuiltin(ForeignMethod{"error", "trace", "The calls it happened in.", {}, "", [](const Value& e, const BuiltinArgs&) { return trace(e); }, trace_type}),
};

const Definitions definitions("Programming", {
    {"error.register", "A kind of error.", {pos("string", "Name of the kind.")}, "error", [](const BuiltinArgs& a) { return lang::error_value(a[0].as_string(), ""); }},
    {"error.raise", "Raise an error.", {pos("error", "Its kind."), opt_pos("string", "\"\"", "What happened.")}, "'a", [](const BuiltinArgs& a) -> Value {
        auto& info = lang::error_info(a[0]);
        throw RuntimeError(info.kind, a[1].as_string()); }},
    {"error.kind", "Kind of an error.", {pos("error")}, "string", [](const BuiltinArgs& a) { return text(lang::error_info(a[0]).kind); }},
    {"error.message", "Message of an error.", {pos("error")}, "string", [](const BuiltinArgs& a) { return text(lang::error_info(a[0]).message); }},
    {"error.methods", "The error itself.", {pos("error")}, "error", [](const BuiltinArgs& a) { return a[0]; }},
    {"error.on_error", "Call a function on every error that is raised, caught or not. It may raise another one instead.", {pos("(error) -> unit")}, "unit", [](const BuiltinArgs& a) {
        lang::on_every_error([f = a[0]](const RuntimeError& e) { f.call({lang::to_value(e)}); });
        return Value(); }},
    {"assert", "Raise an error unless a condition holds.", {pos("bool")}, "unit", [](const BuiltinArgs& a) {
        if (!a[0].as_bool()) raise("assertion", "Assertion failed.");
        return Value(); }},
    {"failwith", "Raise an error of kind `failure`.", {pos("string", "What happened.")}, "'a", [](const BuiltinArgs& a) -> Value { raise("failure", a[0].as_string()); }},
});

#define CASTILE_ERROR(name) {"error." name, "An error of kind " name ".", "error", [] { return lang::error_value(name, ""); }}
const Constants kinds("Programming", {
    CASTILE_ERROR("assertion"), CASTILE_ERROR("clock"), CASTILE_ERROR("eval"), CASTILE_ERROR("failure"), CASTILE_ERROR("file"), CASTILE_ERROR("file.cross_device"),
    CASTILE_ERROR("http"), CASTILE_ERROR("invalid"), CASTILE_ERROR("json"), CASTILE_ERROR("not_found"), CASTILE_ERROR("output"), CASTILE_ERROR("socket"), CASTILE_ERROR("sqlite"),
    CASTILE_ERROR("string"), CASTILE_ERROR("xml"), CASTILE_ERROR("yaml"), CASTILE_ERROR("stack_overflow"),
});
#undef CASTILE_ERROR

const Definitions positions("Programming", {
    {"position", "Where in the script this is called.", {}, position_type, [](const BuiltinArgs& a) { return position(a.call_site()); }},
});

}  // namespace

}  // namespace castile::builtins
