#include <gtest/gtest.h>

#include "base/error.h"
#include "lang/builtin.h"
#include "sched/manual_time.h"
#include "sched/scheduler.h"
#include "script/values.h"
#include "source/output.h"
#include "source/ramp.h"

namespace castile {
namespace {

using namespace std::chrono_literals;
using lang::Value;
using test::Collector;
using test::Ramp;

class Operators : public testing::Test {
protected:
    Operators() {
        set_stream_parameters({});
        set_scheduler(&scheduler_);
    }
    ~Operators() override {
        stop_clocks();
        scheduler_.run_simulated(time_.now() + 1s);
        set_scheduler(nullptr);
    }
    // Calls a declared operator with all its arguments, the id first.
    static Value build(const std::string& name, std::vector<Value> arguments) {
        for (const lang::Builtin& builtin : lang::all_builtins())
            if (builtin.name == name) {
                EXPECT_EQ(builtin.params.size(), arguments.size()) << name;
                return builtin.closure(lang::BuiltinArgs(arguments, {}));
            }
        throw Error("no such operator");
    }
    std::shared_ptr<Collector> play(const Value& source) {
        auto out = std::make_shared<Collector>(script::source_from_value(source), false);
        attach_output(out);
        start_clocks(scheduler_);
        return out;
    }
    static Value label(const std::string& name, const std::string& value) {
        return Value::list({Value::tuple({Value::string(name), Value::string(value)})});
    }
    void run(Duration by) { scheduler_.run_simulated(time_.now() + by); }

    ManualTime time_;
    Scheduler scheduler_{{}, time_};
};

TEST_F(Operators, AmplifyMultiplies) {
    const SourcePtr ramp = std::make_shared<Ramp>();
    const auto out = play(build("amplify", {Value::null(), Value::string("liq_amplify"), Value::floating(0.5), script::to_value(ramp)}));
    run(1s);
    ASSERT_GT(out->samples.size(), 40'000u);
    for (std::size_t i = 0; i < out->samples.size(); ++i) ASSERT_EQ(out->samples[i], Ramp::value(static_cast<std::int64_t>(i)) * 0.5f);
}

TEST_F(Operators, AmplifyTakesTheTracksOwnFactor) {
    const SourcePtr ramp = std::make_shared<Ramp>(Ticks{1000});
    // Track 1 alone says what it wants.
    const Value map = Value::function([](std::span<const lang::CallArgument> a) {
        const Metadata m = script::metadata_from_value(a[0].value);
        return m.get("title") == "track 1" ? label("liq_amplify", "-6.0206 dB") : Value::list({});
    });
    const Value mapped = build("metadata.map", {Value::null(), Value::boolean(true), Value::boolean(false), Value::boolean(true), map, script::to_value(ramp)});
    const auto out = play(build("amplify", {Value::null(), Value::string("liq_amplify"), Value::floating(1), mapped}));
    run(200ms);
    EXPECT_TRUE(out->is_ramp_from(0, 0, 1000));
    for (std::size_t i = 1000; i < 2000; ++i) ASSERT_NEAR(out->samples[i], Ramp::value(static_cast<std::int64_t>(i)) * 0.5f, 1e-7f);
    EXPECT_EQ(out->samples[2500], Ramp::value(2500));
}

TEST_F(Operators, MetadataMapUpdatesReplacesAndStrips) {
    const auto titles = [&](bool update, bool strip, const Value& result) {
        const SourcePtr ramp = std::make_shared<Ramp>(Ticks{50'000});
        const Value f = Value::function([result](std::span<const lang::CallArgument>) { return result; });
        const auto out = play(build("metadata.map", {Value::null(), Value::boolean(update), Value::boolean(strip), Value::boolean(true), f, script::to_value(ramp)}));
        run(100ms);
        return out->titles;
    };
    EXPECT_EQ(titles(true, false, label("title", "new")), (std::vector<std::string>{"new"}));
    EXPECT_EQ(titles(true, false, label("other", "x")), (std::vector<std::string>{"track 0"}));
    EXPECT_EQ(titles(false, false, label("other", "x")), (std::vector<std::string>{""}));
    EXPECT_TRUE(titles(false, true, Value::list({})).empty());
}

TEST_F(Operators, AFailingMapChangesNothing) {
    const SourcePtr ramp = std::make_shared<Ramp>();
    const Value f = Value::function([](std::span<const lang::CallArgument>) -> Value { throw lang::RuntimeError("invalid", "on purpose"); });
    const auto out = play(build("metadata.map", {Value::null(), Value::boolean(true), Value::boolean(false), Value::boolean(true), f, script::to_value(ramp)}));
    run(100ms);
    EXPECT_EQ(out->titles, std::vector<std::string>{"track 0"});
    EXPECT_TRUE(out->is_ramp_from(0));
}

TEST_F(Operators, MeanAndStereo) {
    const SourcePtr ramp = std::make_shared<Ramp>();
    const Value mono = build("mean", {Value::null(), Value::boolean(true), script::to_value(ramp)});
    const Value both = build("stereo", {Value::null(), mono});
    const auto out = play(both);
    run(500ms);
    EXPECT_TRUE(out->is_ramp_from(0));
    EXPECT_EQ(content_format(script::source_from_value(mono)->content(), "audio").channels, 1);
    EXPECT_EQ(content_format(script::source_from_value(both)->content(), "audio").channels, 2);
}

TEST_F(Operators, AnIdNamesTheSource) {
    const Value s = build("insert_metadata", {Value::string("mine"), script::to_value(SourcePtr(std::make_shared<Ramp>()))});
    EXPECT_EQ(script::source_from_value(s)->id(), "mine");
}

}  // namespace
}  // namespace castile
