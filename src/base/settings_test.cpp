#include "base/settings.h"

#include <gtest/gtest.h>

#include "base/error.h"

using namespace castile;

TEST(Settings, DeclaresReadsAndWrites) {
    Setting<double> latency{"test.latency", 0.1, "A test's setting."};
    EXPECT_EQ(all_settings().count("test.latency"), 1u);
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
    EXPECT_EQ(all_settings().count("test.gone"), 0u);
}
