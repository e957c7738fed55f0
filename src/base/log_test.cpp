#include "base/log.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <regex>
#include <sstream>

using namespace castile;

namespace {

struct LogFile : testing::Test {
    std::string path = testing::TempDir() + "castile_log_" + std::to_string(::getpid());
    void SetUp() override { configure_log({.level = LogLevel::info, .to_stdout = false, .path = path}); }
    void TearDown() override {
        configure_log({});
        ::unlink(path.c_str());
    }
    std::string text() {
        flush_log();
        std::ostringstream out;
        out << std::ifstream(path).rdbuf();
        return out.str();
    }
};

TEST_F(LogFile, WritesTheLineFormatThatToolsParse) {
    Logger("clock.main").important("We must catchup {:.2f} seconds!", 1.5);
    EXPECT_TRUE(std::regex_match(
        text(), std::regex(R"(\d{4}/\d\d/\d\d \d\d:\d\d:\d\d \[clock\.main:3\] We must catchup 1\.50 seconds!\n)")));
}

TEST_F(LogFile, LeavesOutWhatIsAboveTheLevel) {
    Logger log("x");
    log.debug("hidden");
    log.info("shown");
    EXPECT_EQ(text().find("hidden"), std::string::npos);
    EXPECT_NE(text().find("[x:4] shown"), std::string::npos);
}

TEST_F(LogFile, FoldsRepeats) {
    Logger log("out");
    for (int i = 0; i < 241; ++i) log.severe("Cannot write.");
    log.severe("Other.");
    const std::string all = text();
    EXPECT_NE(all.find("Cannot write. (x 240)\n"), std::string::npos) << all;
    EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 3);
}

TEST_F(LogFile, PrefixesEveryLineOfAMessage) {
    Logger("a").important("one\ntwo");
    const std::string all = text();
    EXPECT_NE(all.find("[a:3] one\n"), std::string::npos);
    EXPECT_NE(all.find("[a:3] two\n"), std::string::npos);
}

TEST_F(LogFile, ReopensAfterARename) {
    Logger("a").important("before");
    text();
    const std::string moved = path + ".1";
    ASSERT_EQ(::rename(path.c_str(), moved.c_str()), 0);
    reopen_log();
    Logger("a").important("after");
    EXPECT_NE(text().find("after"), std::string::npos);
    ::unlink(moved.c_str());
}

TEST_F(LogFile, HeldLinesAreWrittenOnceItIsKnownWhereAndWhich) {
    hold_log();
    Logger log("early");
    log.important("kept");
    log.info("too fine");
    EXPECT_EQ(text().find("kept"), std::string::npos);
    configure_log({.level = LogLevel::important, .to_stdout = false, .path = path});
    EXPECT_NE(text().find("[early:3] kept"), std::string::npos);
    EXPECT_EQ(text().find("too fine"), std::string::npos);
}

}  // namespace
