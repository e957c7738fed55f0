#include "lang/value.h"

#include <gtest/gtest.h>

#include <thread>

#include "lang/builtin.h"
#include "lang/builtin_table.h"

namespace castile::lang {
namespace {

Value s(const char* text) { return Value::string(text); }

TEST(Value, IsSmall) { EXPECT_EQ(sizeof(Value), 16u); }

TEST(Value, Prints) {
    EXPECT_EQ(to_string(Value()), "()");
    EXPECT_EQ(to_string(Value::null()), "null");
    EXPECT_EQ(to_string(Value::floating(1)), "1.0");
    EXPECT_EQ(to_string(Value::floating(0.1)), "0.1");
    EXPECT_EQ(to_string(s("a\"b")), "a\"b");
    EXPECT_EQ(to_string(s("a\"b"), true), "\"a\\\"b\"");
    EXPECT_EQ(to_string(Value::list({Value::integer(1), s("é\n")})), "[1, \"é\\n\"]");
    EXPECT_EQ(to_string(Value::record({{"b", Value::integer(1)}, {"a", s("x")}})), "{a=\"x\", b=1}");
    EXPECT_EQ(to_string(Value::integer(3).with_method("a", Value::boolean(true))), "3.{a=true}");
}

TEST(Value, Compares) {
    EXPECT_EQ(compare(Value::integer(1), Value::floating(1)), 0);
    EXPECT_LT(compare(Value::null(), Value::integer(1)), 0);
    EXPECT_LT(compare(Value::list({Value::integer(1)}), Value::list({Value::integer(1), Value::integer(0)})), 0);
    EXPECT_EQ(compare(Value::integer(1).with_method("a", s("x")), Value::integer(1)), 0);
    EXPECT_NE(compare(Value::record({{"a", s("x")}}), Value::record({{"a", s("y")}})), 0);
    EXPECT_EQ(compare(Value::record({{"a", s("x")}}), Value::record({{"b", s("y")}})), 0);
}

TEST(Value, MethodsReplaceAndLeaveTheOriginal) {
    Value a = Value::integer(1).with_method("m", Value::integer(2));
    Value b = a.with_method("m", Value::integer(3));
    EXPECT_EQ(a.own_method("m")->as_int(), 2);
    EXPECT_EQ(b.own_method("m")->as_int(), 3);
    EXPECT_EQ(b.as_int(), 1);
    EXPECT_EQ(b.without_methods().own_method("m"), nullptr);
}

TEST(Value, ReferencesAreSharedBetweenThreads) {
    Value r = Value::reference(s("start"));
    Value set = *r.find_method("set");
    std::thread writer([&] {
        for (int i = 0; i < 10000; ++i) set.call({s("written")});
    });
    for (int i = 0; i < 10000; ++i) {
        std::string text = r.call().as_string();
        ASSERT_TRUE(text == "start" || text == "written");
    }
    writer.join();
    EXPECT_EQ(r.get().as_string(), "written");
}

TEST(Value, DeepStructuresAreFreedWithoutRecursion) {
    Value v;
    for (int i = 0; i < 1000000; ++i) v = Value::tuple({v, Value()});
    EXPECT_THROW(to_string(v), RuntimeError);
}

const ForeignKind thing_kind{"test_thing"};

const RegisterBuiltin declared{Builtin{
    .name = "test.join",
    .category = "Test",
    .doc = "Joins.",
    .params = {{"", "string", nullptr, ""}, {"separator", "string", "\", \"", ""}, {"", "string", "\"end\"", ""}},
    .result = "string",
    .call = [](const BuiltinArgs& a) { return Value::string(a[0].as_string() + a[1].as_string() + a[2].as_string()); },
}};
const RegisterBuiltin method{ForeignMethod{
    .constructor = "test_thing", .name = "size", .doc = "", .params = {}, .result = "int",
    .call = [](const Value& self, const BuiltinArgs&) { return Value::integer(*self.as_foreign<int>()); },
}};

TEST(Builtin, PutsArgumentsInOrderAndFillsInDefaults) {
    freeze_builtins();
    Value f = builtin_value(*find_builtin("test.join"));
    EXPECT_EQ(f.call({s("a")}).as_string(), "a, end");
    EXPECT_EQ(f.call({s("a"), s("b")}).as_string(), "a, b");
    CallArgument arguments[] = {{"", s("a")}, {"separator", s("-")}};
    EXPECT_EQ(f.call(arguments).as_string(), "a-end");
    CallArgument wrong[] = {{"nope", s("a")}};
    EXPECT_THROW(f.call(wrong), RuntimeError);
    EXPECT_THROW(f.call(), RuntimeError);
    EXPECT_EQ(type_text(*find_builtin("test.join")), "(string, ?separator : string, ?string) -> string");
}

TEST(Builtin, ForeignMethodsAreBound) {
    freeze_builtins();
    Value thing = Value::foreign(thing_kind, std::make_shared<int>(42));
    EXPECT_EQ(thing.find_method("size")->call().as_int(), 42);
    EXPECT_FALSE(thing.find_method("colour"));
    EXPECT_EQ(to_string(thing), "<test_thing>");
}

}  // namespace
}  // namespace castile::lang
