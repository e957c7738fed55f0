#pragma once
// Shorthand for declaring builtins.

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lang/builtin.h"

namespace castile::builtins {

using lang::Builtin;
using lang::BuiltinArgs;
using lang::BuiltinConstant;
using lang::BuiltinMethod;
using lang::BuiltinParam;
using lang::CallArgument;
using lang::ForeignKind;
using lang::ForeignMethod;
using lang::RuntimeError;
using lang::Value;
using Call = Value (*)(const BuiltinArgs&);

/// What to say of a positional parameter whose type says it all.
inline const char* usual_doc(std::string_view type) {
    if (type.contains(".{set : ")) return "The variable.";
    if (type.contains("->")) return type.starts_with('{') ? "A value or a getter." : "The function.";
    if (type.starts_with('{')) return "A value or a getter.";
    if (type.starts_with('[')) return "The list.";
    if (type.ends_with('?')) return "The value, or `null`.";
    if (type == "string") return "The string.";
    if (type == "int") return "The integer.";
    if (type == "float") return "The number.";
    if (type == "bool") return "The boolean.";
    if (type == "error") return "The error.";
    return type.starts_with('\'') ? "The value." : "";
}

/// A positional parameter, a labelled one, an optional labelled one, an optional positional one.
inline BuiltinParam pos(const char* type, const char* doc = "") { return {"", type, nullptr, *doc ? doc : usual_doc(type)}; }
inline BuiltinParam arg(const char* label, const char* type, const char* doc = "") { return {label, type, nullptr, doc}; }
inline BuiltinParam opt(const char* label, const char* type, const char* value, const char* doc = "") { return {label, type, value, doc}; }
inline BuiltinParam opt_pos(const char* type, const char* value, const char* doc = "") { return {"", type, value, doc}; }

/// A table of builtins of one category: {name, doc, params, result, call}.
class Definitions {
public:
    struct Entry {
        const char* name;
        const char* doc;
        std::vector<BuiltinParam> params;
        const char* result;
        Call call;
        std::vector<BuiltinMethod> methods{};
        const char* deprecated = "";
    };
    Definitions(const char* category, std::initializer_list<Entry> entries) {
        for (const Entry& e : entries)
            lang::RegisterBuiltin(Builtin{e.name, category, e.doc, e.params, e.result, e.methods, e.deprecated, false, e.call, nullptr});
    }
};

struct Constants {
    struct Entry { const char* name; const char* doc; const char* type; Value (*value)(); };
    Constants(const char* category, std::initializer_list<Entry> entries) {
        for (const Entry& e : entries) lang::RegisterBuiltin(BuiltinConstant{e.name, category, e.doc, e.type, e.value});
    }
};

[[noreturn]] inline void raise(const char* kind, std::string message) { throw RuntimeError(kind, std::move(message)); }

inline Value text(std::string s) { return Value::string(std::move(s)); }
inline Value integer(std::int64_t i) { return Value::integer(i); }
inline Value boolean(bool b) { return Value::boolean(b); }
inline Value number(double d) { return Value::floating(d); }
inline Value pair(Value a, Value b) { return Value::tuple({std::move(a), std::move(b)}); }
inline Value strings(const std::vector<std::string>& list) {
    std::vector<Value> values;
    values.reserve(list.size());
    for (const std::string& s : list) values.push_back(text(s));
    return Value::list(std::move(values));
}
/// [(string * string)]
inline Value assoc(const std::vector<std::pair<std::string, std::string>>& entries) {
    std::vector<Value> values;
    values.reserve(entries.size());
    for (const auto& [k, v] : entries) values.push_back(pair(text(k), text(v)));
    return Value::list(std::move(values));
}
inline std::vector<std::pair<std::string, std::string>> to_assoc(const Value& list) {
    std::vector<std::pair<std::string, std::string>> entries;
    for (const Value& e : list.elements()) entries.emplace_back(e.elements()[0].as_string(), e.elements()[1].as_string());
    return entries;
}
inline std::optional<std::string> optional_text(const Value& v) {
    return v.is_null() ? std::nullopt : std::optional(v.as_string());
}
inline std::optional<double> optional_number(const Value& v) { return v.is_null() ? std::nullopt : std::optional(v.as_float()); }
/// A native function as a value; `f` gets the positional arguments.
template <class F> Value native(F f, std::string name = "") {
    return Value::function([f = std::move(f)](std::span<const CallArgument> a) -> Value { return f(a); }, std::move(name));
}

}  // namespace castile::builtins
