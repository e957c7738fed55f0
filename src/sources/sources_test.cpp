#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>

#include "lang/builtin.h"
#include "base/error.h"
#include "sched/manual_time.h"
#include "sched/scheduler.h"
#include "script/values.h"
#include "source/output.h"
#include "source/ramp.h"
#include "sources/playlist_feed.h"
#include "sources/request_source.h"

namespace castile {
namespace {

using namespace std::chrono_literals;
using lang::Value;
using test::Collector;

class RequestSources : public testing::Test {
protected:
    RequestSources() : folder_(std::filesystem::temp_directory_path() / ("castile_sources_test_" + std::to_string(getpid()))) {
        std::filesystem::create_directories(folder_);
        set_stream_parameters({});
        set_scheduler(&scheduler_);
    }
    ~RequestSources() override {
        stop_clocks();
        scheduler_.run_simulated(time_.now() + 1s);
        set_scheduler(nullptr);
        std::filesystem::remove_all(folder_);
    }

    std::string path(const std::string& name) const { return (folder_ / name).string(); }

    // Stereo WAV at the engine's rate: sample i is `first` + i, in 1/32768.
    std::string ramp(const std::string& name, int first, std::uint32_t samples) {
        std::ofstream file(path(name), std::ios::binary);
        const auto number = [&](std::uint32_t value, int bytes) {
            for (int i = 0; i < bytes; ++i) file.put(static_cast<char>(value >> (8 * i)));
        };
        file << "RIFF", number(36 + samples * 4, 4), file << "WAVEfmt ";
        number(16, 4), number(1, 2), number(2, 2), number(44100, 4), number(44100 * 4, 4), number(4, 2), number(16, 2);
        file << "data", number(samples * 4, 4);
        for (std::uint32_t i = 0; i < samples; ++i) number(static_cast<std::uint32_t>(first) + i, 2), number(0, 2);
        return path(name);
    }

    static Value text(const std::string& s) { return Value::string(s); }
    static Value uris(const std::vector<std::string>& all) {
        std::vector<Value> values;
        for (const std::string& uri : all) values.push_back(text(uri));
        return Value::list(std::move(values));
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
    static Value nothing(std::span<const lang::CallArgument>) { return Value::unit(); }
    static Value single(const std::string& uri, bool fallible = false) {
        return build("single", {Value::null(), Value::null(), Value::null(), Value::boolean(fallible), text("liq_cue_in"), text("liq_cue_out"), text(uri)});
    }
    static std::vector<Value> shared(bool loop, const std::string& mode) {
        return {Value::null(), Value::null(), Value::null(), Value::boolean(loop), Value::integer(10), text(mode), Value::boolean(false),
                Value::function(nothing), Value::null(), Value::null(), text("liq_cue_in"), text("liq_cue_out")};
    }
    static Value list(const std::vector<std::string>& files, bool loop = true, const std::string& mode = "normal") {
        std::vector<Value> arguments = shared(loop, mode);
        arguments.push_back(Value::function(nothing));
        arguments.push_back(uris(files));
        return build("playlist.list", std::move(arguments));
    }
    static Value playlist(const std::string& uri, const std::string& mode = "normal", int reload = 0, const std::string& reload_mode = "seconds") {
        std::vector<Value> arguments = shared(true, mode);
        for (const Value& v : {Value::null(), Value::function(nothing), text(""), Value::integer(reload), text(reload_mode), Value::boolean(false), text(uri)})
            arguments.push_back(v);
        return build("playlist", std::move(arguments));
    }
    static Value queue() {
        return build("request.queue", {Value::null(), Value::boolean(true), Value::null(), Value::boolean(false), Value::list({}), Value::null()});
    }

    std::shared_ptr<Collector> play(const Value& source, bool fallible) {
        auto out = std::make_shared<Collector>(script::source_from_value(source), fallible);
        attach_output(out);
        start_clocks(scheduler_);
        return out;
    }
    void run(Duration by) { scheduler_.run_simulated(time_.now() + by); }

    // Are these the samples, from position `at` on, of a ramp from `first`?
    static testing::AssertionResult holds(const Collector& out, std::size_t at, int first, std::size_t count) {
        if (out.samples.size() < at + count) return testing::AssertionFailure() << "only " << out.samples.size() << " samples";
        for (std::size_t i = 0; i < count; ++i)
            if (out.samples[at + i] != static_cast<float>(first + static_cast<int>(i)) / 32768.f)
                return testing::AssertionFailure() << "sample " << at + i << " is " << out.samples[at + i] * 32768;
        return testing::AssertionSuccess();
    }

    std::filesystem::path folder_;
    ManualTime time_;
    Scheduler scheduler_{{}, time_};
};

TEST_F(RequestSources, SingleLoopsWithoutAGap) {
    const Value source = single(ramp("a.wav", 0, 10'000));
    EXPECT_FALSE(script::source_from_value(source)->fallible());
    const auto out = play(source, false);
    run(3s);
    ASSERT_GE(out->samples.size(), 120'000u);
    for (std::size_t i = 0; i < 12; ++i) EXPECT_TRUE(holds(*out, i * 10'000, 0, 10'000)) << "round " << i;
    ASSERT_GE(out->marks.size(), 12u);
    for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(out->marks[i], static_cast<std::int64_t>(i * 10'000));
    EXPECT_EQ(out->title_positions, out->marks);
}

TEST_F(RequestSources, SingleOfAFileShorterThanAFrame) {
    const auto out = play(single(ramp("a.wav", 0, 100)), false);
    run(1s);
    ASSERT_GE(out->samples.size(), 40'000u);
    for (std::size_t i = 0; i < 400; ++i) ASSERT_TRUE(holds(*out, i * 100, 0, 100)) << i;
}

TEST_F(RequestSources, SingleOpensTheNextRoundAhead) {
    const auto out = play(single(ramp("a.wav", 0, 20'000)), false);
    const std::size_t before = all_requests().size();
    run(10s);
    EXPECT_TRUE(holds(*out, 20 * 20'000, 0, 20'000));
    EXPECT_EQ(all_requests().size(), before);   // one request for all times
}

TEST_F(RequestSources, SingleRefusesWhatIsNoMedia) {
    std::ofstream(path("text.mp3")) << "This is not an MP3 file.\n";
    EXPECT_THROW(single(path("text.mp3")), std::exception);
    // What is not there may come: the source may fail, and says so.
    const Value missing = single(path("missing.wav"));
    EXPECT_TRUE(script::source_from_value(missing)->fallible());
    const auto out = play(missing, true);
    run(5s);
    EXPECT_TRUE(out->samples.empty());
    ramp("missing.wav", 7, 10'000);
    run(12s);
    EXPECT_TRUE(holds(*out, 0, 7, 10'000));
}

TEST_F(RequestSources, ListPlaysInOrderWithoutAGap) {
    const auto out = play(list({ramp("a.wav", 0, 1000), ramp("b.wav", 5000, 882), path("missing.wav"), ramp("c.wav", 9000, 3)}), true);
    run(3s);
    ASSERT_GE(out->samples.size(), 4000u);
    std::size_t at = 0;
    for (const auto& [first, count] : {std::pair(0, 1000), {5000, 882}, {9000, 3}, {0, 1000}, {5000, 882}}) {
        EXPECT_TRUE(holds(*out, at, first, static_cast<std::size_t>(count))) << at;
        at += static_cast<std::size_t>(count);
    }
}

TEST_F(RequestSources, ListThatDoesNotLoopEnds) {
    const auto out = play(list({ramp("a.wav", 0, 1000), ramp("b.wav", 5000, 500)}, false), true);
    run(5s);
    EXPECT_EQ(out->samples.size(), 1500u);
    EXPECT_TRUE(holds(*out, 1000, 5000, 500));
    EXPECT_EQ(out->marks, (std::vector<std::int64_t>{0, 1000}));
}

TEST_F(RequestSources, EmptyAndMissingListsWait) {
    std::filesystem::create_directory(folder_ / "empty");
    const auto out = play(playlist(path("empty")), true);
    const auto other = play(playlist(path("no such list.m3u")), true);
    run(30s);
    EXPECT_TRUE(out->samples.empty());
    ramp("empty/a.wav", 3, 1000);
    std::ofstream(path("no such list.m3u")) << "empty/a.wav\n";
    run(60s);
    EXPECT_TRUE(out->samples.empty());        // asked to be read again only by a reload
    EXPECT_TRUE(holds(*other, 0, 3, 1000));   // a list that could not be read is tried again
}

TEST_F(RequestSources, ReloadKeepsThePlace) {
    const auto write = [&](const std::vector<std::string>& files) {
        std::ofstream list(path("list.m3u"));
        for (const std::string& file : files) list << file << "\n";
    };
    const std::string a = ramp("a.wav", 0, 44'100), b = ramp("b.wav", 1000, 44'100 / 2), c = ramp("c.wav", 2000, 44'100 / 2);
    write({a, b});
    const Value source = playlist(path("list.m3u"));
    const auto out = play(source, true);
    run(500ms);
    write({a, c, b});
    (*source.own_method("reload")).call();
    run(3s);
    EXPECT_TRUE(holds(*out, 0, 0, 30'000));
    EXPECT_TRUE(holds(*out, 44'100, 2000, 44'100 / 2));
    EXPECT_TRUE(holds(*out, 44'100 * 3 / 2, 1000, 44'100 / 2));
}

TEST_F(RequestSources, AFailedListAsksForAnotherOnceAndSlowsDown) {
    int asked = 0;
    std::vector<Value> arguments = shared(true, "normal");
    arguments[8] = Value::function([&](std::span<const lang::CallArgument>) {   // on_fail
        ++asked;
        return uris({path("missing too.wav")});
    });
    arguments.push_back(Value::function(nothing));
    arguments.push_back(uris({path("missing.wav")}));
    const Value source = build("playlist.list", std::move(arguments));
    const auto out = play(source, true);
    const auto first = Request::create("x");
    run(30s);
    EXPECT_EQ(asked, 1);
    EXPECT_LT(Request::create("y")->id() - first->id(), 50);   // requests made meanwhile
    ramp("missing too.wav", 5, 2000);
    run(20s);
    EXPECT_TRUE(holds(*out, 0, 5, 2000));
}

TEST_F(RequestSources, RandomizePlaysEachOnceARound) {
    std::vector<std::string> files;
    for (int i = 0; i < 8; ++i) files.push_back(ramp("f" + std::to_string(i) + ".wav", 1000 * i, 882));
    const auto out = play(list(files, true, "randomize"), true);
    run(2s);
    ASSERT_GE(out->samples.size(), 882u * 16);
    int last = -1;
    for (int round = 0; round < 2; ++round) {
        std::vector<int> seen;
        for (int i = 0; i < 8; ++i) {
            const int first = static_cast<int>(out->samples[static_cast<std::size_t>((round * 8 + i) * 882)] * 32768);
            EXPECT_NE(first, last);
            last = first;
            seen.push_back(first / 1000);
        }
        std::ranges::sort(seen);
        EXPECT_EQ(seen, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
    }
}

TEST_F(RequestSources, QueueIsFirstInFirstOut) {
    const Value source = queue();
    const auto out = play(source, true);
    const auto push = [&](const std::string& uri) { source.own_method("push")->own_method("uri")->call({text(uri)}); };
    run(1s);
    EXPECT_TRUE(out->samples.empty());
    push(ramp("a.wav", 0, 1000));
    push(path("missing.wav"));
    push(ramp("b.wav", 2000, 1000));
    EXPECT_EQ(source.own_method("length")->call().as_int(), 3);
    run(2s);
    EXPECT_EQ(out->samples.size(), 2000u);
    EXPECT_TRUE(holds(*out, 1000, 2000, 1000));
    EXPECT_EQ(source.own_method("length")->call().as_int(), 0);
    // A skip with nothing on the air eats nothing.
    script::source_from_value(source)->clock()->run_between_ticks([s = script::source_from_value(source)] { s->skip(); });
    run(100ms);
    push(ramp("c.wav", 4000, 1000));
    run(2s);
    EXPECT_TRUE(holds(*out, 2000, 4000, 1000));
}

TEST_F(RequestSources, SkipAndSeek) {
    const Value source = list({ramp("a.wav", 0, 30'000), ramp("b.wav", 1000, 30'000)});
    const SourcePtr s = script::source_from_value(source);
    const auto out = play(source, true);
    run(200ms);
    const std::size_t at = out->samples.size();
    s->clock()->run_between_ticks([s] { s->seek(Ticks{10'000}); });
    run(20ms);
    EXPECT_TRUE(holds(*out, at, static_cast<int>(at) + 10'000, 800));
    ASSERT_TRUE(s->remaining());
    EXPECT_EQ(s->remaining()->count, 30'000 - 10'000 - static_cast<std::int64_t>(out->samples.size()));
    s->clock()->run_between_ticks([s] { s->skip(); });
    const std::size_t then = out->samples.size();
    run(100ms);
    EXPECT_TRUE(holds(*out, then, 1000, 800));
    EXPECT_EQ(out->marks.back(), static_cast<std::int64_t>(then));
}

TEST_F(RequestSources, MetadataAreThoseOfTheRequest) {
    const Value source = list({ramp("a.wav", 0, 3000)});
    const auto out = play(source, true);
    run(500ms);
    const MetadataPtr m = script::source_from_value(source)->last_metadata();
    ASSERT_TRUE(m);
    EXPECT_EQ(m->get("filename"), path("a.wav"));
    EXPECT_EQ(m->get("status"), "ready");
    EXPECT_NE(m->find("rid"), nullptr);
}

TEST_F(RequestSources, NothingStaysOfWhatPlayed) {
    const auto out = play(list({ramp("a.wav", 0, 882), ramp("b.wav", 0, 882)}), true);
    run(1s);
    const std::size_t requests = all_requests().size();
    run(20s);
    EXPECT_LE(all_requests().size(), requests + 1);
}

TEST_F(RequestSources, Generators) {
    const auto out = play(build("sine", {Value::null(), Value::floating(0.5), Value::floating(0.1), Value::floating(441)}), false);
    const auto silence = play(build("blank", {Value::null(), Value::floating(0)}), false);
    run(500ms);
    EXPECT_NEAR(out->samples[25], 0.5f, 1e-5);   // a quarter of the period of 100 samples
    EXPECT_NEAR(out->samples[4475], -0.5f, 1e-4);
    ASSERT_GE(out->marks.size(), 4u);
    EXPECT_EQ(out->marks[1], 4410);
    EXPECT_EQ(out->marks[3], 3 * 4410);
    EXPECT_EQ(std::ranges::count_if(silence->samples, [](float s) { return s != 0; }), 0);
    EXPECT_EQ(silence->marks, std::vector<std::int64_t>{0});
}

}  // namespace
}  // namespace castile
