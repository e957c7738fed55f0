#pragma once
// One declaration per builtin: name, type, documentation, code. The checker, the evaluator, --list-functions, -h and the
// manual read it.

#include <span>
#include <string>
#include <vector>

#include "lang/value.h"

namespace castile::lang {

/// The evaluated arguments of a builtin, one per declared parameter, in order. An omitted optional one holds its default.
class BuiltinArgs {
public:
    BuiltinArgs(std::span<const Value> values, Span call) : values_(values), call_(call) {}
    const Value& operator[](std::size_t index) const noexcept { return values_[index]; }
    std::size_t size() const noexcept { return values_.size(); }
    Span call_site() const noexcept { return call_; }

private:
    std::span<const Value> values_;
    Span call_;
};

struct BuiltinParam {
    std::string label;          ///< "" = positional
    std::string type;           ///< the script's own syntax
    const char* default_value;  ///< script text of a constant ("null", "1.", "\"x\"", "fun () -> ()"); nullptr = mandatory
    std::string doc;
};

/// A method of the result: name, type, doc; given by the code as own methods of the returned value.
struct BuiltinMethod {
    std::string name, type, doc;
};

struct Builtin {
    std::string name;           ///< dotted: "list.map"
    std::string category;       ///< Liquidsoap's words: "List", "String", "Source / Audio processing", ...
    std::string doc;
    std::vector<BuiltinParam> params;
    std::string result;
    std::vector<BuiltinMethod> methods;
    std::string deprecated;     ///< not empty: "Use `x` instead.": warned once when used
    bool hidden = false;
    Value (*call)(const BuiltinArgs& args) = nullptr;
    std::function<Value(const BuiltinArgs& args)> closure;   ///< used when call is null (RegisterOperator)
};

/// A constant (`math.pi`, `liquidsoap.version`): no params, a value.
struct BuiltinConstant {
    std::string name, category, doc, type;
    Value (*value)() = nullptr;
};

/// A method that every foreign value of a kind has: `s.skip()` for all sources. `args[0]` is the value itself.
struct ForeignMethod {
    std::string constructor;    ///< "source"
    std::string name, doc;
    std::vector<BuiltinParam> params;   ///< without the value itself
    std::string result;
    Value (*call)(const Value& self, const BuiltinArgs& args) = nullptr;
    std::string constant_type;  ///< not empty: not a function but a value of this type (`s.clock`); `call` gets no args
};

class RegisterBuiltin {
public:
    explicit RegisterBuiltin(Builtin builtin);
    explicit RegisterBuiltin(BuiltinConstant constant);
    explicit RegisterBuiltin(ForeignMethod method);
};

/// Checks all declarations (types parse, names unique) and freezes the table. Throws Error naming the faulty one.
void freeze_builtins();
const std::vector<Builtin>& all_builtins();
const std::vector<BuiltinConstant>& all_constants();
const std::vector<ForeignMethod>& all_foreign_methods();

}  // namespace castile::lang
