// ffmpeg.encode.audio, source.tracks and source({...}) on simulated time.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "codec/media_format.h"
#include "ffmpeg/packet_view.h"
#include "lang/builtin.h"
#include "lang/diag.h"
#include "sched/manual_time.h"
#include "sched/scheduler.h"
#include "script/values.h"
#include "source/output.h"
#include "source/ramp.h"

namespace castile {
namespace {

using namespace std::chrono_literals;
using lang::Value;
using script::to_value;
using test::Ramp;

/// Calls a builtin by name, the id first where it takes one.
Value call(const std::string& name, std::vector<Value> values) {
    const auto& builtins = lang::all_builtins();
    const auto found = std::ranges::find(builtins, name, &lang::Builtin::name);
    if (found == builtins.end()) throw Error("no builtin " + name);
    if (!found->params.empty() && found->params.front().label == "id") values.insert(values.begin(), Value::null());
    const lang::BuiltinArgs args(values, {});
    return found->call ? found->call(args) : found->closure(args);
}

FormatPtr format(const std::string& codec, const std::string& rate) {
    MediaSpec spec;
    TrackSpec track;
    track.encoder.codec = codec;
    track.encoder.options = {{"b", rate}};
    track.literal = spec.literal = "%audio(codec=\"" + codec + "\",b=\"" + rate + "\")";
    spec.tracks.push_back(track);
    return std::make_shared<const MediaFormat>(spec);
}

/// Keeps the packets of every track.
class Packets : public Output {
public:
    explicit Packets(SourcePtr input) : Output("packets", std::move(input), {}) {}
    std::map<std::string, PacketList> tracks;
    std::vector<std::string> titles;
    std::vector<std::int64_t> marks;
    std::int64_t length = 0;

protected:
    void send(const Frame& frame) noexcept override {
        for (const FrameTrack& track : frame.tracks())
            if (const auto* packets = std::get_if<PacketList>(&track.content)) {
                auto& list = tracks[track.field.str()];
                list.insert(list.end(), packets->begin(), packets->end());
            }
        for (const FrameMetadata& m : frame.metadata()) titles.push_back(m.metadata->get("title"));
        for (const Ticks mark : frame.track_marks()) marks.push_back(length + mark.count);
        length += frame.length().count;
    }
};

class Tracks : public ::testing::Test {
protected:
    void SetUp() override { set_stream_parameters({}); set_scheduler(&scheduler_); }
    void TearDown() override { stop_clocks(); set_scheduler(nullptr); }
    void run(Duration d) { scheduler_.run_simulated(time_.now() + d); }
    ManualTime time_;
    Scheduler scheduler_{{}, time_};
};

TEST_F(Tracks, OneEncodeIsSharedByTheSourcesMadeOfIt) {
    const SourcePtr ramp = std::make_shared<Ramp>(Ticks{44100});
    const Value low = call("ffmpeg.encode.audio", {to_value(format("aac", "48k")), to_value(ramp)});
    const Value high = call("ffmpeg.encode.audio", {to_value(format("aac", "128k")), to_value(ramp)});
    const Value low_tracks = call("source.tracks", {low}), high_tracks = call("source.tracks", {high});
    const Value record = Value::unit()
                             .with_method("audio_low", *low_tracks.own_method("audio"))
                             .with_method("audio_high", *high_tracks.own_method("audio"))
                             .with_method("metadata", *low_tracks.own_method("metadata"))
                             .with_method("track_marks", *low_tracks.own_method("track_marks"));
    const SourcePtr encoded = script::source_from_value(call("source", {record}));
    EXPECT_EQ(encoded->clock(), ramp->clock());
    EXPECT_EQ(content_format(encoded->content(), "audio_high").kind, ContentFormat::Kind::packets);
    EXPECT_FALSE(encoded->fallible());
    const auto one = std::make_shared<Packets>(encoded), two = std::make_shared<Packets>(encoded);
    attach_output(one);
    attach_output(two);
    start_clocks(scheduler_);
    run(3s);
    ASSERT_GT(one->tracks["audio_low"].size(), 100u);
    EXPECT_EQ(one->tracks.size(), 2u);
    EXPECT_EQ(one->tracks["audio_low"].size(), one->tracks["audio_high"].size());
    std::int64_t next = -1024;
    for (std::size_t i = 0; i < one->tracks["audio_low"].size(); ++i) {
        const EncodedPacket& a = one->tracks["audio_low"][i];
        EXPECT_EQ(a.data, two->tracks["audio_low"][i].data);   // the very packet
        EXPECT_EQ(ffmpeg::packet_view(*a.data).pts, next);
        next += 1024;
    }
    ASSERT_GE(one->titles.size(), 3u);
    EXPECT_EQ(one->titles[1], "track 1");
    EXPECT_EQ(one->marks[1], 44100);
}

TEST_F(Tracks, PcmTracksKeepTheirSamplesAndAgreeOnChannels) {
    const SourcePtr ramp = std::make_shared<Ramp>();
    const Value parts = call("source.tracks", {to_value(ramp)});
    const SourcePtr again = script::source_from_value(call("source", {Value::unit().with_method("audio", *parts.own_method("audio"))}));
    require_content(again->content(), "audio", {ContentFormat::Kind::pcm, 1});
    EXPECT_EQ(content_format(ramp->content(), "audio").channels, 1);
    EXPECT_THROW(require_content(ramp->content(), "audio", {ContentFormat::Kind::pcm, 2}), Error);
    const auto collector = std::make_shared<test::Collector>(again, false);
    attach_output(collector);
    start_clocks(scheduler_);
    run(1s);
    EXPECT_TRUE(collector->is_ramp_from(0));
    EXPECT_TRUE(collector->marks.empty());   // the record had none
}

TEST_F(Tracks, AnEncodedSourceCannotBePcm) {
    const Value encoded = call("ffmpeg.encode.audio", {to_value(format("aac", "48k")), to_value(SourcePtr(std::make_shared<Ramp>()))});
    EXPECT_THROW(require_content(script::source_from_value(encoded)->content(), "audio", {ContentFormat::Kind::pcm, 2}), Error);
    EXPECT_THROW(call("source", {Value::unit()}), lang::ScriptError);
}

}  // namespace
}  // namespace castile
