#include "script/callback.h"

#include <gtest/gtest.h>

#include "lang/builtin.h"
#include "sched/manual_time.h"
#include "sched/scheduler.h"
#include "script/args.h"
#include "script/commands.h"
#include "script/source_methods.h"
#include "script/values.h"
#include "source/ramp.h"

namespace castile::script {
namespace {

using namespace std::chrono_literals;
using lang::CallArgument;
using lang::Value;

class Callbacks : public testing::Test {
protected:
    Callbacks() {
        set_stream_parameters({});
        set_scheduler(&scheduler_);
    }
    ~Callbacks() override {
        stop_clocks();
        scheduler_.run_simulated(time_.now() + 1s);
        set_scheduler(nullptr);
    }
    void run(Duration by) { scheduler_.run_simulated(time_.now() + by); }
    Value recorder() {
        return Value::function([this](std::span<const CallArgument> a) {
            seen_.push_back(a.empty() ? -1 : a[0].value.as_int());
            if (fail_) throw lang::RuntimeError("invalid", "on purpose");
            return Value::unit();
        });
    }

    ManualTime time_;
    Scheduler scheduler_{{}, time_};
    std::vector<std::int64_t> seen_;
    bool fail_ = false;
};

TEST_F(Callbacks, RunLaterInOrderAndSurviveErrors) {
    const Callback callback(recorder(), false, "a test");
    fail_ = true;
    for (int i = 0; i < 5; ++i) callback({{Name(), Value::integer(i)}});
    EXPECT_TRUE(seen_.empty());
    run(1s);
    EXPECT_EQ(seen_, (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
    callback.release();
    callback({{Name(), Value::integer(9)}});
    run(1s);
    EXPECT_EQ(seen_.size(), 5u);
}

TEST_F(Callbacks, SynchronousRunsAtOnce) {
    const Callback callback(recorder(), true, "a test");
    callback({{Name(), Value::integer(3)}});
    EXPECT_EQ(seen_, std::vector<std::int64_t>{3});
}

TEST_F(Callbacks, OneThatIsTooSlowLosesTheOldest) {
    const Callback callback(recorder(), false, "a test");
    for (int i = 0; i < 1500; ++i) callback({{Name(), Value::integer(i)}});
    run(1s);
    ASSERT_EQ(seen_.size(), 1000u);
    EXPECT_EQ(seen_.front(), 500);
    EXPECT_EQ(seen_.back(), 1499);
}

TEST_F(Callbacks, GetterKeepsItsLastGoodValue) {
    const Getter<double> constant(2.5);
    EXPECT_TRUE(constant.constant());
    EXPECT_EQ(constant.get(), 2.5);
    double value = 1;
    const Getter<double> getter(Value::function([&](std::span<const CallArgument>) {
                                    if (value < 0) throw lang::RuntimeError("invalid", "on purpose");
                                    return Value::floating(value);
                                }),
                                0.);
    EXPECT_EQ(getter.get(), 1.);
    value = 7;
    EXPECT_EQ(getter.get(), 7.);
    value = -1;
    EXPECT_EQ(getter.get(), 7.);
}

TEST_F(Callbacks, ValuesRoundTrip) {
    const Metadata m(std::vector<Metadata::Entry>{{"title", "é"}, {"artist", "b"}});
    EXPECT_EQ(metadata_from_value(to_value(m)), m);
    const SourcePtr source = std::make_shared<test::Ramp>();
    EXPECT_EQ(source_from_value(to_value(source)), source);
    EXPECT_EQ(value_as<std::optional<std::string>>(Value::null()), std::nullopt);
    EXPECT_EQ(value_as<std::optional<std::string>>(Value::string("x")), "x");
}

Value call_method(const SourcePtr& source, const char* name, std::vector<CallArgument> arguments = {}) {
    const auto method = to_value(source).find_method(name);
    EXPECT_TRUE(method) << name;
    return method ? method->call(arguments) : Value::unit();
}

TEST_F(Callbacks, MethodsOfASource) {
    lang::freeze_builtins();
    const SourcePtr source = std::make_shared<test::Ramp>(Ticks{44'100});
    std::vector<std::string> titles;
    const Value on_track = Value::function([&](std::span<const CallArgument> a) {
        titles.push_back(metadata_from_value(a[0].value).get("title"));
        return Value::unit();
    });
    call_method(source, "on_track", {{Name("synchronous"), Value::boolean(true)}, {Name(), on_track}});
    std::vector<double> positions;
    const Value on_position = Value::function([&](std::span<const CallArgument> a) {
        positions.push_back(a[0].value.as_float());
        return Value::unit();
    });
    call_method(source, "on_position",
                {{Name("position"), Value::floating(0.5)}, {Name("synchronous"), Value::boolean(true)}, {Name(), on_position}});
    const auto out = std::make_shared<test::Collector>(source, false);
    attach_output(out);
    start_clocks(scheduler_);
    run(2s);
    EXPECT_EQ(titles, (std::vector<std::string>{"track 0", "track 1", "track 2"}));
    ASSERT_EQ(positions.size(), 2u);
    EXPECT_NEAR(positions[0], 0.5, 0.0201);
    EXPECT_TRUE(call_method(source, "is_ready").as_bool());
    EXPECT_TRUE(call_method(source, "is_up").as_bool());
    EXPECT_GT(call_method(source, "time").as_float(), 2.);
    EXPECT_NEAR(call_method(source, "elapsed").as_float() + call_method(source, "remaining").as_float(), 1., 1e-9);
    EXPECT_EQ(metadata_from_value(call_method(source, "last_metadata")).get("title"), "track 2");
    const auto skips = [&] { return std::static_pointer_cast<test::Ramp>(source)->skips; };
    call_method(source, "skip");
    run(100ms);
    EXPECT_EQ(skips(), 1);
    const Value inserted = Value::list({Value::tuple({Value::string("title"), Value::string("inserted")})});
    call_method(source, "insert_metadata", {{Name(), inserted}});
    run(100ms);
    EXPECT_EQ(out->titles.back(), "inserted");
}

TEST_F(Callbacks, CommandsFollowTheSourcesName) {
    const SourcePtr source = std::make_shared<test::Ramp>();
    add_source_command(source, "hello", {"hello", "", [](const std::string& a) { return "hello " + a; }});
    source->set_id("named");
    const auto command = find_command("named.hello");
    ASSERT_TRUE(command);
    EXPECT_EQ(command->run("you"), "hello you");
    EXPECT_FALSE(find_command("ramp.hello"));
}

TEST(MethodTypes, AreWrittenAsFields) {
    for (const lang::ForeignMethod& m : source_methods())
        if (m.name == "on_metadata") {
            EXPECT_EQ(method_type(m), "(?synchronous : bool, (([string * string]) -> unit)) -> {release : () -> unit}");
        }
}

}  // namespace
}  // namespace castile::script
