#include "codec/decoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <tuple>
#include <vector>

#include <malloc.h>

#include "base/log.h"
#include "codec/media_format.h"
#include "codec/test_media.h"
#include "codec/text.h"

namespace castile {
namespace {

TEST(Decoder, WavIsSampleExact) {
    const TemporaryFolder folder;
    const std::string path = folder.path("ramp.wav");
    write_wav(path, 44100, 2, 10000, [](int i, int c) { return static_cast<std::int16_t>(c == 0 ? i % 30000 : -(i % 30000)); });
    auto decoder = open_decoder(path);
    ASSERT_TRUE(decoder) << decoder.error().message;
    EXPECT_NEAR(*(*decoder)->duration(), 10000 / 44100.0, 1e-6);
    int seen = 0;
    for (;;) {
        const PcmBlock block = (*decoder)->read(Ticks{882}, 2);
        for (std::size_t i = 0; i < block.samples(); ++i, ++seen) {
            ASSERT_FLOAT_EQ(block.channel(0)[i], static_cast<float>(seen % 30000) / 32768.f);
            ASSERT_FLOAT_EQ(block.channel(1)[i], static_cast<float>(-(seen % 30000)) / 32768.f);
        }
        if (block.samples() < 882) break;
    }
    EXPECT_EQ(seen, 10000);
    EXPECT_EQ((*decoder)->remaining()->count, 0);
    EXPECT_TRUE((*decoder)->read(Ticks{882}, 2).empty());
}

TEST(Decoder, CuePointsAndSeekAreSampleExact) {
    const TemporaryFolder folder;
    const std::string path = folder.path("ramp.wav");
    write_wav(path, 44100, 1, 30000, [](int i, int) { return static_cast<std::int16_t>(i); });
    auto decoder = open_decoder(path, {.cue_in = 0.1, .cue_out = 0.5});
    ASSERT_TRUE(decoder);
    EXPECT_NEAR(*(*decoder)->duration(), 0.4, 1e-6);
    PcmBlock block = (*decoder)->read(Ticks{100}, 2);
    ASSERT_EQ(block.samples(), 100u);
    EXPECT_EQ(std::lround(block.channel(0)[0] * 32768), 4410);
    EXPECT_EQ(std::lround(block.channel(1)[99] * 32768), 4509);
    EXPECT_EQ((*decoder)->seek(Ticks{10000}).count, 10000);
    block = (*decoder)->read(Ticks{100}, 1);
    EXPECT_EQ(std::lround(block.channel(0)[0] * 32768), 14510);
    EXPECT_EQ((*decoder)->seek(Ticks{-100000}).count, -10200);   // not before the cue point
    std::size_t total = 0;
    for (std::size_t n = 1; n > 0; total += n) n = (*decoder)->read(Ticks{441}, 2).samples();
    EXPECT_EQ(total, 17640u);
}

TEST(Decoder, ChannelsAndRateAreConverted) {
    const TemporaryFolder folder;
    const std::string path = folder.path("tone.wav");
    write_wav(path, 22050, 2, 22050, [](int i, int c) { return c == 0 ? static_cast<std::int16_t>(20000 * std::sin(i * 0.1)) : std::int16_t{0}; });
    auto decoder = open_decoder(path);
    ASSERT_TRUE(decoder);
    std::size_t total = 0;
    float peak = 0;
    for (;;) {
        const PcmBlock block = (*decoder)->read(Ticks{882}, 1);
        for (float x : block.channel(0)) peak = std::max(peak, std::abs(x));
        total += block.samples();
        if (block.samples() < 882) break;
    }
    EXPECT_NEAR(static_cast<double>(total), 44100, 2);
    EXPECT_NEAR(peak, 0.5 * 20000 / 32768, 0.02);
}

TEST(Decoder, RefusesWhatIsNotMedia) {
    const TemporaryFolder folder;
    auto missing = open_decoder(folder.path("nowhere.mp3"));
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().kind, Failure::Kind::not_found);
    EXPECT_NE(missing.error().message.find("nowhere.mp3"), std::string::npos);

    const std::string text = folder.path("text.mp3");
    {
        std::ofstream out(text);
        for (int i = 0; i < 2000; ++i) out << "This is not music, line " << i << ", whatever the name says.\n";
    }
    auto refused = open_decoder(text);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("text.mp3"), std::string::npos);

    std::ofstream(folder.path("empty.mp3"));
    EXPECT_FALSE(open_decoder(folder.path("empty.mp3")));
    EXPECT_FALSE(open_decoder(folder.path("")));

    // A damaged header must not start a resampler of gigabytes.
    write_wav(folder.path("rate.wav"), 536915012, 2, 1000, [](int, int) { return std::int16_t{0}; });
    auto rate = open_decoder(folder.path("rate.wav"));
    ASSERT_FALSE(rate);
    EXPECT_NE(rate.error().message.find("536915012 Hz"), std::string::npos) << rate.error().message;

    // A list must not make us open what it names.
    std::ofstream(folder.path("list.mp3")) << "#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\n" << text << "\n#EXT-X-ENDLIST\n";
    EXPECT_FALSE(open_decoder(folder.path("list.mp3")));
}

/// Ten seconds of a tone in a container, through our own encoder.
std::vector<std::uint8_t> encoded(const std::string& container, const std::string& codec) {
    struct Collect final : ByteSink {
        std::vector<std::uint8_t> all;
        void write(ByteSpan data) noexcept override { all.insert(all.end(), data.begin(), data.end()); }
    } sink;
    MediaSpec spec;
    spec.container = container;
    TrackSpec track;
    track.encoder.codec = codec;
    spec.tracks.push_back(track);
    const auto encoder = MediaFormat(spec).open({});
    Frame frame;
    for (int i = 0; i < 500; ++i) {
        frame.reset();
        frame.track("audio") = tone(i * 882, 882);
        frame.set_length(Ticks{882});
        encoder->encode(frame, sink);
    }
    encoder->flush(sink);
    return sink.all;
}

void save(const std::string& path, const std::vector<std::uint8_t>& bytes) {
    std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

std::size_t length(Decoder& decoder) {
    for (std::size_t total = 0;;) {
        const std::size_t n = decoder.read(Ticks{882}, 2).samples();
        total += n;
        if (n < 882) return total;
    }
}

/// What the log said while the function ran.
template <class F>
std::string logged(const TemporaryFolder& folder, F&& run) {
    const std::string path = folder.path("log");
    configure_log({.to_stdout = false, .path = path});
    run();
    flush_log();
    configure_log({});
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Decoder, TruncatedFilesPlayWhatThereIs) {
    const TemporaryFolder folder;
    auto bytes = encoded("mp3", "libmp3lame");
    bytes.resize(bytes.size() / 2 + 37);   // in the middle of a frame
    save(folder.path("half.mp3"), bytes);
    const std::string log = logged(folder, [&] {
        auto decoder = open_decoder(folder.path("half.mp3"));
        ASSERT_TRUE(decoder);
        EXPECT_NEAR(static_cast<double>(length(**decoder)), 220500, 3000);
        EXPECT_EQ((*decoder)->remaining()->count, 0);
    });
    EXPECT_LE(std::ranges::count(log, '\n'), 1) << log;

    write_wav(folder.path("whole.wav"), 44100, 2, 441000, [](int i, int) { return static_cast<std::int16_t>(i); });
    std::filesystem::resize_file(folder.path("whole.wav"), 44 + 4 * 100000);
    const std::string said = logged(folder, [&] {
        auto decoder = open_decoder(folder.path("whole.wav"));
        ASSERT_TRUE(decoder);
        EXPECT_EQ(length(**decoder), 100000u);
    });
    EXPECT_LE(std::ranges::count(said, '\n'), 1) << said;
}

TEST(Decoder, DamageIsSkippedAndLoggedOnce) {
    const TemporaryFolder folder;
    auto bytes = encoded("mp3", "libmp3lame");
    for (std::size_t at : {bytes.size() / 4, bytes.size() / 2})
        for (std::size_t i = 0; i < 3000; ++i) bytes[at + i] = static_cast<std::uint8_t>(i * 7 + 13);
    save(folder.path("damaged.mp3"), bytes);
    const std::string log = logged(folder, [&] {
        auto decoder = open_decoder(folder.path("damaged.mp3"));
        ASSERT_TRUE(decoder);
        EXPECT_NEAR(static_cast<double>(length(**decoder)), 441000, 44100);
    });
    EXPECT_LE(std::ranges::count(log, '\n'), 1) << log;
}

TEST(Decoder, SeekInMp3LandsOnTheSample) {
    const TemporaryFolder folder;
    save(folder.path("tone.mp3"), encoded("mp3", "libmp3lame"));
    auto whole = open_decoder(folder.path("tone.mp3")), part = open_decoder(folder.path("tone.mp3"), {.cue_in = 3.21});
    ASSERT_TRUE(whole && part);
    PcmBlock skipped = (*whole)->read(Ticks{141561}, 2);   // 3.21 s
    const PcmBlock a = (*whole)->read(Ticks{2000}, 2), b = (*part)->read(Ticks{2000}, 2);
    ASSERT_EQ(a.samples(), b.samples());
    for (std::size_t i = 0; i < a.samples(); ++i) ASSERT_NEAR(a.channel(0)[i], b.channel(0)[i], 1e-4) << i;
}

// The codec goes after opening and comes back with the first read: nothing may be lost or heard twice, nor cost memory meanwhile.
TEST(Decoder, StartsAtTheFirstSampleInEveryFormat) {
    const TemporaryFolder folder;
    const PcmBlock wanted = tone(0, 44100);
    for (const auto& [container, codec, gapless] : {std::tuple{"mp3", "libmp3lame", false}, {"adts", "aac", false}, {"ogg", "libvorbis", true}, {"flac", "flac", true}, {"wav", "pcm_s16le", true}}) {
        save(folder.path(codec), encoded(container, codec));
        auto fresh = open_decoder(folder.path(codec)), back = open_decoder(folder.path(codec));
        ASSERT_TRUE(fresh && back) << codec;
        (*back)->read(Ticks{1000}, 2);
        (*back)->seek(Ticks{-1000});
        const PcmBlock a = (*fresh)->read(Ticks{44100}, 2), b = (*back)->read(Ticks{44100}, 2);
        ASSERT_EQ(a.samples(), 44100u) << codec;
        ASSERT_EQ(b.samples(), 44100u) << codec;
        for (std::size_t i = 4000; i < 44100; ++i) {   // behind what going back cannot bring back exactly
            ASSERT_NEAR(a.channel(1)[i], b.channel(1)[i], 1e-3) << codec << " " << i;
            if (gapless) { ASSERT_NEAR(a.channel(1)[i], wanted.channel(1)[i], 0.05) << codec << " " << i; }
        }
    }
}

TEST(Decoder, WhatWaitsToBePlayedIsSmall) {
    const TemporaryFolder folder;
    for (const auto& [container, codec] : {std::pair{"mp3", "libmp3lame"}, {"adts", "aac"}, {"ogg", "libvorbis"}, {"flac", "flac"}, {"wav", "pcm_s16le"}}) {
        save(folder.path(codec), encoded(container, codec));
        std::vector<std::unique_ptr<Decoder>> waiting;
        waiting.push_back(*open_decoder(folder.path(codec)));   // tables that are made once
        const std::size_t before = ::mallinfo2().uordblks;
        for (int i = 0; i < 20; ++i) waiting.push_back(*open_decoder(folder.path(codec)));
        EXPECT_LT((::mallinfo2().uordblks - before) / 20, 300u << 10) << codec;   // what libav read ahead while it probed
        EXPECT_EQ(waiting.back()->read(Ticks{882}, 2).samples(), 882u) << codec;
    }
}

TEST(Text, KeepsUtf8AndReadsTheRestAsLatin1) {
    EXPECT_EQ(to_utf8("Caf\xC3\xA9 \xE6\x97\xA5\xE6\x9C\xAC", 100), "Caf\xC3\xA9 \xE6\x97\xA5\xE6\x9C\xAC");
    EXPECT_EQ(to_utf8("Caf\xE9", 100), "Caf\xC3\xA9");
    EXPECT_EQ(to_utf8("\xC3\xA9\xC3\xA9", 3), "\xC3\xA9");
    EXPECT_EQ(to_utf8(std::string_view("a\0b", 3), 10), "a");
    EXPECT_FALSE(valid_utf8("\xC0\x80"));
    EXPECT_FALSE(valid_utf8("\xED\xA0\x80"));
    EXPECT_FALSE(valid_utf8("\xF4\x90\x80\x80"));
    EXPECT_TRUE(valid_utf8("\xF0\x9F\x8E\xB5"));
}

}  // namespace
}  // namespace castile
