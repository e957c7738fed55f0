#include "base/settings.h"

#include <gtest/gtest.h>

#include "base/error.h"

using namespace castile;

TEST(Settings, DeclaresReadsAndWrites) {
    Setting<double> latency{"test.latency", 0.1, "A test's setting."};
    EXPECT_EQ(find_setting("test.latency"), &latency);
    EXPECT_DOUBLE_EQ(latency.get(), 0.1);
    EXPECT_FALSE(latency.is_set());
    latency.set(2);  // an int is taken for a float
    EXPECT_DOUBLE_EQ(latency.get(), 2.0);
    EXPECT_TRUE(latency.is_set());
}

TEST(Settings, RefusesAnotherTypeAndNamesBoth) {
    Setting<bool> flag{"test.flag", false, "A test's flag."};
    try {
        flag.set(std::string("yes"));
        FAIL() << "accepted";
    } catch (const Error& error) {
        EXPECT_EQ(std::string(error.what()), "The setting test.flag is of type bool, not string.");
    }
}

TEST(Settings, LeavesTheTableWithItsObject) {
    { Setting<int> gone{"test.gone", 1, "Gone."}; }
    EXPECT_EQ(find_setting("test.gone"), nullptr);
}

namespace {

int made = 0;
LateSettings late("test.late", [] {
    ++made;
    keep_setting("test.late.a", 1, "A late one.");
    keep_setting("test.late.b", std::string(), "Another, null at first.", true);
});

}  // namespace

TEST(Settings, MakesLateOnesWhenAskedFor) {
    Setting<int> early{"test.early", 1, "An early one."};
    EXPECT_EQ(settings_in("test").size(), 1u);
    EXPECT_EQ(find_setting("test.lately"), nullptr);
    EXPECT_EQ(made, 0);
    ASSERT_NE(find_setting("test.late.b"), nullptr);
    EXPECT_EQ(find_setting("test.late.c"), nullptr);
    EXPECT_EQ(made, 1);
    EXPECT_EQ(settings_in("test.late").size(), 2u);
    EXPECT_EQ(settings_in("test").size(), 3u);
    EXPECT_EQ(settings_in("test.lat").size(), 0u);
    EXPECT_EQ(settings_in("test.early").front(), &early);
}

TEST(Settings, ResetForgetsWhatWasSet) {
    Setting<int> count{"test.count", 1, "A test's count."};
    count.set(5);
    count.reset();
    EXPECT_FALSE(count.is_set());
    EXPECT_EQ(count.get(), 1);
}
