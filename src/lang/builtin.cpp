// The table of declarations, and builtins as function values.

#include "lang/builtin.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "base/error.h"
#include "lang/builtin_table.h"
#include "lang/diag.h"
#include "lang/objects.h"

namespace castile::lang {

namespace {

/// Parameters as calls need them; the defaults are evaluated at the first call that omits one.
struct Signature {
    explicit Signature(const std::vector<BuiltinParam>& p) : params(p) {
        for (const BuiltinParam& param : p) labels.emplace_back(param.label);
    }
    const Value& default_of(std::size_t index) {
        std::call_once(defaults_once, [this] { evaluate_defaults(); });
        return defaults[index];
    }
    void evaluate_defaults();

    const std::vector<BuiltinParam>& params;
    std::vector<Name> labels;
    std::once_flag defaults_once;
    std::vector<Value> defaults;
};

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

Signature& signature(const void* declaration, const std::vector<BuiltinParam>& params) {
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

void Signature::evaluate_defaults() {
    std::vector<Value> values;
    for (const BuiltinParam& param : params) {
        if (!param.default_value) values.emplace_back();
        else if (auto literal = parse_literal(param.default_value)) values.push_back(std::move(*literal));
        else if (tables().evaluate) values.push_back(tables().evaluate(param.default_value));
        else throw Error("The default value " + std::string(param.default_value) + " cannot be evaluated.");
    }
    // An int written for a float.
    for (std::size_t i = 0; i < values.size(); ++i)
        if (values[i].kind() == Value::Kind::integer && params[i].type.starts_with("float")) values[i] = Value::floating(values[i].as_float());
    defaults = std::move(values);
}

/// Few values without allocation.
class ArgumentBuffer {
public:
    explicit ArgumentBuffer(std::size_t n) : size_(n) {
        if (n > inline_.size()) {
            more_ = std::make_unique<Value[]>(n);
            data_ = more_.get();
        }
    }
    Value& operator[](std::size_t i) noexcept { return data_[i]; }
    std::span<const Value> span() const noexcept { return {data_, size_}; }

private:
    std::array<Value, 6> inline_;
    std::unique_ptr<Value[]> more_;
    Value* data_ = inline_.data();
    std::size_t size_;
};

/// A declared function: puts arguments in the declared order, fills in defaults.
class DeclaredObject : public FunctionObject {
public:
    DeclaredObject(Signature& signature, std::string_view name) : FunctionObject(Tag::builtin), signature_(signature), name_(name) {}

    Value apply(std::span<const CallArgument> arguments, Span call) const override {
        CallFrame frame(call);
        const std::size_t n = signature_.labels.size();
        ArgumentBuffer values(n);
        std::uint64_t given_bits = 0;
        std::vector<bool> given_more(n > 64 ? n : 0);
        auto given = [&](std::size_t i) { return n > 64 ? bool(given_more[i]) : (given_bits >> i & 1) != 0; };
        std::size_t first_free = 0;
        for (const CallArgument& argument : arguments) {
            std::size_t i = argument.label.empty() ? first_free : 0;
            while (i < n && (given(i) || !(signature_.labels[i] == argument.label))) ++i;
            if (i == n) throw RuntimeError("invalid", std::string(name_) + " has no argument labelled \"" + argument.label.str() + "\".");
            if (argument.label.empty()) first_free = i + 1;
            values[i] = argument.value;
            if (n > 64) given_more[i] = true;
            else given_bits |= std::uint64_t{1} << i;
        }
        for (std::size_t i = 0; i < n; ++i) {
            if (given(i)) continue;
            if (!signature_.params[i].default_value) throw RuntimeError("invalid", std::string(name_) + ": an argument is missing.");
            values[i] = signature_.default_of(i);
        }
        try {
            return invoke(BuiltinArgs(values.span(), call));
        } catch (const RuntimeError&) {
            throw;
        } catch (const ScriptError&) {
            throw;
        } catch (const Error& e) {
            throw RuntimeError("invalid", e.what());
        }
    }
    std::string describe() const override {
        std::string out;
        for (const BuiltinParam& p : signature_.params) {
            out += out.empty() ? "" : ", ";
            out += p.label.empty() ? "_" : "~" + p.label;
            if (p.default_value) out += std::string("=") + p.default_value;
        }
        return "fun (" + out + ") -> (builtin)";
    }

protected:
    virtual Value invoke(const BuiltinArgs& args) const = 0;

private:
    Signature& signature_;
    std::string_view name_;   // of the declaration
};

class BuiltinObject final : public DeclaredObject {
public:
    explicit BuiltinObject(const Builtin& b) : DeclaredObject(signature(&b, b.params), b.name), builtin_(b) {}
    Value invoke(const BuiltinArgs& args) const override { return builtin_.call ? builtin_.call(args) : builtin_.closure(args); }

private:
    const Builtin& builtin_;
};

class MethodObject final : public DeclaredObject {
public:
    MethodObject(const ForeignMethod& m, Value self)
        : DeclaredObject(signature(&m, m.params), m.name), method_(m), self_(std::move(self)) {}
    Value invoke(const BuiltinArgs& args) const override { return method_.call(self_, args); }

private:
    const ForeignMethod& method_;
    Value self_;
};

}  // namespace

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
