#include "frame/frame.h"

#include <gtest/gtest.h>

using namespace castile;

namespace {

/// A frame of stereo samples first, first + 1, ...; the right channel is negated.
Frame ramp(float first, int length) {
    Frame frame;
    PcmBlock block(2, static_cast<std::size_t>(length));
    for (int i = 0; i < length; ++i) {
        block.write(0)[i] = first + static_cast<float>(i);
        block.write(1)[i] = -first - static_cast<float>(i);
    }
    frame.track("audio") = block;
    frame.set_length({length});
    return frame;
}

void expect_ramp(const Frame& frame, float first) {
    const PcmBlock* block = frame.pcm("audio");
    ASSERT_NE(block, nullptr);
    ASSERT_EQ(static_cast<std::int64_t>(block->samples()), frame.length().count);
    for (std::size_t i = 0; i < block->samples(); ++i) {
        ASSERT_EQ(block->channel(0)[i], first + static_cast<float>(i)) << i;
        ASSERT_EQ(block->channel(1)[i], -first - static_cast<float>(i)) << i;
    }
}

}  // namespace

TEST(PcmBlock, CopiesOnWriteOnly) {
    PcmBlock a(2, 100);
    a.clear();
    PcmBlock b = a;
    EXPECT_EQ(a.channel(1).data(), b.channel(1).data());
    b.write(1)[3] = 1.0f;
    EXPECT_EQ(a.channel(1)[3], 0.0f);
    EXPECT_EQ(b.channel(1)[3], 1.0f);
    EXPECT_EQ(b.channel(0)[3], 0.0f);
}

TEST(PcmBlock, SlicesShare) {
    Frame frame = ramp(0, 50);
    PcmBlock part = frame.pcm("audio")->slice(10, 5);
    EXPECT_EQ(part.samples(), 5u);
    EXPECT_EQ(part.channel(0)[0], 10.0f);
    EXPECT_EQ(part.channel(0).data(), frame.pcm("audio")->channel(0).data() + 10);
    part.write(0)[0] = 7.0f;
    EXPECT_EQ(frame.pcm("audio")->channel(0)[10], 10.0f);
}

TEST(Frame, AppendsSlicesWithoutLosingASample) {
    Frame source = ramp(100, 882), out;
    out.append(source, {0}, {300});
    out.append(source, {300}, {882});
    EXPECT_EQ(out.length().count, 882);
    expect_ramp(out, 100);
}

TEST(Frame, MovesMarksMetadataAndPacketsAlong) {
    Frame source = ramp(0, 100);
    source.track_marks() = {{10}, {60}};
    source.metadata().push_back({{60}, std::make_shared<Metadata>()});
    source.track("packets") = PacketList{{nullptr, nullptr, {20}}, {nullptr, nullptr, {100}}};
    Frame out = ramp(0, 5);
    out.append(source, {50}, {100});
    EXPECT_EQ(out.length().count, 55);
    ASSERT_EQ(out.track_marks().size(), 1u);
    EXPECT_EQ(out.track_marks()[0].count, 15);
    EXPECT_EQ(out.metadata().at(0).position.count, 15);
    ASSERT_EQ(out.packets("packets")->size(), 1u);
    EXPECT_EQ(out.packets("packets")->at(0).position.count, 55);
}

TEST(Frame, DropsItsFront) {
    Frame frame = ramp(0, 100);
    frame.track_marks() = {{10}, {60}};
    frame.drop_front({40});
    EXPECT_EQ(frame.length().count, 60);
    expect_ramp(frame, 40);
    ASSERT_EQ(frame.track_marks().size(), 1u);
    EXPECT_EQ(frame.track_marks()[0].count, 20);
}

TEST(Ticks, ConvertsLongTimesExactly) {
    EXPECT_EQ(to_duration({44100LL * 86400 * 365}), std::chrono::hours(24 * 365));
    EXPECT_EQ(ticks_from_seconds(0.02).count, 882);
}

TEST(Metadata, AlwaysHasSomeTitle) {
    EXPECT_EQ(display_title(Metadata{{{"artist", "A"}, {"title", "T"}}}), "A - T");
    EXPECT_EQ(display_title(Metadata{{{"filename", "/music/x.y.mp3"}}}), "x.y");
    EXPECT_EQ(display_title({}), "Unknown");
}
