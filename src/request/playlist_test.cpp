#include "request/playlist.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "request/protocol.h"

namespace castile {
namespace {

using Entries = std::vector<Metadata::Entry>;

TEST(Playlist, M3u) {
    const auto list = parse_playlist(
        "\xef\xbb\xbf#EXTM3U\r\n#EXTINF:123,An Artist - A Title\r\n/music/a.mp3\r\n\r\n# a remark\r\n#EXTINF:-1,Only a name\r\n"
        "http://host/b:c.mp3\r\n/music/no info.mp3\r\n#EXTINF:10 genre=\"x, y\",A-ha - Take On Me\n/c.mp3");
    ASSERT_TRUE(list);
    ASSERT_EQ(list->size(), 4u);
    EXPECT_EQ((*list)[0], (PlaylistEntry{{{"extinf_duration", "123"}, {"artist", "An Artist"}, {"title", "A Title"}}, "/music/a.mp3"}));
    EXPECT_EQ((*list)[1], (PlaylistEntry{{{"song", "Only a name"}}, "http://host/b:c.mp3"}));
    EXPECT_EQ((*list)[2], (PlaylistEntry{{}, "/music/no info.mp3"}));
    EXPECT_EQ((*list)[3].metadata, (Entries{{"extinf_duration", "10"}, {"genre", "x, y"}, {"artist", "A-ha"}, {"title", "Take On Me"}}));
}

TEST(Playlist, Pls) {
    const auto list = parse_playlist("\n[Playlist]\nNumberOfEntries=2\nFile1=/a.mp3\nTitle1=A\nfile2 = http://x/y\n");
    ASSERT_TRUE(list);
    EXPECT_EQ(*list, (Playlist{{{}, "/a.mp3"}, {{}, "http://x/y"}}));
}

TEST(Playlist, CueSheet) {
    const auto list = parse_playlist(
        "PERFORMER \"Band\"\nTITLE \"Record\"\nREM DATE 1999\nREM COMMENT \"by us\"\nFILE \"/side one.wav\" WAVE\n  TRACK 01 AUDIO\n    TITLE \"First\"\n"
        "    INDEX 01 00:00:00\n  TRACK 02 AUDIO\n    TITLE \"Second\"\n    PERFORMER \"Guest\"\n    REM ALBUM \"Other\"\n    REM ISRC nothing\n    PREGAP 00:02:00\n    POSTGAP 00:01:37\n    INDEX 00 03:00:00\n    INDEX 01 03:02:37\n");
    ASSERT_TRUE(list);
    ASSERT_EQ(list->size(), 2u);
    EXPECT_EQ((*list)[0].uri, "/side one.wav");
    EXPECT_EQ((*list)[0].metadata.front(), (Metadata::Entry{"liq_cue_out", "180.0"}));
    const std::vector<Metadata::Entry> second{{"liq_cue_in", "182.493333333"}, {"album", "Other"}, {"title", "Second"}, {"albumartist", "Band"}, {"artist", "Guest"},
                                              {"tracknumber", "2"}, {"liq_pregap", "2.0"}, {"liq_postgap", "1.49333333333"},
                                              {"liq_index_zero_filename", "/side one.wav"}, {"liq_index_zero", "180.0"}, {"comment", "by us"}, {"year", "1999"}};
    EXPECT_EQ((*list)[1].metadata, second);
}

TEST(Playlist, CueSheetOfNobody) {
    const auto list = parse_playlist("PERFORMER \"Band\"\nFILE a.wav WAVE\n  TRACK 07 AUDIO\n    PERFORMER \"\"\n    INDEX 01 00:00:00\n");
    ASSERT_TRUE(list);
    ASSERT_EQ(list->size(), 1u);
    EXPECT_EQ((*list)[0].metadata, (Entries{{"albumartist", "Band"}, {"artist", ""}, {"tracknumber", "7"}}));
}

TEST(Playlist, Xspf) {
    const auto list = parse_playlist(
        "<?xml version=\"1.0\"?><playlist xmlns=\"http://xspf.org/ns/0/\"><trackList><track><location>file:///a.mp3</location>"
        "<creator>C</creator><title>T</title></track></trackList></playlist>");
    ASSERT_TRUE(list);
    EXPECT_EQ(*list, (Playlist{{{{"artist", "C"}, {"title", "T"}}, "/a.mp3"}}));
}

TEST(Playlist, Bounds) {
    EXPECT_FALSE(parse_playlist(std::string_view("ID3\0\0", 5)));
    EXPECT_TRUE(parse_playlist("")->empty());
    EXPECT_TRUE(parse_playlist(std::string(max_playlist_line + 1, 'a') + "\n")->empty());
    std::string many;
    for (std::size_t i = 0; i < max_playlist_entries + 5; ++i) many += "/a\n";
    EXPECT_EQ(parse_playlist(many)->size(), max_playlist_entries);
}

class PlaylistFiles : public testing::Test {
protected:
    PlaylistFiles() : folder(std::filesystem::temp_directory_path() / ("castile_playlist_test_" + std::to_string(getpid()))) {
        std::filesystem::create_directories(folder / "b");
    }
    ~PlaylistFiles() override { std::filesystem::remove_all(folder); }
    void write(const std::string& name, const std::string& text) { std::ofstream(folder / name) << text; }
    std::string path(const std::string& name) const { return (folder / name).string(); }
    const std::filesystem::path folder;
};

TEST_F(PlaylistFiles, FolderIsSortedRecursiveWithoutHiddenFiles) {
    for (const char* name : {"z.mp3", "a.mp3", "b/c.mp3", ".hidden.mp3"}) write(name, "x");
    // Links to folders that we are in are walked once: two of them would otherwise double the list at every level.
    for (const char* name : {"loop", "again"}) std::filesystem::create_directory_symlink(folder, folder / "b" / name);
    const auto list = list_folder(folder.string());
    ASSERT_TRUE(list);
    EXPECT_EQ(*list, (std::vector{path("a.mp3"), path("b/c.mp3"), path("z.mp3")}));
    EXPECT_FALSE(list_folder(path("missing")));
}

TEST_F(PlaylistFiles, RelativeEntriesAreBesideTheList) {
    write("a.mp3", "x");
    write("list.m3u", "#EXTINF:1,A - B\na.mp3\nelsewhere.mp3\n");
    const auto list = read_playlist(path("list.m3u"), "", 5);
    ASSERT_TRUE(list) << list.error().message;
    EXPECT_EQ(*list, (std::vector<std::string>{"annotate:extinf_duration=\"1\",artist=\"A\",title=\"B\":" + path("a.mp3"), "elsewhere.mp3"}));
    EXPECT_FALSE(read_playlist(path("no.m3u"), "", 5));
}

TEST(Uri, Split) {
    EXPECT_EQ(split_uri("annotate:a=\"b\":c"), (std::pair<std::string, std::string>("annotate", "a=\"b\":c")));
    EXPECT_FALSE(split_uri("/a/b:c"));
    EXPECT_FALSE(split_uri("no colon"));
    EXPECT_EQ(local_path("file:///x%20y"), "/x%20y");   // no such file: taken as it is
    EXPECT_EQ(local_path("~/a"), std::string(std::getenv("HOME")) + "/a");
}

}  // namespace
}  // namespace castile
