// Arithmetic and comparisons of bare numbers, without a call. Everything else is left to the builtin of the name.

#include <cmath>
#include <functional>

#include "lang/builtin_object.h"
#include "lang/compile.h"

namespace castile::lang {

namespace {

using Kind = Value::Kind;

bool bare(const Value& v, Kind kind) { return v.kind() == kind && !ValueAccess::methods(v); }
std::int64_t integer(const Value& v) { return ValueAccess::bits(v).payload.integer; }   // of a bare one
double floating(const Value& v) { return ValueAccess::bits(v).payload.floating; }

Value call(const DeclaredObject& builtin, Frame& frame, std::initializer_list<Value> values, Span span) {
    check_stack(frame.stack);
    return builtin.call({values.begin(), values.size()}, span);
}

// Integers wrap around: unsigned arithmetic says so without undefined behaviour.
template <template <class> class Function>
struct Wrapping {
    static Value of(std::int64_t a, std::int64_t b) {
        return Value::integer(static_cast<std::int64_t>(Function<std::uint64_t>()(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b))));
    }
    static Value of(double a, double b) { return Value::floating(Function<double>()(a, b)); }
    static bool takes(std::int64_t) { return true; }
};

struct Divide {
    static Value of(std::int64_t a, std::int64_t b) { return Value::integer(a / b); }
    static Value of(double a, double b) { return Value::floating(a / b); }
    static bool takes(std::int64_t divisor) { return divisor != 0 && divisor != -1; }   // those are for the builtin
};

struct Remainder {
    static Value of(std::int64_t a, std::int64_t b) { return Value::integer(a % b); }
    static Value of(double a, double b) { return Value::floating(std::fmod(a, b)); }
    static bool takes(std::int64_t divisor) { return divisor != 0 && divisor != -1; }
};

template <class Operation>
struct Arithmetic final : Code {
    Arithmetic(const DeclaredObject& f, const Code* l, const Code* r, Span s) : builtin(f), left(l), right(r), span(s) {}
    Value run(Frame& frame) const override {
        Value l, r;
        const Value& a = left->look(frame, l);
        const Value& b = right->look(frame, r);
        if (bare(a, Kind::integer) && bare(b, Kind::integer) && Operation::takes(integer(b))) return Operation::of(integer(a), integer(b));
        if (bare(a, Kind::floating) && bare(b, Kind::floating)) return Operation::of(floating(a), floating(b));
        return call(builtin, frame, {a, b}, span);
    }
    const DeclaredObject& builtin;
    const Code *const left, *const right;
    const Span span;
};

template <class Relation>
struct Comparison final : Code {
    Comparison(const DeclaredObject& f, const Code* l, const Code* r, Span s) : builtin(f), left(l), right(r), span(s) {}
    Value run(Frame& frame) const override { return Value::boolean(test(frame)); }
    bool test(Frame& frame) const override {
        Value l, r;
        const Value& a = left->look(frame, l);
        const Value& b = right->look(frame, r);
        if (bare(a, Kind::integer) && bare(b, Kind::integer)) return Relation()(integer(a), integer(b));
        if (bare(a, Kind::floating) && bare(b, Kind::floating)) return Relation()(floating(a), floating(b));
        return call(builtin, frame, {a, b}, span).as_bool();
    }
    const DeclaredObject& builtin;
    const Code *const left, *const right;
    const Span span;
};

struct Negation final : Code {
    explicit Negation(const Code* v) : value(v) {}
    Value run(Frame& frame) const override { return Value::boolean(!value->test(frame)); }
    bool test(Frame& frame) const override { return !value->test(frame); }
    const Code* const value;
};

using Make = const Code* (*)(Compiler&, const DeclaredObject&, const Code*, const Code*, Span);
template <class Node>
const Code* make(Compiler& c, const DeclaredObject& f, const Code* l, const Code* r, Span s) { return c.make<Node>(f, l, r, s); }

constexpr struct { std::string_view name; Make make; } binary[] = {
    {"+", make<Arithmetic<Wrapping<std::plus>>>},
    {"-", make<Arithmetic<Wrapping<std::minus>>>},
    {"*", make<Arithmetic<Wrapping<std::multiplies>>>},
    {"/", make<Arithmetic<Divide>>},
    {"mod", make<Arithmetic<Remainder>>},
    {"==", make<Comparison<std::equal_to<>>>},
    {"!=", make<Comparison<std::not_equal_to<>>>},
    {"<", make<Comparison<std::less<>>>},
    {"<=", make<Comparison<std::less_equal<>>>},
    {">", make<Comparison<std::greater<>>>},
    {">=", make<Comparison<std::greater_equal<>>>},
};

}  // namespace

const Code* compile_operator(Compiler& c, const DeclaredObject& builtin, const std::vector<const Code*>& arguments, Span span) {
    if (arguments.size() == 1 && builtin.name() == "not") return c.make<Negation>(arguments[0]);
    if (arguments.size() != 2) return nullptr;
    for (const auto& [name, make] : binary)
        if (builtin.name() == name) return make(c, builtin, arguments[0], arguments[1], span);
    return nullptr;
}

}  // namespace castile::lang
