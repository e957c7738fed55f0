#include "base/name.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

using castile::Name;

TEST(Name, IsEqualWhenTheTextIs) {
    EXPECT_EQ(Name("audio"), Name(std::string("audio")));
    EXPECT_FALSE(Name("audio") == Name("video"));
    EXPECT_TRUE(Name().empty());
    EXPECT_EQ(Name(""), Name());
}

TEST(Name, OrdersAlphabetically) { EXPECT_LT(Name("aab"), Name("aac")); }

TEST(Name, InternsFromManyThreads) {
    std::vector<std::thread> threads;
    std::vector<const void*> keys(8);
    for (int t = 0; t < 8; ++t)
        threads.emplace_back([&keys, t] {
            for (int i = 0; i < 1000; ++i) keys[t] = Name("n" + std::to_string(i)).key();
        });
    for (auto& thread : threads) thread.join();
    for (const void* key : keys) EXPECT_EQ(key, Name("n999").key());
}
