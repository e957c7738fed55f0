#include "codec/track_encoder.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "codec/test_media.h"
#include "ffmpeg/packet_view.h"

namespace castile {
namespace {

TrackSpec spec(const std::string& codec, ffmpeg::OptionList options = {}) {
    TrackSpec track;
    track.encoder.codec = codec;
    track.encoder.options = std::move(options);
    track.literal = "%audio(codec=\"" + codec + "\")";
    return track;
}

PacketList run(TrackEncoder& encoder, int frames, bool flush = true) {
    PacketList packets;
    for (int i = 0; i < frames; ++i) encoder.encode(tone(i * 882, 882), packets);
    if (flush) encoder.flush(packets);
    return packets;
}

TEST(TrackEncoder, TimeLineIsContinuousAndStartsBeforeZeroByThePriming) {
    for (const char* codec : {"aac", "libmp3lame", "flac", "pcm_s16le"}) {
        TrackEncoder encoder(spec(codec));
        const PacketList packets = run(encoder, 100);
        ASSERT_GT(packets.size(), 15u) << codec;
        std::int64_t next = ffmpeg::packet_view(*packets.front().data).pts;
        EXPECT_LE(next, 0) << codec;
        EXPECT_GT(next, -3000) << codec;
        for (const EncodedPacket& packet : packets) {
            const auto view = ffmpeg::packet_view(*packet.data);
            EXPECT_EQ(view.pts, next) << codec;
            EXPECT_FALSE(view.data.empty());
            EXPECT_GE(packet.position.count, 0);
            EXPECT_LE(packet.position.count, 882);
            next += view.duration;
        }
        EXPECT_EQ(packets.front().stream->time_base_den, 44100);
    }
}

TEST(TrackEncoder, PositionIsTheSampleThatFinishedThePacket) {
    TrackEncoder encoder(spec("flac", {{"frame_size", "1024"}}));
    PacketList packets;
    encoder.encode(tone(0, 882), packets);
    EXPECT_TRUE(packets.empty());
    TrackEncoder fixed(spec("pcm_s16le"));   // 1024 samples a packet
    fixed.encode(tone(0, 882), packets);
    EXPECT_TRUE(packets.empty());
    fixed.encode(tone(882, 882), packets);
    ASSERT_EQ(packets.size(), 1u);
    EXPECT_EQ(packets[0].position.count, 1024 - 882);
}

TEST(TrackEncoder, ResamplesForACodecThatWantsAnotherRate) {
    TrackEncoder encoder(spec("libopus", {{"b", "64k"}}));
    EXPECT_EQ(encoder.samplerate(), 48000);
    const PacketList packets = run(encoder, 100);
    std::int64_t samples = 0;
    for (const EncodedPacket& packet : packets) samples += ffmpeg::packet_view(*packet.data).duration;
    EXPECT_NEAR(static_cast<double>(samples), 96000, 960 + 312);
}

TEST(TrackEncoder, NamesWhatItRefuses) {
    const auto message = [](const TrackSpec& track) -> std::string {
        try {
            TrackEncoder encoder(track);
        } catch (const Error& error) {
            return error.what();
        }
        return "";
    };
    EXPECT_EQ(message(spec("aac", {{"b", "64k"}, {"bitrat", "64k"}})), "%audio(codec=\"aac\"): Unrecognized options: bitrat.");
    EXPECT_NE(message(spec("no_such_codec")).find("Unknown codec: \"no_such_codec\""), std::string::npos);
    EXPECT_NE(message(spec("libx264")).find("libx264"), std::string::npos);
    TrackSpec rate = spec("libmp3lame");
    rate.encoder.samplerate = 12345;
    EXPECT_NE(message(rate).find("12345"), std::string::npos);
    EXPECT_NE(message(spec("aac", {{"b", "loud"}})), "");
}

TEST(TrackEncoder, SharedPacketsOutliveTheEncoder) {
    PacketList packets;
    {
        TrackEncoder encoder(spec("aac"));
        packets = run(encoder, 20);
    }
    EXPECT_GT(ffmpeg::packet_view(*packets.back().data).data.size(), 0u);
}

}  // namespace
}  // namespace castile
