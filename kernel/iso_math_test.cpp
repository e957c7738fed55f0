// The arithmetic that the BPF program runs, on the host: against closed forms, at its edges, and as small simulations of its use.

#include "iso_math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace {

constexpr iso_u64 second = 1000 * ISO_MS;
constexpr double one = static_cast<double>(ISO_ONE);

/// Feeds `length` of busy or idle time in steps.
void feed(iso_average& a, iso_u64& now, iso_u64 length, iso_u64 step, bool busy, iso_u64 period = 5 * second) {
    for (const iso_u64 end = now + length; now < end;) {
        now += std::min(step, end - now);
        iso_average_add(&a, now, busy, period);
    }
}

TEST(IsoMath, DecayIsTheExponential) {
    for (const iso_u64 period : {100 * ISO_MS, second, 5 * second, 60 * second})
        for (const iso_u64 ms : {0U, 1U, 4U, 10U, 250U, 1000U, 6020U, 100000U}) {
            const double wanted = std::exp(-static_cast<double>(ms) / (static_cast<double>(period) / ISO_MS));
            EXPECT_NEAR(static_cast<double>(iso_decay(period, ms)) / one, wanted, 0.002) << period << " " << ms;
        }
    EXPECT_EQ(iso_decay(5 * second, 1 << 20), 0U);
    EXPECT_EQ(iso_decay(5 * second, ~0ULL), 0U);
    EXPECT_LE(iso_decay(0, 1), ISO_ONE);  // no period: a short one
}

TEST(IsoMath, ReachesTheLimitWhenTheFormulaSays) {
    // share = 1 - e^(-t / tau), so 70 % after tau ln(1 / 0.3), whatever the steps are.
    for (const iso_u64 step : {14'000ULL, 333'333ULL, 4 * ISO_MS, 10 * ISO_MS}) {
        iso_average a{};
        iso_u64 now = 12345;
        iso_average_add(&a, now, 0, 5 * second);
        const iso_u64 start = now;
        while (!iso_demoted(0, a.share, 70) && now - start < 30 * second) feed(a, now, step, step, true);
        EXPECT_NEAR(static_cast<double>(now - start) / 1e9, 5 * std::log(1 / 0.3), 0.02) << step;
    }
}

TEST(IsoMath, ShortRunsCount) {
    // 14 us on, 14 us off is half of the time: nothing of it may be truncated away.
    iso_average a{};
    iso_u64 now = 1;
    iso_average_add(&a, now, 0, second);
    for (int i = 0; i < 400'000; ++i) {
        now += 14'000;
        iso_average_add(&a, now, i % 2, second);
    }
    EXPECT_NEAR(static_cast<double>(a.share) / one, 0.5, 0.01);
}

TEST(IsoMath, SettlesBetweenTheLimitAndNineTenthsOfIt) {
    // A hog of the class against two normal ones: a third of the CPU while it is demoted.
    iso_average a{};
    iso_u64 now = 1, busy = 0, total = 0;
    int demoted = 0, demotions = 0, turn = 0;
    iso_average_add(&a, now, 0, 5 * second);
    while (now < 120 * second) {
        const bool runs = !demoted || turn++ % 3 == 0;
        feed(a, now, 4 * ISO_MS, 4 * ISO_MS, runs);
        if (now > 20 * second) {
            busy += runs;
            ++total;
            EXPECT_GT(static_cast<double>(a.share) / one, 0.62);
            EXPECT_LT(static_cast<double>(a.share) / one, 0.71);
        }
        const int before = demoted;
        demoted = iso_demoted(demoted, a.share, 70);
        demotions += demoted && !before;
    }
    const double share = static_cast<double>(busy) / static_cast<double>(total);
    EXPECT_GT(share, 0.63);
    EXPECT_LT(share, 0.70);
    EXPECT_NEAR(demotions, (120 - 6) / (1.06 + 1.05), 6);
}

TEST(IsoMath, LongGapsAndStrangeClocks) {
    iso_average a{};
    iso_average_add(&a, 5 * second, 1, 5 * second);
    EXPECT_EQ(a.share, 0U);
    iso_average_add(&a, 4 * second, 1, 5 * second);  // backwards
    EXPECT_EQ(a.share, 0U);
    iso_average_add(&a, 3600ULL * 24 * 365 * second, 1, 5 * second);  // a year
    EXPECT_LE(a.share, ISO_ONE);
    EXPECT_GT(static_cast<double>(a.share) / one, 0.999);
    iso_average_add(&a, ~0ULL, 0, 5 * second);
    EXPECT_LT(static_cast<double>(a.share) / one, 0.001);
}

TEST(IsoMath, Hysteresis) {
    const auto share = [](double percent) { return static_cast<iso_u64>(percent / 100 * one); };
    EXPECT_FALSE(iso_demoted(0, share(69.9), 70));
    EXPECT_TRUE(iso_demoted(0, share(70.1), 70));
    EXPECT_TRUE(iso_demoted(1, share(63.1), 70));
    EXPECT_FALSE(iso_demoted(1, share(62.9), 70));
    EXPECT_FALSE(iso_demoted(1, ISO_ONE, 100));  // 100: no limit
    EXPECT_TRUE(iso_demoted(0, 0, 0));           // 0: always normal
}

TEST(IsoMath, LevelsFollowPriorities) {
    EXPECT_EQ(iso_level_of_nice(0), ISO_LEVELS);
    EXPECT_EQ(iso_level_of_nice(-20), ISO_LEVELS);
    EXPECT_EQ(iso_level_of_nice(19), 1);
    for (int priority = 1; priority < 99; ++priority) EXPECT_GE(iso_nice_of_priority(priority), iso_nice_of_priority(priority + 1));
    // Sound servers' watchdog, server and clients, as they come.
    for (const auto& [watchdog, server, client] : {std::array{70, 60, 59}, {20, 10, 5}, {90, 80, 75}}) {
        EXPECT_LT(iso_nice_of_priority(watchdog), iso_nice_of_priority(server));
        EXPECT_LT(iso_nice_of_priority(server), iso_nice_of_priority(client));
    }
    // A higher level comes first however long a lower one waits; within a level who came first.
    EXPECT_TRUE(iso_before(iso_order(20, 1000 * second), iso_order(19, 0)));
    EXPECT_TRUE(iso_before(iso_order(7, second), iso_order(7, 2 * second)));
    EXPECT_TRUE(iso_before(iso_order(2, ~0ULL), iso_order(1, 0)));
}

TEST(IsoMath, PlacesSleepersAndDebtors) {
    const iso_u64 lag = 4 * ISO_MS, v = 1ULL << 40;
    EXPECT_EQ(iso_place(v - second, v, lag, 100), v - lag);
    EXPECT_EQ(iso_place(v + ISO_MS, v, lag, 100), v + ISO_MS);
    EXPECT_EQ(iso_place(v + second, v, lag, 100), v + 2 * lag);
    EXPECT_EQ(iso_place(v + 100 * ISO_MS, v, lag, 1), v + 100 * ISO_MS);  // nice 19 after one slice
    EXPECT_EQ(iso_place(100, 0, lag, 100), 100U);                         // around the wrap
    EXPECT_EQ(iso_place(~0ULL - 10, 5, lag, 100), ~0ULL - 10);
    EXPECT_EQ(iso_key(v, 0, 0, lag, 100), v);
    EXPECT_EQ(iso_key(v, ISO_MS, 0, lag, 100), v + ISO_MS);
    EXPECT_EQ(iso_key(v, ISO_MS, second, lag, 100), v + lag);
    EXPECT_EQ(iso_key(v, second, 0, lag, 1), v + 4 * lag);
    EXPECT_EQ(iso_key(v, second, 0, lag, 0), v + 4 * lag);  // a weight of nothing is one
}

/// One CPU of hogs, run by key as the scheduler does.
std::map<iso_u32, iso_u64> share_by_weight(const std::vector<iso_u32>& weights) {
    struct Hog {
        iso_u64 v, ran;
        iso_u32 weight;
    };
    const iso_u64 lag = 4 * ISO_MS, slice = ISO_MS;
    std::vector<Hog> hogs;
    for (const iso_u32 weight : weights) hogs.push_back({1ULL << 40, 0, weight});
    iso_u64 queue_v = 1ULL << 40;
    std::map<iso_u32, iso_u64> times;
    for (int i = 0; i < 200'000; ++i) {
        auto& next = *std::min_element(hogs.begin(), hogs.end(), [&](const Hog& a, const Hog& b) {
            return iso_before(iso_key(a.v, 0, a.ran, lag, a.weight), iso_key(b.v, 0, b.ran, lag, b.weight));
        });
        if (iso_before(queue_v, next.v)) queue_v = next.v;
        next.v = iso_place(next.v + iso_charge(slice, next.weight), queue_v, lag, next.weight);
        next.ran += slice;
        times[next.weight] += slice;
    }
    return times;
}

TEST(IsoMath, SharesByWeight) {
    const auto times = share_by_weight({100, 300, 33});
    const auto ratio = [&](iso_u32 a, iso_u32 b) { return static_cast<double>(times.at(a)) / static_cast<double>(times.at(b)); };
    EXPECT_NEAR(ratio(300, 100), 3, 0.1);
    EXPECT_NEAR(ratio(100, 33), 3, 0.1);
    // The extremes: neither starves.
    const auto extremes = share_by_weight({8668, 100, 1});
    EXPECT_GT(extremes.at(1), 0U);
    EXPECT_GT(extremes.at(100), extremes.at(1) * 20);
    EXPECT_GT(extremes.at(8668), extremes.at(100) * 20);
}

}  // namespace
