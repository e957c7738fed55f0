// The chain decoder -> encoders -> containers allocates nothing of ours once it runs.

#include <gtest/gtest.h>

#include "base/test_allocations.h"
#include "codec/decoder.h"
#include "codec/media_format.h"
#include "codec/test_media.h"

namespace castile {
namespace {

TEST(SteadyState, DecodingEncodingAndMuxingAllocateNothing) {
    const TemporaryFolder folder;
    write_wav(folder.path("x.wav"), 44100, 2, 44100 * 20, [](int i, int) { return static_cast<std::int16_t>(10000 * std::sin(i * 0.1)); });
    auto decoder = open_decoder(folder.path("x.wav"));
    ASSERT_TRUE(decoder);
    struct Sink final : ByteSink {
        std::size_t bytes = 0;
        void write(ByteSpan data) noexcept override { bytes += data.size(); }
    } sink;
    const auto spec = [](const char* codec) {
        TrackSpec track;
        track.encoder.codec = codec;
        return track;
    };
    TrackEncoder aac(spec("aac")), lame(spec("libmp3lame")), opus(spec("libopus"));
    MediaSpec media;
    TrackSpec copy;
    copy.mode = TrackSpec::Mode::copy;
    const Name fields[] = {"aac", "lame", "opus"};
    std::vector<std::unique_ptr<StreamEncoder>> outputs;
    for (const auto& [container, field, segment] : {std::tuple{"mpegts", 0, true}, {"adts", 0, false}, {"mp4", 0, true}, {"mp3", 1, false}, {"ogg", 2, false}}) {
        copy.field = fields[field];
        media.container = container;
        media.tracks = {copy};
        EncoderOptions options;
        if (segment) options.segment = 1.5;
        outputs.push_back(MediaFormat(media).open(options));
    }
    Frame frame;
    long before = 0;
    for (int i = 0; i < 900; ++i) {
        if (i == 400) before = test::thread_allocations;
        const PcmBlock block = (*decoder)->read(Ticks{882}, 2);
        ASSERT_EQ(block.samples(), 882u);
        frame.reset();
        frame.set_length(Ticks{882});
        TrackEncoder* encoders[] = {&aac, &lame, &opus};
        for (int e = 0; e < 3; ++e) {
            Content& content = frame.track(fields[e]);
            if (!std::holds_alternative<PacketList>(content)) content.emplace<PacketList>();
            encoders[e]->encode(block, std::get<PacketList>(content));
        }
        for (auto& output : outputs) output->encode(frame, sink);
    }
    EXPECT_EQ(test::thread_allocations - before, 0);
    EXPECT_GT(sink.bytes, 100000u);
}

}  // namespace
}  // namespace castile
