#include "codec/stream_encoder.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"
#include "codec/decoder.h"
#include "codec/media_format.h"
#include "codec/test_media.h"
#include "ffmpeg/packet_view.h"

namespace castile {
namespace {

struct Collect final : ByteSink {
    std::vector<std::uint8_t> all;
    std::vector<double> cuts;
    std::vector<std::size_t> cut_bytes;
    int writes = 0;
    void write(ByteSpan data) noexcept override { all.insert(all.end(), data.begin(), data.end()), ++writes; }
    void boundary(double at) noexcept override { cuts.push_back(at), cut_bytes.push_back(all.size()); }
};

void save(const std::string& path, const std::vector<std::uint8_t>& bytes) {
    std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

MediaSpec media(const std::string& container, const std::string& codec, ffmpeg::OptionList options = {}) {
    MediaSpec spec;
    spec.name = "ffmpeg";
    spec.container = container;
    TrackSpec track;
    track.encoder.codec = codec;
    track.encoder.options = std::move(options);
    track.literal = "%audio(codec=\"" + codec + "\")";
    spec.tracks.push_back(track);
    spec.literal = "%ffmpeg(format=\"" + container + "\"," + track.literal + ")";
    for (const auto& [name, value] : track.encoder.options) spec.literal += name + value;
    return spec;
}

/// Frames of a tone, 882 samples each.
void run(StreamEncoder& encoder, Collect& sink, int frames, int from = 0, MetadataPtr metadata = nullptr, Ticks position = {}) {
    Frame frame;
    for (int i = from; i < from + frames; ++i) {
        frame.reset();
        frame.track("audio") = tone(i * 882, 882);
        frame.set_length(Ticks{882});
        if (metadata && i == from) frame.metadata().push_back({position, metadata});
        encoder.encode(frame, sink);
    }
}

std::vector<float> decode(const std::string& path) {
    auto decoder = open_decoder(path);
    if (!decoder) {
        ADD_FAILURE() << decoder.error().message;
        return {};
    }
    std::vector<float> samples;
    for (;;) {
        const PcmBlock block = (*decoder)->read(Ticks{882}, 2);
        if (!block.empty()) samples.insert(samples.end(), block.channel(0).begin(), block.channel(0).end());
        if (block.samples() < 882) return samples;
    }
}

/// Where in `heard` the tone of 1000 Hz begins, to a period, by the best match of its phase over the middle: the distance to the original.
double error_at(const std::vector<float>& heard, std::int64_t delay) {
    double sum = 0;
    int count = 0;
    for (std::int64_t n = 10000; n < 20000 && n + delay < static_cast<std::int64_t>(heard.size()); ++n, ++count) {
        if (n + delay < 0) continue;
        const double d = heard[static_cast<std::size_t>(n + delay)] - 0.5 * std::sin(2 * M_PI * 1000 * static_cast<double>(n) / 44100);
        sum += d * d;
    }
    return std::sqrt(sum / std::max(count, 1));
}

TEST(StreamEncoder, LosslessComesBackSampleExact) {
    const TemporaryFolder folder;
    for (const auto& [container, codec] : {std::pair{"wav", "pcm_s16le"}, {"flac", "flac"}, {"ogg", "flac"}, {"wav", "pcm_f32le"}, {"matroska", "flac"}}) {
        MediaFormat format(media(container, codec));
        format.check();
        auto encoder = format.open({});
        Collect sink;
        run(*encoder, sink, 50);
        encoder->flush(sink);
        const std::string path = folder.path(std::string("x.") + container);
        save(path, sink.all);
        const std::vector<float> heard = decode(path);
        EXPECT_EQ(heard.size(), 50u * 882u) << container << " " << codec;
        EXPECT_LT(error_at(heard, 0), 1.0 / 32768) << container << " " << codec;
    }
}

TEST(StreamEncoder, LossyKeepsTheSoundInPlace) {
    const TemporaryFolder folder;
    struct Case { const char* container; const char* codec; std::int64_t delay; };
    // Bare frames carry no delay: a decoder hears the priming (LAME's 1105 and AAC's 1024 samples). Containers with times take it away.
    for (const Case& c : {Case{"mp3", "libmp3lame", 1105}, {"adts", "aac", 1024}, {"ogg", "libopus", 0}, {"ogg", "libvorbis", 0}, {"matroska", "libopus", 0}}) {
        MediaFormat format(media(c.container, c.codec, {{"b", "128k"}}));
        auto encoder = format.open({});
        Collect sink;
        run(*encoder, sink, 100);
        encoder->flush(sink);
        EXPECT_LE(sink.writes, 102);
        const std::string path = folder.path(std::string("x.") + c.container);
        save(path, sink.all);
        const std::vector<float> heard = decode(path);
        EXPECT_NEAR(static_cast<double>(heard.size()), 88200 + static_cast<double>(c.delay), 2400) << c.codec;
        EXPECT_LT(error_at(heard, c.delay), 0.02) << c.container << " " << c.codec;
        EXPECT_GT(error_at(heard, c.delay + 5), 0.1) << c.codec;   // the measure can fail
    }
}

TEST(StreamEncoder, BareFramesHaveNothingAroundThem) {
    MediaFormat mp3(media("mp3", "libmp3lame", {{"b", "128k"}}));
    auto encoder = mp3.open({});
    Collect sink;
    run(*encoder, sink, 100);
    encoder->flush(sink);
    ASSERT_GT(sink.all.size(), 1000u);
    EXPECT_EQ(sink.all[0], 0xFF);
    EXPECT_EQ(sink.all[1] & 0xE0, 0xE0);
    const std::string bytes(sink.all.begin(), sink.all.end());
    EXPECT_EQ(bytes.find("Xing"), std::string::npos);
    EXPECT_EQ(bytes.find("ID3"), std::string::npos);
    EXPECT_EQ(encoder->header(), nullptr);
    EXPECT_EQ(encoder->codecs(), "mp4a.40.34");
    EXPECT_EQ(encoder->bitrate(), 128000);
    EXPECT_EQ(mp3.bitrate(), 128000);
    EXPECT_EQ(mp3.mime(), "audio/mpeg");
}

TEST(StreamEncoder, SegmentsOfEveryVariantCutAlike) {
    std::vector<double> expected;
    for (const char* rate : {"48k", "128k"}) {
        MediaFormat format(media("mpegts", "aac", {{"b", rate}}));
        auto encoder = format.open({.segment = 2.0});
        Collect sink;
        run(*encoder, sink, 500);   // 10 s
        encoder->flush(sink);
        ASSERT_EQ(sink.cuts.size(), 4u) << rate;   // 2, 4, 6, 8
        for (std::size_t k = 0; k < 4; ++k) {
            EXPECT_GE(sink.cuts[k], 2.0 * static_cast<double>(k + 1));
            EXPECT_LT(sink.cuts[k], 2.0 * static_cast<double>(k + 1) + 1024 / 44100.0);
            // A segment starts with the tables: PAT (pid 0), then PMT.
            const std::uint8_t* packet = sink.all.data() + sink.cut_bytes[k];
            EXPECT_EQ(sink.cut_bytes[k] % 188, 0u);
            EXPECT_EQ(packet[0], 0x47);
            const int first = (packet[1] & 0x1F) << 8 | packet[2], second = (packet[189] & 0x1F) << 8 | packet[190], third = (packet[377] & 0x1F) << 8 | packet[378];
            EXPECT_TRUE(first == 0 || first == 17) << first;
            EXPECT_TRUE(second == 0 || third == 0x1000 || second == 0x1000) << second << " " << third;
        }
        EXPECT_EQ(encoder->codecs(), "mp4a.40.2");
        if (expected.empty()) expected = sink.cuts;
        EXPECT_EQ(sink.cuts, expected);
    }
}

TEST(StreamEncoder, EachTransportStreamSegmentPlaysAlone) {
    const TemporaryFolder folder;
    MediaFormat format(media("mpegts", "aac", {{"b", "128k"}}));
    auto encoder = format.open({.segment = 2.0});
    Collect sink;
    run(*encoder, sink, 500);
    encoder->flush(sink);
    const std::string path = folder.path("segment.ts");
    save(path, {sink.all.begin() + static_cast<std::ptrdiff_t>(sink.cut_bytes[1]), sink.all.begin() + static_cast<std::ptrdiff_t>(sink.cut_bytes[2])});
    const std::vector<float> heard = decode(path);
    EXPECT_NEAR(static_cast<double>(heard.size()), (sink.cuts[2] - sink.cuts[1]) * 44100, 1);
    save(path, sink.all);
    EXPECT_NEAR(static_cast<double>(decode(path).size()), 441000 + 1024, 1024);
}

TEST(StreamEncoder, FragmentsFollowAnInitialisationSegment) {
    const TemporaryFolder folder;
    MediaFormat format(media("mp4", "aac", {{"b", "128k"}}));
    EXPECT_EQ(format.segments(), Format::Segments::fmp4);
    auto encoder = format.open({.segment = 2.0, .global_header = true});
    Collect sink;
    run(*encoder, sink, 300);
    encoder->flush(sink);
    ASSERT_EQ(sink.cuts.size(), 2u);
    const Bytes init = encoder->init_segment();
    ASSERT_TRUE(init);
    EXPECT_EQ(std::memcmp(init->data() + 4, "ftyp", 4), 0);
    EXPECT_EQ(std::memcmp(sink.all.data() + 4, "moof", 4), 0);
    EXPECT_EQ(std::memcmp(sink.all.data() + sink.cut_bytes[0] + 4, "moof", 4), 0);
    // The second segment alone, behind the initialisation segment.
    std::vector<std::uint8_t> bytes = *init;
    bytes.insert(bytes.end(), sink.all.begin() + static_cast<std::ptrdiff_t>(sink.cut_bytes[0]), sink.all.begin() + static_cast<std::ptrdiff_t>(sink.cut_bytes[1]));
    save(folder.path("x.mp4"), bytes);
    EXPECT_NEAR(static_cast<double>(decode(folder.path("x.mp4")).size()), (sink.cuts[1] - sink.cuts[0]) * 44100, 1025);
}

TEST(StreamEncoder, OggChainsAtNewMetadataAndLosesNoSample) {
    const TemporaryFolder folder;
    MediaSpec spec = media("ogg", "flac");
    spec.chain = true;
    MediaFormat format(spec);
    auto encoder = format.open({});
    Collect sink;
    const auto first = std::make_shared<const Metadata>(std::vector<Metadata::Entry>{{"title", "One"}, {"internal", "x"}});
    const auto second = std::make_shared<const Metadata>(std::vector<Metadata::Entry>{{"title", "Two"}});
    run(*encoder, sink, 25, 0, first);
    const Bytes header = encoder->header();
    run(*encoder, sink, 25, 25, second, Ticks{100});
    run(*encoder, sink, 10, 50, second);   // the same again: no new stream
    encoder->flush(sink);
    const std::string bytes(sink.all.begin(), sink.all.end());
    EXPECT_NE(bytes.find("title=One"), std::string::npos);
    EXPECT_NE(bytes.find("title=Two"), std::string::npos);
    EXPECT_EQ(bytes.find("internal"), std::string::npos);
    std::size_t streams = 0;
    for (std::size_t at = 0; (at = bytes.find("\x7F" "FLAC", at)) != std::string::npos; ++at) ++streams;
    EXPECT_EQ(streams, 2u);
    save(folder.path("x.ogg"), sink.all);
    EXPECT_EQ(decode(folder.path("x.ogg")).size(), 60u * 882u);
    EXPECT_EQ(read_file_metadata(folder.path("x.ogg")).get("title"), "One");

    // A late joiner: the header, then the second half of the first stream onwards.
    ASSERT_TRUE(header);
    EXPECT_NE(header, encoder->header());
}

TEST(StreamEncoder, CopiedTracksAreShared) {
    const TemporaryFolder folder;
    TrackSpec source;
    source.encoder.codec = "aac";
    source.encoder.options = {{"b", "128k"}};
    TrackEncoder shared(source);
    MediaSpec spec = media("adts", "");
    spec.tracks = {{.field = "low", .mode = TrackSpec::Mode::copy}, {.field = "high", .mode = TrackSpec::Mode::drop}};
    spec.literal = "%ffmpeg(format=\"adts\",%low.copy,%high.drop)";
    MediaFormat format(spec);
    format.check();
    EXPECT_EQ(format.tracks()[0].content.kind, ContentFormat::Kind::packets);
    auto packed = format.open({});
    spec.container = "mpegts";
    auto segmented = MediaFormat(spec).open({.segment = 1.0});
    spec.container = "mp4";
    std::unique_ptr<StreamEncoder> late;
    Collect one, two, three;
    Frame frame;
    PacketList packets;
    for (int i = 0; i < 200; ++i) {
        if (i == 100) late = MediaFormat(spec).open({});
        frame.reset();
        packets.clear();
        shared.encode(tone(i * 882, 882), packets);
        frame.track("low") = packets;
        frame.set_length(Ticks{882});
        packed->encode(frame, one);
        segmented->encode(frame, two);
        if (late) late->encode(frame, three);
    }
    packed->flush(one);
    segmented->flush(two);
    late->flush(three);
    EXPECT_EQ(two.cuts.size(), 3u);
    save(folder.path("x.aac"), one.all);
    save(folder.path("x.ts"), two.all);
    save(folder.path("x.mp4"), three.all);
    EXPECT_EQ(decode(folder.path("x.aac")).size(), 171u * 1024u);   // of the 172 given, one is still inside the encoder
    EXPECT_EQ(decode(folder.path("x.ts")).size(), 171u * 1024u);
    EXPECT_NEAR(static_cast<double>(decode(folder.path("x.mp4")).size()), 88200, 1024);
}

TEST(StreamEncoder, RefusalsNameTheCulprit) {
    const auto message = [](const MediaSpec& spec) -> std::string {
        try {
            MediaFormat(spec).check();
        } catch (const Error& error) {
            return error.what();
        }
        return "";
    };
    MediaSpec spec = media("mpegts", "aac");
    spec.options = {{"foo", "1"}};
    spec.literal += "foo";
    EXPECT_NE(message(spec).find("Unrecognized options: foo."), std::string::npos) << message(spec);
    spec = media("nothing_like_it", "aac");
    EXPECT_NE(message(spec).find("Unknown format: \"nothing_like_it\""), std::string::npos);
    spec = media("adts", "libmp3lame");
    EXPECT_NE(message(spec).find("adts"), std::string::npos);
    spec = media("mpegts", "aac");
    spec.shared = true;
    spec.options = {{"b", "96k"}, {"pat_period", "1"}};
    spec.literal += "shared";
    EXPECT_EQ(message(spec), "");   // one for the codec, one for the container
    spec = media("mpegts", "");
    spec.tracks = {{.mode = TrackSpec::Mode::copy}};
    spec.options = {{"pat_period", "1"}, {"bar", "1"}};
    EXPECT_NE(message(spec).find("Unrecognized options: bar."), std::string::npos) << message(spec);
}

}  // namespace
}  // namespace castile
