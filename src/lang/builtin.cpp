// The table of declarations, and builtins as function values.

#include "lang/builtin.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <unordered_map>

#include "base/error.h"
#include "lang/builtin_object.h"
#include "lang/builtin_table.h"
#include "lang/diag.h"

namespace castile::lang {

namespace {

struct Tables {
    std::vector<Builtin> builtins;
    std::vector<BuiltinConstant> constants;
    std::vector<ForeignMethod> methods;
    bool frozen = false;

    std::unordered_map<std::string_view, const Builtin*> builtin_by_name;
    std::unordered_map<std::string_view, const BuiltinConstant*> constant_by_name;
    std::map<std::pair<const void*, const void*>, const ForeignMethod*> method_by_name;   // keys of the names

    std::mutex signatures_mutex;
    std::unordered_map<const void*, std::unique_ptr<Signature>> signatures;
    std::function<Value(std::string_view)> evaluate;
};

Tables& tables() {
    static Tables* tables = new Tables;
    return *tables;
}

Signature& signature_of(const void* declaration, const std::vector<BuiltinParam>& params) {
    Tables& t = tables();
    std::lock_guard lock(t.signatures_mutex);
    auto& slot = t.signatures[declaration];
    if (!slot) slot = std::make_unique<Signature>(params);
    return *slot;
}

/// Literals, without the parser: what nearly every default is.
std::optional<Value> parse_literal(std::string_view s) {
    if (s == "null") return Value::null();
    if (s == "true" || s == "false") return Value::boolean(s == "true");
    if (s == "()") return Value::unit();
    if (s == "[]") return Value::list({});
    if (s.size() >= 2 && s.front() == '"' && s.back() == '"' && s.find('\\') == s.npos && s.find("#{") == s.npos)
        return Value::string(std::string(s.substr(1, s.size() - 2)));
    std::int64_t i = 0;
    const char* end = s.data() + s.size();
    if (auto [p, e] = std::from_chars(s.data(), end, i); e == std::errc() && p == end) return Value::integer(i);
    double d = 0;
    if (auto [p, e] = std::from_chars(s.data(), end, d); e == std::errc() && p == end) return Value::floating(d);
    return std::nullopt;
}

class BuiltinObject final : public DeclaredObject {
public:
    explicit BuiltinObject(const Builtin& b) : DeclaredObject(signature_of(&b, b.params), b.name), builtin_(b) {}
    Value invoke(const BuiltinArgs& args) const override { return builtin_.call ? builtin_.call(args) : builtin_.closure(args); }

private:
    const Builtin& builtin_;
};

class MethodObject final : public DeclaredObject {
public:
    MethodObject(const ForeignMethod& m, Value self)
        : DeclaredObject(signature_of(&m, m.params), m.name), method_(m), self_(std::move(self)) {}
    Value invoke(const BuiltinArgs& args) const override { return method_.call(self_, args); }

private:
    const ForeignMethod& method_;
    Value self_;
};

}  // namespace

Signature::Signature(const std::vector<BuiltinParam>& params) : params_(params) {
    for (const BuiltinParam& param : params) labels_.emplace_back(param.label);
}

const Value& Signature::default_of(std::size_t index) {
    std::call_once(defaults_once_, [this] { evaluate_defaults(); });
    return defaults_[index];
}

void Signature::evaluate_defaults() {
    std::vector<Value> values;
    for (const BuiltinParam& param : params_) {
        if (!param.default_value) values.emplace_back();
        else if (auto literal = parse_literal(param.default_value)) values.push_back(std::move(*literal));
        else if (tables().evaluate) values.push_back(tables().evaluate(param.default_value));
        else throw Error("The default value " + std::string(param.default_value) + " cannot be evaluated.");
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
        // An int written for a float.
        if (values[i].kind() == Value::Kind::integer && params_[i].type.starts_with("float")) values[i] = Value::floating(values[i].as_float());
        make_immortal(values[i]);
    }
    defaults_ = std::move(values);
}

Value DeclaredObject::apply(std::span<const CallArgument> arguments, Span site) const {
    const std::size_t n = signature_.size();
    Locals values(thread_stack, n);
    std::vector<bool> given(n);
    std::size_t first_free = 0;
    for (const CallArgument& argument : arguments) {
        std::size_t i = argument.label.empty() ? first_free : 0;
        while (i < n && (given[i] || !(signature_.label(i) == argument.label))) ++i;
        if (i == n) throw RuntimeError("invalid", std::string(name_) + " has no argument labelled \"" + argument.label.str() + "\".");
        if (argument.label.empty()) first_free = i + 1;
        values[i] = argument.value;
        given[i] = true;
    }
    for (std::size_t i = 0; i < n; ++i) {
        if (given[i]) continue;
        if (!signature_.optional(i)) throw RuntimeError("invalid", std::string(name_) + ": an argument is missing.");
        values[i] = signature_.default_of(i);
    }
    return call({values.data(), n}, site);
}

Value DeclaredObject::apply(std::span<const Value> positional, Span site) const {
    const std::size_t n = signature_.size();
    Locals values(thread_stack, n);
    std::size_t given = 0;
    for (std::size_t i = 0; i < n; ++i) {
        if (signature_.label(i).empty() && given < positional.size()) values[i] = positional[given++];
        else if (signature_.optional(i)) values[i] = signature_.default_of(i);
        else throw RuntimeError("invalid", std::string(name_) + ": an argument is missing.");
    }
    if (given < positional.size()) throw RuntimeError("invalid", std::string(name_) + " has no argument labelled \"\".");
    return call({values.data(), n}, site);
}

Value DeclaredObject::call(std::span<const Value> values, Span site) const {
    CallFrame trace(site);
    try {
        return invoke(BuiltinArgs(values, site));
    } catch (const RuntimeError&) {
        throw;
    } catch (const ScriptError&) {
        throw;
    } catch (const Error& e) {
        throw RuntimeError("invalid", e.what());
    } catch (const std::bad_alloc&) {
        throw RuntimeError("invalid", "There is not enough memory for this.");
    } catch (const std::length_error&) {
        throw RuntimeError("invalid", "There is not enough memory for this.");
    }
}

std::string DeclaredObject::describe() const {
    std::string out;
    for (const BuiltinParam& p : signature_.params()) {
        out += out.empty() ? "" : ", ";
        out += p.label.empty() ? "_" : "~" + p.label;
        if (p.default_value) out += std::string("=") + p.default_value;
    }
    return "fun (" + out + ") -> (builtin)";
}

RegisterBuiltin::RegisterBuiltin(Builtin builtin) { tables().builtins.push_back(std::move(builtin)); }
RegisterBuiltin::RegisterBuiltin(BuiltinConstant constant) { tables().constants.push_back(std::move(constant)); }
RegisterBuiltin::RegisterBuiltin(ForeignMethod method) { tables().methods.push_back(std::move(method)); }

void freeze_builtins() {
    Tables& t = tables();
    if (t.frozen) return;
    t.frozen = true;
    t.builtin_by_name.reserve(t.builtins.size());
    for (const Builtin& b : t.builtins)
        if (!t.builtin_by_name.emplace(b.name, &b).second) throw Error("The builtin " + b.name + " is declared twice.");
    for (const BuiltinConstant& c : t.constants)
        if (t.builtin_by_name.contains(c.name) || !t.constant_by_name.emplace(c.name, &c).second)
            throw Error("The constant " + c.name + " is declared twice.");
    for (const ForeignMethod& m : t.methods)
        if (!t.method_by_name.emplace(std::pair(Name(m.constructor).key(), Name(m.name).key()), &m).second)
            throw Error("The method " + m.name + " of " + m.constructor + " is declared twice.");
}

const std::vector<Builtin>& all_builtins() { return tables().builtins; }
const std::vector<BuiltinConstant>& all_constants() { return tables().constants; }
const std::vector<ForeignMethod>& all_foreign_methods() { return tables().methods; }

const Builtin* find_builtin(std::string_view name) {
    auto it = tables().builtin_by_name.find(name);
    return it == tables().builtin_by_name.end() ? nullptr : it->second;
}

const BuiltinConstant* find_constant(std::string_view name) {
    auto it = tables().constant_by_name.find(name);
    return it == tables().constant_by_name.end() ? nullptr : it->second;
}

const ForeignMethod* find_foreign_method(Name constructor, Name method) {
    auto it = tables().method_by_name.find({constructor.key(), method.key()});
    return it == tables().method_by_name.end() ? nullptr : it->second;
}

Value builtin_value(const Builtin& builtin) { return ValueAccess::function(new BuiltinObject(builtin)); }

std::optional<Value> foreign_method(const Value& self, Name method) {
    const ForeignMethod* m = find_foreign_method(self.foreign_kind()->name, method);
    if (!m) return std::nullopt;
    if (!m->constant_type.empty()) return m->call(self, BuiltinArgs({}, Span{}));
    return ValueAccess::function(new MethodObject(*m, self));
}

/// Is a type's text that of a function, with nothing around it?
bool is_arrow(std::string_view type) {
    int depth = 0;
    for (std::size_t i = 0; i < type.size(); ++i) {
        if (type.substr(i).starts_with("->")) {
            if (depth == 0) return true;
            ++i;
        } else if (std::string_view("([{").contains(type[i])) {
            ++depth;
        } else if (std::string_view(")]}").contains(type[i])) {
            --depth;
        }
    }
    return false;
}

std::string function_type_text(const std::vector<BuiltinParam>& params, const std::string& result,
                               const std::vector<BuiltinMethod>& methods) {
    std::string text = "(";
    for (const BuiltinParam& p : params) {
        if (text.size() > 1) text += ", ";
        if (p.default_value) text += "?";
        if (!p.label.empty()) text += p.label + " : ";
        text += is_arrow(p.type) ? "(" + p.type + ")" : p.type;
    }
    text += ") -> ";
    if (methods.empty()) return text + result;
    std::size_t where = result.find(" where ");
    std::string base = result.substr(0, where);
    text += (base.contains("->") ? "(" + base + ")" : base) + ".{";   // methods of the function, not of its result
    bool first = true;
    for (const BuiltinMethod& m : methods) {
        if (!std::exchange(first, false)) text += ", ";
        text += m.name + " : " + m.type;
    }
    text += "}";
    if (where != result.npos) text += result.substr(where);
    return text;
}

std::string type_text(const Builtin& b) { return function_type_text(b.params, b.result, b.methods); }
std::string type_text(const ForeignMethod& m) {
    return m.constant_type.empty() ? function_type_text(m.params, m.result) : m.constant_type;
}

void set_default_evaluator(std::function<Value(std::string_view)> evaluate) { tables().evaluate = std::move(evaluate); }

}  // namespace castile::lang
