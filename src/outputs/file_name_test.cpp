#include "outputs/file_name.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <system_error>

namespace castile {
namespace {

TEST(FileName, TimeConversions) {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
    EXPECT_EQ(expand_time("/a/%Y-%m-%d/%H.mp3", 1796040000), "/a/2026-11-30/12.mp3");
    EXPECT_EQ(expand_time("/plain.mp3", 0), "/plain.mp3");
    EXPECT_EQ(expand_time("100%%", 0), "100%");
}

TEST(FileName, MetadataCannotLeaveItsFolder) {
    const Metadata m(std::vector<Metadata::Entry>{{"title", "AC/DC: ../x"}, {"artist", "A"}});
    EXPECT_EQ(interpolate_metadata("/r/$(artist) - $(title).mp3", m), "/r/A - AC-DC: ..-x.mp3");
    EXPECT_EQ(interpolate_metadata("$(album)|\\$(title)|$5|$(", m), "|$(title)|$5|$(");
}

TEST(FileName, Conditions) {
    const Metadata m(std::vector<Metadata::Entry>{{"title", "T"}});
    EXPECT_EQ(interpolate_metadata("$(if $(title),\"with $(title)\",\"none\")", m), "with T");
    EXPECT_EQ(interpolate_metadata("$(if $(album),\"x\",\"no \\\"album\\\"\")", m), "no \"album\"");
    EXPECT_EQ(interpolate_metadata("a$(if $(album), \"x\")b", m), "ab");
    EXPECT_EQ(interpolate_metadata("$(if $(album)", m), "$(if ");
}

class Files : public ::testing::Test {
protected:
    void SetUp() override {
        std::string pattern = "/tmp/castile-files-XXXXXX";
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
    }
    void TearDown() override { (void)std::system(("rm -r " + folder_).c_str()); }
    std::string folder_;
};

TEST_F(Files, MakesFoldersAndReplacesAtOnce) {
    make_folders(folder_ + "/a/b/c", 0777);
    make_folders(folder_ + "/a/b/c", 0777);
    const std::string path = folder_ + "/a/b/c/list.m3u8";
    write_file_at_once(path, "one", 0600);
    write_file_at_once(path, "two", 0600);
    EXPECT_EQ(read_small_file(path), "two");
    struct stat status;
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600U);
    EXPECT_FALSE(file_exists(folder_ + "/a/b/c/.list.m3u8.part"));
}

TEST_F(Files, ErrorsNameThePath) {
    write_file_at_once(folder_ + "/file", "x", 0600);
    try {
        make_folders(folder_ + "/file/sub", 0777);
        FAIL();
    } catch (const std::system_error& error) {
        EXPECT_NE(std::string(error.what()).find(folder_ + "/file"), std::string::npos);
        EXPECT_EQ(error.code().value(), ENOTDIR);
    }
    EXPECT_EQ(read_small_file(folder_ + "/missing"), "");
}

}  // namespace
}  // namespace castile
