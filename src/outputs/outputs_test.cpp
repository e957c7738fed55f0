// output.file and output.file.hls as a script calls them, in simulated time.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "codec/decoder.h"
#include "codec/media_format.h"
#include "lang/builtin_table.h"
#include "outputs/file_name.h"
#include "outputs/file_queue.h"
#include "outputs/hls_playlist.h"
#include "sched/manual_time.h"
#include "sched/scheduler.h"
#include "script/values.h"
#include "source/ramp.h"

namespace castile {
namespace {

using namespace std::chrono_literals;
using lang::CallArgument;
using lang::Value;
using test::Ramp;

Value native(std::function<Value(const Value&)> f) {
    return Value::function([f = std::move(f)](std::span<const CallArgument> arguments) {
        return f(arguments.empty() ? Value() : arguments[0].value);
    });
}

/// The defaults of the two declarations, without the language.
Value default_value(std::string_view text) {
    if (text.starts_with("fun (m)"))
        return native([](const Value& m) {
            return Value::string(m.own_method("stream_name")->as_string() + "_" + std::to_string(m.own_method("position")->as_int()) + "." +
                                 m.own_method("extname")->as_string());
        });
    if (text.ends_with("\"\"")) return native([](const Value&) { return Value::string(""); });
    if (text.ends_with("2.")) return native([](const Value&) { return Value::floating(2.); });
    if (text.ends_with("null")) return native([](const Value&) { return Value::null(); });
    if (text.ends_with("false")) return native([](const Value&) { return Value::boolean(false); });
    return native([](const Value&) { return Value(); });
}

FormatPtr format(const std::string& container, const std::string& codec, ffmpeg::OptionList options = {}) {
    MediaSpec spec;
    spec.name = "ffmpeg";
    spec.container = container;
    TrackSpec track;
    track.encoder.codec = codec;
    track.encoder.options = std::move(options);
    track.literal = "%audio(codec=\"" + codec + "\")";
    spec.tracks.push_back(track);
    spec.literal = "%ffmpeg(format=\"" + container + "\"," + track.literal + ")";
    return std::make_shared<MediaFormat>(spec);
}

class FileOutputs : public ::testing::Test {
protected:
    void SetUp() override {
        static const bool frozen = [] {
            lang::set_default_evaluator(default_value);
            lang::freeze_builtins();
            return true;
        }();
        ASSERT_TRUE(frozen);
        std::string pattern = "/tmp/castile-outputs-XXXXXX";
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        root_ = pattern;
        set_stream_parameters({});
        set_scheduler(&scheduler_);
    }
    void TearDown() override {
        stop();
        set_scheduler(nullptr);
        std::filesystem::remove_all(root_);
    }
    Value make(const char* name, std::vector<CallArgument> arguments) {
        return lang::builtin_value(*lang::find_builtin(name)).call(arguments);
    }
    void run(Duration d) { scheduler_.run_simulated(time_.now() + d); }
    void stop() {
        stop_clocks();
        run(0s);
        EXPECT_TRUE(wait_for_files(0s));
    }
    std::string text(const std::string& file) const { return read_small_file(root_ + "/" + file); }
    std::vector<float> samples(const std::string& path) const {
        auto decoder = open_decoder(path);
        if (!decoder) {
            ADD_FAILURE() << decoder.error().message;
            return {};
        }
        std::vector<float> all;
        for (;;) {
            const PcmBlock block = (*decoder)->read(Ticks{4096}, 1);
            const auto channel = block.empty() ? std::span<const float>() : block.channel(0);
            all.insert(all.end(), channel.begin(), channel.end());
            if (block.samples() < 4096) return all;
        }
    }

    std::string root_;
    ManualTime time_;
    Scheduler scheduler_{{}, time_};
};

TEST_F(FileOutputs, HlsVariantsShareTheGrid) {
    auto ramp = std::make_shared<Ramp>();
    std::vector<Value> streams;
    for (const char* name : {"low", "high"})
        streams.push_back(Value::tuple({Value::string(name), script::to_value(format("mpegts", "aac", {{"b", name[0] == 'l' ? "48k" : "128k"}}))}));
    std::vector<std::string> changes;
    Value output = make("output.file.hls", {{"segment_duration", Value::floating(2)}, {"segments", Value::integer(4)},
                                            {"segments_overhead", Value::integer(1)}, {Name(), Value::string(root_ + "/hls")},
                                            {Name(), Value::list(streams)}, {Name(), script::to_value(SourcePtr(ramp))}});
    const std::vector<CallArgument> watch = {{"synchronous", Value::boolean(true)}, {Name(), native([&](const Value& change) {
        changes.push_back(change.own_method("state")->as_string() + " " + change.own_method("path")->as_string().substr(root_.size() + 5));
        return Value();
    })}};
    output.own_method("on_file_change")->call(watch);
    start_clocks(scheduler_);
    run(15s);
    output.own_method("insert_tag")->call({Value::string("#EXT-X-CUE-OUT")});
    run(6s);
    const std::string low = text("hls/low.m3u8"), high = text("hls/high.m3u8");
    const auto without_names = [](std::string s, const std::string& name) {
        for (std::size_t at; (at = s.find(name + "_")) != s.npos;) s.replace(at, name.size(), "x");
        return s;
    };
    EXPECT_EQ(without_names(low, "low"), without_names(high, "high"));  // same durations, dates and numbers
    EXPECT_NE(low.find("#EXT-X-CUE-OUT\r\n#EXTINF"), low.npos) << low;
    EXPECT_NE(low.find("#EXT-X-MEDIA-SEQUENCE:6\r\n"), low.npos) << low;
    EXPECT_NE(low.find("#EXT-X-PROGRAM-DATE-TIME:2023-11-14T22:13:3"), low.npos) << low;
    EXPECT_FALSE(file_exists(root_ + "/hls/low_5.ts"));
    EXPECT_TRUE(file_exists(root_ + "/hls/low_6.ts"));
    EXPECT_EQ(std::ranges::count(changes, "created low_1.ts"), 1);
    EXPECT_EQ(std::ranges::count(changes, "deleted low_1.ts"), 1);
    stop();
    EXPECT_TRUE(text("hls/low.m3u8").ends_with("#EXT-X-ENDLIST\r\n"));
    std::string all;
    for (const std::string& file : files_of_playlist(text("hls/low.m3u8"), "")) all += read_small_file(root_ + "/hls/" + file);
    write_file_at_once(root_ + "/all.ts", all, 0600);
    EXPECT_NEAR(static_cast<double>(samples(root_ + "/all.ts").size()) / 44100, 7, 1.2);
}

TEST_F(FileOutputs, NoSampleIsLostBetweenTwoFiles) {
    auto ramp = std::make_shared<Ramp>(Ticks{44100});
    std::vector<std::string> closed;
    Value output = make("output.file", {{"on_close", native([&](const Value& name) {
                                             closed.push_back(name.as_string());
                                             return Value();
                                         })},
                                        {"reopen_on_metadata", native([](const Value&) { return Value::boolean(true); })},
                                        {Name(), script::to_value(format("wav", "pcm_f32le"))},
                                        {Name(), Value::string(root_ + "/%Y/$(title).wav")},
                                        {Name(), script::to_value(SourcePtr(ramp))}});
    start_clocks(scheduler_);
    run(2500ms);
    output.own_method("reopen")->call();
    run(100ms);
    stop();
    std::vector<float> all;
    for (const char* name : {"track 0", "track 1"}) {
        const auto part = samples(root_ + "/2023/" + name + ".wav");
        EXPECT_GT(part.size(), 43000U);
        all.insert(all.end(), part.begin(), part.end());
    }
    for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], Ramp::value(static_cast<std::int64_t>(i)));
    EXPECT_GE(closed.size(), 4U);
    EXPECT_EQ(closed.front(), root_ + "/2023/track 0.wav");
}

TEST_F(FileOutputs, ADiskErrorIsTriedAgainAndGoesOnWithTheFile) {
    auto ramp = std::make_shared<Ramp>();
    write_file_at_once(root_ + "/folder", "in the way", 0600);
    make("output.file", {{Name(), script::to_value(format("mp3", "libmp3lame"))}, {Name(), Value::string(root_ + "/folder/a.mp3")},
                         {Name(), script::to_value(SourcePtr(ramp))}});
    start_clocks(scheduler_);
    run(2s);
    std::filesystem::remove(root_ + "/folder");
    run(6s);
    EXPECT_TRUE(file_exists(root_ + "/folder/a.mp3"));
    stop();
    const double seconds = static_cast<double>(samples(root_ + "/folder/a.mp3").size()) / 44100;
    EXPECT_GT(seconds, 3.5);
    EXPECT_LT(seconds, 8);
}

TEST_F(FileOutputs, AnEmptyNameMeansNoFileForNow) {
    auto ramp = std::make_shared<Ramp>();
    std::string name;
    make("output.file", {{Name(), script::to_value(format("wav", "pcm_f32le"))}, {Name(), native([&](const Value&) { return Value::string(name); })},
                         {Name(), script::to_value(SourcePtr(ramp))}});
    start_clocks(scheduler_);
    run(2s);
    EXPECT_TRUE(std::filesystem::is_empty(root_));
    name = root_ + "/now.wav";
    run(3s);
    stop();
    const auto all = samples(name);
    ASSERT_GT(all.size(), 80000U);
    EXPECT_GE(all.front(), Ramp::value(2 * 44100));
    for (std::size_t i = 1; i < all.size(); ++i) ASSERT_EQ(all[i] - all[i - 1], Ramp::value(1));
}

}  // namespace
}  // namespace castile
