// null, getters, references, predicates.

#include <atomic>
#include <mutex>

#include "builtins/define.h"

namespace castile::builtins {

namespace {

Value or_default(const Value& otherwise, const char* function) {
    if (otherwise.is_null()) raise("not_found", std::string("no default value for ") + function);
    return otherwise;
}

bool is_function(const Value& v) { return v.kind() == Value::Kind::function; }
void assign(const Value& reference, Value v) { reference.find_method("set")->call({std::move(v)}); }

/// The last value seen of something, and whether the one seen now is another.
class Changes {
public:
    explicit Changes(Value first) : last_(std::move(first)) {}
    bool see(const Value& now) {
        std::lock_guard lock(last_mutex_);
        if (lang::compare(last_, now) == 0) return false;
        last_ = now;
        return true;
    }

private:
    std::mutex last_mutex_;
    Value last_;
};

Value mapped(const Value& f, const Value& getter) {
    if (!is_function(getter)) return f.call({getter});
    return native([f, getter](std::span<const CallArgument>) { return f.call({getter.call()}); });
}

Value memoized(const Value& f, const Value& getter) {
    if (!is_function(getter)) return f.call({getter});
    struct Memo {
        std::mutex memo_mutex;
        std::optional<Value> argument;
        Value result;
    };
    auto memo = std::make_shared<Memo>();
    return native([f, getter, memo](std::span<const CallArgument>) {
        Value now = getter.call();
        {
            std::lock_guard lock(memo->memo_mutex);
            if (memo->argument && lang::compare(*memo->argument, now) == 0) return memo->result;
        }
        Value result = f.call({now});
        std::lock_guard lock(memo->memo_mutex);
        memo->argument = now;
        return memo->result = result;
    });
}

const Definitions nulls("Programming", {
    {"null", "A value that may be missing; without argument, the missing value.", {opt_pos("'a?", "null")}, "'a?", [](const BuiltinArgs& a) { return a[0]; }},
    {"null.defined", "Is the value there?", {pos("'a?")}, "bool", [](const BuiltinArgs& a) { return boolean(!a[0].is_null()); }},
    {"null.get", "The value, which must be there.", {opt("default", "'a?", "null", "Value when it is missing."), pos("'a?")}, "'a", [](const BuiltinArgs& a) {
        return a[1].is_null() ? or_default(a[0], "null.get") : a[1]; }},
    {"null.default", "The value, or the result of a function when it is missing.", {pos("'a?"), pos("() -> 'a")}, "'a", [](const BuiltinArgs& a) { return a[0].is_null() ? a[1].call() : a[0]; }},
    {"null.case", "One of two functions, whether the value is missing or there.", {pos("'a?"), pos("() -> 'b"), pos("('a) -> 'b")}, "'b", [](const BuiltinArgs& a) {
        return a[0].is_null() ? a[1].call() : a[2].call({a[0]}); }},
    {"null.map", "A function of the value, when it is there.", {pos("('a) -> 'b?"), pos("'a?")}, "'b?", [](const BuiltinArgs& a) { return a[1].is_null() ? a[1] : a[0].call({a[1]}); }},
    {"null.to_list", "A list of the value, or the empty list.", {pos("'a?")}, "['a]", [](const BuiltinArgs& a) {
        return a[0].is_null() ? Value::list({}) : Value::list({a[0]}); }},
    {"null.find", "The first result of a function that is there.", {opt("default", "'a?", "null", "Value when there is none."), pos("('b) -> 'a?"), pos("['b]")}, "'a?",
     [](const BuiltinArgs& a) {
        for (const Value& e : a[2].elements())
            if (Value found = a[1].call({e}); !found.is_null()) return found;
        return or_default(a[0], "list.find_defined"); }},
    {"ignore", "Do nothing with a value.", {pos("'a")}, "unit", [](const BuiltinArgs&) { return Value(); }},
    {"\xf0\x9f\x92\xa3", "A value of any type, which fails when it is asked for.", {opt_pos("'a", "()")}, "'b", [](const BuiltinArgs&) { return Value(); }},
});

const Definitions getters("Getter", {
    {"getter", "A constant or a function, seen as a getter.", {pos("{'a}")}, "{'a}", [](const BuiltinArgs& a) { return a[0]; }},
    {"getter.get", "The value now.", {pos("{'a}")}, "'a", [](const BuiltinArgs& a) { return a[0].get(); }},
    {"getter.function", "A getter as a function.", {pos("{'a}")}, "() -> 'a", [](const BuiltinArgs& a) {
        return is_function(a[0]) ? a[0] : native([v = a[0]](std::span<const CallArgument>) { return v; }); }},
    {"getter.case", "One of two functions, whether the getter is a constant or a function.", {pos("{'a}"), pos("('a) -> 'b"), pos("((() -> 'a)) -> 'b")}, "'b", [](const BuiltinArgs& a) {
        return is_function(a[0]) ? a[2].call({a[0]}) : a[1].call({a[0]}); }},
    {"getter.is_constant", "Is it a constant?", {pos("{'a}")}, "bool", [](const BuiltinArgs& a) { return boolean(!is_function(a[0])); }},
    {"getter.map", "A getter of a function of the value.", {pos("('a) -> 'b"), pos("{'a}")}, "{'b}", [](const BuiltinArgs& a) { return mapped(a[0], a[1]); }},
    {"getter.map.memoize", "Like `getter.map`, calling the function only when the value changed.", {pos("('a) -> 'b"), pos("{'a}")}, "{'b} where 'a is an orderable type",
     [](const BuiltinArgs& a) { return memoized(a[0], a[1]); }},
    {"getter.int_of_float", "A getter of integers.", {pos("{float}")}, "{int}", [](const BuiltinArgs& a) {
        return mapped(native([](std::span<const CallArgument> x) { return integer(static_cast<std::int64_t>(x[0].value.as_float())); }), a[0]); }},
    {"getter.float_of_int", "A getter of floats.", {pos("{int}")}, "{float}", [](const BuiltinArgs& a) {
        return mapped(native([](std::span<const CallArgument> x) { return number(x[0].value.as_float()); }), a[0]); }},
    {"getter.changes", "A predicate: did the value change since it was last asked?", {pos("{'a}")}, "() -> bool where 'a is an orderable type", [](const BuiltinArgs& a) {
        auto changes = std::make_shared<Changes>(a[0].get());
        return native([changes, g = a[0]](std::span<const CallArgument>) { return boolean(changes->see(g.get())); }); }},
    {"getter.on_change", "A getter that calls a function when its value changed.", {pos("('a) -> unit"), pos("{'a}")}, "() -> 'a where 'a is an orderable type", [](const BuiltinArgs& a) {
        auto changes = std::make_shared<Changes>(a[1].get());
        return native([changes, f = a[0], g = a[1]](std::span<const CallArgument>) {
            Value now = g.get();
            if (changes->see(now)) f.call({now});
            return now;
        }); }},
    {"getter.merge", "A getter of whichever of two changed last.", {pos("{'a}"), pos("{'a}")}, "() -> 'a where 'a is an orderable type", [](const BuiltinArgs& a) {
        Value current = Value::reference(a[0].get());
        auto x = std::make_shared<Changes>(a[0].get()), y = std::make_shared<Changes>(a[1].get());
        return native([=, g = a[0], h = a[1]](std::span<const CallArgument>) {
            Value v = g.get(), w = h.get();
            if (x->see(v)) assign(current, v);
            if (y->see(w)) assign(current, w);
            return current.call();
        }); }},
    {"memoize", "A function called once, whose result is then kept.", {pos("() -> 'a")}, "() -> 'a where 'a is an orderable type", [](const BuiltinArgs& a) {
        struct Memo {
            std::once_flag once;
            Value result;
        };
        auto memo = std::make_shared<Memo>();
        return native([memo, f = a[0]](std::span<const CallArgument>) {
            std::call_once(memo->once, [&] { memo->result = f.call(); });
            return memo->result;
        }); }},
});

constexpr const char* reference = "(() -> 'a).{set : ('a) -> unit}";

const Definitions references("Programming", {
    {"ref", "A variable: its content is read by calling it and written with `:=`.", {pos("'a", "Initial content.")}, reference, [](const BuiltinArgs& a) { return Value::reference(a[0]); }},
    {"ref.make", "A variable made of a function to read and one to write.", {pos("() -> 'a"), pos("('a) -> unit")}, reference, [](const BuiltinArgs& a) { return a[0].with_method("set", a[1]); }},
    {"ref.getter", "A variable that can only be read.", {pos(reference)}, "() -> 'a", [](const BuiltinArgs& a) {
        return native([r = a[0]](std::span<const CallArgument>) { return r.call(); }); }},
    {"ref.map", "A variable seen through a function, and its inverse.", {pos("('a) -> 'b"), pos("('b) -> 'a"), pos(reference)}, "(() -> 'b).{set : ('b) -> unit}", [](const BuiltinArgs& a) {
        Value get = native([f = a[0], r = a[2]](std::span<const CallArgument>) { return f.call({r.call()}); });
        Value set = native([f = a[1], r = a[2]](std::span<const CallArgument> x) {
            assign(r, f.call({x[0].value}));
            return Value();
        });
        return get.with_method("set", set); }},
    {"ref.incr", "Add one.", {pos("(() -> int).{set : (int) -> unit}")}, "unit", [](const BuiltinArgs& a) {
        assign(a[0], integer(a[0].call().as_int() + 1));
        return Value(); }},
});

constexpr const char* predicate = "() -> bool";

const Definitions predicates("Programming", {
    {"predicate.activates", "True when a predicate becomes true.", {opt("init", "bool", "false", "Was it true, or not asked, before?"), pos(predicate)}, predicate, [](const BuiltinArgs& a) {
        auto last = std::make_shared<std::atomic<bool>>(!a[0].as_bool());
        return native([last, p = a[1]](std::span<const CallArgument>) {
            bool now = p.call().as_bool(), before = last->exchange(now);
            return boolean(now && !before);
        }); }},
    {"predicate.once", "True once each time a predicate is true.", {pos(predicate)}, predicate, [](const BuiltinArgs& a) {
        auto last = std::make_shared<std::atomic<bool>>(false);
        return native([last, p = a[0]](std::span<const CallArgument>) {
            bool now = p.call().as_bool(), before = last->exchange(now);
            return boolean(now && !before);
        }); }},
    {"predicate.at_most", "True at most a number of times each time a predicate is true.", {pos("int", "How many times."), pos(predicate)}, predicate, [](const BuiltinArgs& a) {
        auto count = std::make_shared<std::atomic<std::int64_t>>(0);
        return native([count, n = a[0].as_int(), p = a[1]](std::span<const CallArgument>) {
            if (p.call().as_bool()) return boolean(++*count <= n);
            *count = 0;
            return boolean(false);
        }); }},
    {"predicate.changes", "True when the result of a function changed.", {pos("() -> 'a")}, "() -> bool where 'a is an orderable type", [](const BuiltinArgs& a) {
        auto changes = std::make_shared<Changes>(a[0].call());
        return native([changes, f = a[0]](std::span<const CallArgument>) { return boolean(changes->see(f.call())); }); }},
    {"predicate.first", "True the first time a predicate is true, never again.", {pos(predicate)}, predicate, [](const BuiltinArgs& a) {
        auto done = std::make_shared<std::atomic<bool>>(false);
        return native([done, p = a[0]](std::span<const CallArgument>) { return boolean(!*done && p.call().as_bool() && !done->exchange(true)); }); }},
    {"predicate.signal", "True once after each call of its method `signal`.", {}, predicate, [](const BuiltinArgs&) {
        auto state = std::make_shared<std::atomic<bool>>(false);
        Value p = native([state](std::span<const CallArgument>) { return boolean(state->exchange(false)); });
        return p.with_method("signal", native([state](std::span<const CallArgument>) {
            *state = true;
            return Value();
        })); }, {{"signal", "() -> unit", "Make the predicate true."}}},
});

}  // namespace

}  // namespace castile::builtins
