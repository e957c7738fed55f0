#include "outputs/hls_writer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include "base/error.h"

namespace castile {
namespace {

namespace fs = std::filesystem;

class HlsFiles : public ::testing::Test {
protected:
    void SetUp() override {
        std::string pattern = "/tmp/castile-hls-XXXXXX";
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        root_ = pattern;
        settings_.folder = root_ + "/hls";
        settings_.segment_duration = 2;
        settings_.segments = 3;
        settings_.segments_overhead = 2;
        settings_.segment_name = [](const HlsSegmentName& n) { return fmt::format("{}_{}.{}", n.stream_name, n.position, n.extension); };
        settings_.main_playlist = [](int, const std::vector<HlsStream>&) { return ""; };
    }
    void TearDown() override { fs::remove_all(root_); }

    std::unique_ptr<HlsWriter> writer() {
        std::vector<HlsVariant> variants(2);
        variants[0].name = "low", variants[1].name = "high";
        for (auto& v : variants) v.extension = "ts";
        return std::make_unique<HlsWriter>(settings_, variants, Logger("test"));
    }
    // One segment of both variants; `at` is its end.
    static void segment(HlsWriter& writer, double at, std::size_t size = 100) {
        const std::vector<std::uint8_t> bytes(size, 0x47);
        for (std::size_t i = 0; i < 2; ++i) {
            writer.write(i, bytes);
            HlsCut cut;
            cut.at = at;
            cut.epoch = 1000;
            cut.codecs = "mp4a.40.2";
            cut.bitrate = 48000;
            writer.cut(i, cut);
        }
    }
    std::string text(const std::string& file) const { return read_small_file(settings_.folder + "/" + file); }
    std::set<std::string> files() const {
        std::set<std::string> names;
        for (const auto& entry : fs::directory_iterator(settings_.folder)) names.insert(entry.path().filename());
        return names;
    }
    // Every file that the playlists name is there.
    void expect_whole() const {
        for (const char* name : {"low", "high"})
            for (const std::string& file : files_of_playlist(text(std::string(name) + ".m3u8"), ""))
                EXPECT_TRUE(file_exists(settings_.folder + "/" + file)) << file;
    }

    std::string root_;
    HlsSettings settings_;
};

TEST_F(HlsFiles, RotatesAndEnds) {
    auto w = writer();
    w->begin();
    for (int k = 1; k <= 9; ++k) {
        segment(*w, 2 * k);
        expect_whole();
    }
    EXPECT_EQ(files(), (std::set<std::string>{"stream.m3u8", "low.m3u8", "high.m3u8", "low_5.ts", "low_6.ts", "low_7.ts", "low_8.ts", "low_9.ts",
                                              "high_5.ts", "high_6.ts", "high_7.ts", "high_8.ts", "high_9.ts"}));
    EXPECT_NE(text("low.m3u8").find("#EXT-X-MEDIA-SEQUENCE:6\r\n"), std::string::npos);
    EXPECT_NE(text("low.m3u8").find("PROGRAM-DATE-TIME:1970-01-01T00:16:52.000Z"), std::string::npos);
    EXPECT_NE(text("stream.m3u8").find("BANDWIDTH=52800,CODECS=\"mp4a.40.2\"\r\nlow.m3u8"), std::string::npos);
    EXPECT_EQ(text("low.m3u8").find("ENDLIST"), std::string::npos);
    w->finish();
    EXPECT_NE(text("low.m3u8").find("ENDLIST"), std::string::npos);
    expect_whole();
    EXPECT_EQ(files().size(), 9U);
}

TEST_F(HlsFiles, AnotherRunLeavesNothingOfTheFirst) {
    {
        auto w = writer();
        w->begin();
        for (int k = 1; k <= 20; ++k) segment(*w, 2 * k);
        w->finish();
    }
    auto w = writer();
    w->begin();
    EXPECT_TRUE(files().contains("low_20.ts"));  // named until our own playlist is there
    segment(*w, 2);
    EXPECT_EQ(files(), (std::set<std::string>{"stream.m3u8", "low.m3u8", "high.m3u8", "low_1.ts", "high_1.ts"}));
}

TEST_F(HlsFiles, RecoversFromAFolderThatCannotBe) {
    write_file_at_once(settings_.folder, "in the way", 0600);
    auto w = writer();
    w->begin();
    segment(*w, 2);
    segment(*w, 4);
    EXPECT_GE(w->errors(), 2);
    fs::remove(settings_.folder);
    segment(*w, 6);
    segment(*w, 8);
    expect_whole();
    EXPECT_NE(text("low.m3u8").find("#EXT-X-MEDIA-SEQUENCE:0\r\n"), std::string::npos);
    EXPECT_NE(text("low.m3u8").find("low_3.ts"), std::string::npos);
    EXPECT_EQ(text("low.m3u8").find("low_2.ts"), std::string::npos);
}

TEST_F(HlsFiles, DamagedSegmentIsNotPublished) {
    auto w = writer();
    w->begin();
    segment(*w, 2);
    w->write(0, std::vector<std::uint8_t>(10, 0));
    HlsCut cut;
    cut.at = 4;
    cut.damaged = true;
    w->cut(0, cut);
    segment(*w, 6);
    const std::string list = text("low.m3u8");
    EXPECT_EQ(list.find("low_2.ts"), list.npos);
    EXPECT_NE(list.find("#EXT-X-DISCONTINUITY\r\n"), list.npos);
    EXPECT_FALSE(files().contains("low_2.ts"));
    EXPECT_EQ(w->discontinuities(0), 1);
    EXPECT_EQ(w->discontinuities(1), 0);
}

TEST_F(HlsFiles, SavedStateGoesOn) {
    settings_.persist_at = settings_.folder + "/state.json";
    {
        auto w = writer();
        w->begin();
        for (int k = 1; k <= 4; ++k) segment(*w, 2 * k);
        w->finish();
    }
    EXPECT_EQ(text("low.m3u8").find("ENDLIST"), std::string::npos);
    auto w = writer();
    w->begin();
    segment(*w, 2);
    const std::string list = text("low.m3u8");
    EXPECT_NE(list.find("#EXT-X-MEDIA-SEQUENCE:2\r\n"), list.npos);
    EXPECT_NE(list.find("low_4.ts\r\n#EXT-X-DISCONTINUITY\r\n"), list.npos);
    EXPECT_NE(list.find("low_5.ts"), list.npos);
    write_file_at_once(settings_.persist_at, "{\"version\": 1, \"streams\": [3]}", 0600);
    EXPECT_THROW(writer()->restore(), Error);
    EXPECT_NO_THROW(writer()->begin());
}

TEST_F(HlsFiles, InitialisationSegmentComesAndGoesWithItsSegments) {
    std::vector<HlsVariant> variants(1);
    variants[0] = {.name = "low", .extension = "m4s", .kind = Format::Segments::fmp4};
    HlsWriter w(settings_, variants, Logger("test"));
    w.begin();
    for (int k = 1; k <= 12; ++k) {
        w.write(0, std::vector<std::uint8_t>(50));
        HlsCut cut;
        cut.at = 2 * k;
        cut.init = make_bytes(std::vector<std::uint8_t>(20, k < 5 ? 1 : 2));
        w.cut(0, cut);
    }
    EXPECT_TRUE(files().contains("low_4.mp4"));
    EXPECT_FALSE(files().contains("low_0.mp4"));
    EXPECT_NE(text("low.m3u8").find("#EXT-X-VERSION:7\r\n"), std::string::npos);
    EXPECT_NE(text("low.m3u8").find("#EXT-X-MAP:URI=\"low_4.mp4\"\r\n"), std::string::npos);
}

}  // namespace
}  // namespace castile
