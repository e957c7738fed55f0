#include "devices/sample_queue.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace castile::devices {
namespace {

TEST(SampleQueue, HoldsWhatFits) {
    SampleQueue queue(2, 700);   // more than it moves at a time
    std::vector<float> left(1000, 0.25f), right(1000, -0.5f), a(1000), b(1000);
    const float* in[] = {left.data(), right.data()};
    float* out[] = {a.data(), b.data()};
    EXPECT_EQ(queue.room(), 700u);
    EXPECT_EQ(queue.write(in, 1000), 700u);
    EXPECT_EQ(queue.write(in, 1), 0u);
    EXPECT_EQ(queue.waiting(), 700u);
    queue.skip(100);
    EXPECT_EQ(queue.room(), 100u);
    EXPECT_EQ(queue.read(out, 1000), 600u);
    EXPECT_EQ(a[599], 0.25f);
    EXPECT_EQ(b[599], -0.5f);
    EXPECT_EQ(b[600], 0.f);
    EXPECT_EQ(queue.read(out, 1), 0u);
    EXPECT_EQ(queue.write(nullptr, 3), 3u);
    EXPECT_EQ(queue.read(out, 3), 3u);
    EXPECT_EQ(a[0], 0.f);
    queue.skip(10);
}

// A ramp, in pieces of odd sizes on both sides: a lost, doubled or shifted sample shows.
TEST(SampleQueue, KeepsTheOrderBetweenTwoThreads) {
    constexpr int count = 300'000;
    SampleQueue queue(3, 1000);
    std::thread writer([&] {
        std::vector<float> planes[3];
        for (auto& plane : planes) plane.resize(411);
        for (int at = 0; at < count;) {
            const int n = std::min(1 + at % 411, count - at);
            for (int c = 0; c < 3; ++c)
                for (int i = 0; i < n; ++i) planes[c][static_cast<std::size_t>(i)] = static_cast<float>(at + i + c);
            const float* in[] = {planes[0].data(), planes[1].data(), planes[2].data()};
            at += static_cast<int>(queue.write(in, static_cast<std::size_t>(n)));
        }
    });
    std::vector<float> planes[3];
    for (auto& plane : planes) plane.resize(777);
    float* out[] = {planes[0].data(), planes[1].data(), planes[2].data()};
    int wrong = 0;
    for (int at = 0; at < count;) {
        const std::size_t n = queue.read(out, static_cast<std::size_t>(1 + at % 777));
        for (std::size_t i = 0; i < n; ++i, ++at)
            for (int c = 0; c < 3; ++c) wrong += planes[c][i] != static_cast<float>(at + c);
    }
    writer.join();
    EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace castile::devices
