#include "lang/eval.h"

#include <gtest/gtest.h>

#include "lang/builtin_table.h"
#include "lang/resolve.h"

namespace castile::lang {
namespace {

const RegisterBuiltin less{Builtin{
    .name = "testing.less", .category = "Test", .doc = "", .params = {{"", "int", nullptr, ""}, {"", "int", nullptr, ""}}, .result = "bool",
    .call = [](const BuiltinArgs& a) { return Value::boolean(a[0].as_int() < a[1].as_int()); },
}};
const RegisterBuiltin plus{Builtin{
    .name = "testing.plus", .category = "Test", .doc = "", .params = {{"", "int", nullptr, ""}, {"", "int", nullptr, ""}}, .result = "int",
    .call = [](const BuiltinArgs& a) { return Value::integer(a[0].as_int() + a[1].as_int()); },
}};
const RegisterBuiltin fail{Builtin{
    .name = "testing.fail", .category = "Test", .doc = "", .params = {}, .result = "'a",
    .call = [](const BuiltinArgs&) -> Value { throw RuntimeError("broken", "It broke."); },
}};

/// Terms by hand: what the parser gives, without it.
class Eval : public testing::Test {
protected:
    Eval() {
        freeze_builtins();
        scope_.add_builtins();
    }
    template <class T> Term* make(T node) { return arena_.make<Term>(Term{Span{}, std::move(node)}); }
    Term* number(std::int64_t i) { return make(term::Int{i}); }
    Term* text(const char* s) { return make(term::String{s}); }
    Term* var(const char* name) { return make(term::Variable{name}); }
    Term* path(const char* a, const char* b) { return make(term::Invoke{var(a), b}); }
    Pattern* bound(const char* name) { return arena_.make<Pattern>(Pattern{Span{}, pat::Variable{name}}); }
    Term* apply(Term* f, std::vector<Term*> arguments) {
        term::Apply node{f, {}};
        for (Term* a : arguments) node.arguments.push_back({Name(), a});
        return make(std::move(node));
    }
    Term* let(const char* name, Term* value, Term* body, term::LetKind kind = term::LetKind::plain) {
        return make(term::Let{kind, bound(name), {}, value, body});
    }
    Term* lambda(std::vector<const char*> names, Term* body) {
        term::Function f;
        for (const char* n : names) f.params.push_back({Name(), bound(n)});
        f.body = body;
        return make(std::move(f));
    }
    Term* plus(Term* a, Term* b) { return apply(path("testing", "plus"), {a, b}); }
    Term* less(Term* a, Term* b) { return apply(path("testing", "less"), {a, b}); }
    Value run(Term* t) { return evaluate(resolve(arena_, scope_, t)); }

    Arena arena_;
    GlobalScope scope_;
};

TEST_F(Eval, ClosuresKeepWhatTheySaw) {
    // def adder(x) = fun (y) -> x + y end  f = adder(1)  x = 100  f(41)
    Term* t = let("adder", lambda({"x"}, lambda({"y"}, plus(var("x"), var("y")))),
                  let("f", apply(var("adder"), {number(1)}), let("x", number(100), apply(var("f"), {number(41)}))));
    EXPECT_EQ(run(t).as_int(), 42);
}

TEST_F(Eval, TailCallsTakeNoStack) {
    // def rec count(i, n) = if i < n then count(i + 1, n) else i end end, at top level and inside a function
    auto count = [&] {
        return lambda({"i", "n"}, make(term::If{less(var("i"), var("n")), apply(var("count"), {plus(var("i"), number(1)), var("n")}), var("i")}));
    };
    using enum term::LetKind;
    EXPECT_EQ(run(let("count", count(), apply(var("count"), {number(0), number(300000)}), recursive)).as_int(), 300000);
    Term* inner = lambda({}, let("count", count(), apply(var("count"), {number(0), number(300000)}), recursive));
    EXPECT_EQ(run(apply(inner, {})).as_int(), 300000);
}

TEST_F(Eval, EndlessRecursionIsAnError) {
    Term* body = plus(number(1), apply(var("deep"), {}));
    Term* t = let("deep", lambda({}, body), apply(var("deep"), {}), term::LetKind::recursive);
    try {
        run(t);
        FAIL();
    } catch (const RuntimeError& e) {
        EXPECT_EQ(e.kind(), "stack_overflow");
    }
    EXPECT_EQ(run(plus(number(1), number(2))).as_int(), 3);   // and the next program runs
}

TEST_F(Eval, LongChainsTakeNoStack) {
    Term* t = var("x0");
    for (int i = 0; i < 200000; ++i) t = i % 2 ? let("x0", number(i), t) : make(term::Sequence{number(i), t});
    EXPECT_EQ(run(let("x0", number(7), t)).as_int(), 1);
}

TEST_F(Eval, ErrorsAreCaughtByKind) {
    auto attempt = [&](Term* errors) {
        return make(term::Try{apply(path("testing", "fail"), {}), bound("e"), errors, text("caught"), nullptr});
    };
    EXPECT_EQ(run(attempt(nullptr)).as_string(), "caught");
    Value other = error_value("other", ""), broken = error_value("broken", "");
    auto kinds = [&](const Value& v) { return make(term::Variable{Name(), term::Scope::global, new_global_slot(Value::list({v}))}); };
    EXPECT_EQ(run(attempt(kinds(broken))).as_string(), "caught");
    EXPECT_THROW(run(attempt(kinds(other))), RuntimeError);
}

TEST_F(Eval, PathsExtendModulesAndRecords) {
    // let testing.more = 5  testing.more + testing.plus(1, 1)
    Term* more = make(term::Let{term::LetKind::plain, bound("testing"), {"testing", "more"}, number(5),
                                plus(path("testing", "more"), plus(number(1), number(1)))});
    EXPECT_EQ(run(more).as_int(), 7);
    // r = {a = 1}  let r.b.c = 2 is an error of types; let r.b = 2  r.a + r.b
    Term* record = make(term::Methods{nullptr, {{"a", number(1)}}});
    Term* extended = make(term::Let{term::LetKind::plain, bound("r"), {"r", "b"}, number(2), plus(path("r", "a"), path("r", "b"))});
    EXPECT_EQ(run(let("r", record, extended)).as_int(), 3);
}

TEST_F(Eval, OpenBringsMethodsIntoScope) {
    Term* record = make(term::Methods{nullptr, {{"a", number(1)}}});
    Term* f = lambda({"r"}, make(term::Open{var("r"), apply(lambda({}, plus(var("a"), var("b"))), {})}));
    EXPECT_EQ(run(let("b", number(10), apply(f, {record}))).as_int(), 11);
}

}  // namespace
}  // namespace castile::lang
