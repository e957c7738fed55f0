#include "outputs/hls_playlist.h"

#include <gtest/gtest.h>

namespace castile {
namespace {

HlsSegment segment(int number, double duration) {
    HlsSegment s;
    s.file = "low_" + std::to_string(number) + ".ts";
    s.sequence = number - 1;
    s.duration = duration;
    s.date = 1796040000.25 + 10 * (number - 1);
    return s;
}

TEST(HlsPlaylist, MediaPlaylistOfALiveStream) {
    std::vector<HlsSegment> segments = {segment(4, 10.007800), segment(5, 9.984580)};
    segments[1].tags = {"#EXT-X-CUE"};
    const HlsMediaPlaylist playlist{3, target_duration(10), "http://cdn/", {"#EXT-X-START:TIME-OFFSET=-20"}, false};
    EXPECT_EQ(media_playlist(playlist, segments.data(), segments.data() + 2),
              "#EXTM3U\r\n#EXT-X-VERSION:3\r\n#EXT-X-TARGETDURATION:11\r\n#EXT-X-MEDIA-SEQUENCE:3\r\n"
              "#EXT-X-DISCONTINUITY-SEQUENCE:0\r\n#EXT-X-START:TIME-OFFSET=-20\r\n"
              "#EXT-X-PROGRAM-DATE-TIME:2026-11-30T12:00:30.250Z\r\n#EXTINF:10.007800,\r\nhttp://cdn/low_4.ts\r\n"
              "#EXT-X-PROGRAM-DATE-TIME:2026-11-30T12:00:40.250Z\r\n#EXT-X-CUE\r\n#EXTINF:9.984580,\r\nhttp://cdn/low_5.ts\r\n");
}

TEST(HlsPlaylist, DiscontinuityAndMapAndEnd) {
    std::vector<HlsSegment> segments = {segment(1, 2), segment(2, 2), segment(3, 2)};
    for (auto& s : segments) s.init = "low_0.mp4";
    segments[2].discontinuous = true;
    segments[2].discontinuities = 1;
    segments[2].init = "low_2.mp4";
    const HlsMediaPlaylist playlist{7, 3, "", {}, true};
    const std::string text = media_playlist(playlist, segments.data(), segments.data() + 3);
    const auto map = text.find("#EXT-X-MAP:URI=\"low_0.mp4\"");
    ASSERT_NE(map, text.npos);
    EXPECT_EQ(text.find("#EXT-X-MAP:URI=\"low_0.mp4\"", map + 1), text.npos);
    EXPECT_NE(text.find("#EXT-X-DISCONTINUITY\r\n#EXT-X-MAP:URI=\"low_2.mp4\""), text.npos);
    EXPECT_TRUE(text.ends_with("#EXT-X-ENDLIST\r\n"));
    EXPECT_NE(media_playlist(playlist, segments.data() + 2, segments.data() + 3).find("#EXT-X-DISCONTINUITY-SEQUENCE:1"), text.npos);
}

TEST(HlsPlaylist, MainPlaylist) {
    EXPECT_EQ(main_playlist(3, {"#EXT-X-INDEPENDENT-SEGMENTS"}, "x/", {{"low", 52800, "mp4a.40.2", {}}, {"tv", 900000, "", std::pair(640, 360)}}),
              "#EXTM3U\r\n#EXT-X-VERSION:3\r\n#EXT-X-INDEPENDENT-SEGMENTS\r\n"
              "#EXT-X-STREAM-INF:BANDWIDTH=52800,CODECS=\"mp4a.40.2\"\r\nx/low.m3u8\r\n"
              "#EXT-X-STREAM-INF:BANDWIDTH=900000,RESOLUTION=640x360\r\nx/tv.m3u8\r\n");
}

TEST(HlsPlaylist, TargetDurationIsNeverExceeded) {
    EXPECT_GE(target_duration(10), 10.0078);
    EXPECT_EQ(target_duration(2.5), 3);
    EXPECT_EQ(target_duration(6), 7);
}

TEST(HlsPlaylist, FilesOfAForeignPlaylistStayInside) {
    const auto files = files_of_playlist("#EXTM3U\n#EXT-X-MAP:URI=\"p/low_0.mp4\"\n#EXTINF:1,\np/low_1.ts\r\n/etc/passwd\n../x\np/../../y\nhttp://h/z\n", "p/");
    EXPECT_EQ(files, (std::vector<std::string>{"low_0.mp4", "low_1.ts"}));
}

TEST(HlsPlaylist, PackedAudioTimestamp) {
    const std::string tag = packed_audio_timestamp(10);
    ASSERT_EQ(tag.size(), 73U);
    EXPECT_EQ(tag.substr(0, 4), "ID3\x04");
    EXPECT_EQ(tag[9], 63);
    EXPECT_EQ(tag.substr(10, 4), "PRIV");
    const auto* end = reinterpret_cast<const unsigned char*>(tag.data() + tag.size());
    EXPECT_EQ(end[-4] << 24 | end[-3] << 16 | end[-2] << 8 | end[-1], 900000);
}

}  // namespace
}  // namespace castile
