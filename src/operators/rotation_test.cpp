#include "operators/rotation.h"

#include <gtest/gtest.h>

#include "operators/mix.h"
#include "sched/manual_time.h"
#include "sched/scheduler.h"
#include "source/ramp.h"

namespace castile::operators {
namespace {

using namespace std::chrono_literals;
using test::Collector;
using test::Ramp;

constexpr std::int64_t base = 1 << 20;
constexpr Ticks track{2000};

class Composition : public ::testing::Test {
protected:
    void SetUp() override { set_stream_parameters({}); set_scheduler(&scheduler_); }
    void TearDown() override { stop_clocks(); set_scheduler(nullptr); }
    void play(SourcePtr source, Duration d) {
        out = std::make_shared<Collector>(std::move(source), true);
        attach_output(out);
        start_clocks(scheduler_);
        scheduler_.run_simulated(time_.now() + d);
    }
    /// Which ramp each stretch of `track` samples comes from.
    std::vector<std::int64_t> owners() const {
        std::vector<std::int64_t> result;
        for (std::size_t at = 0; at < out->samples.size(); at += 2000) result.push_back(static_cast<std::int64_t>(out->samples[at] * (1 << 23)) / base);
        return result;
    }
    ManualTime time_;
    Scheduler scheduler_{{}, time_};
    std::shared_ptr<Collector> out;
};

std::shared_ptr<Ramp> ramp(int number, Ticks end = {}) { return std::make_shared<Ramp>(track, end, number * base); }
std::function<int()> weight(int w) { return [w] { return w; }; }

TEST_F(Composition, RotateTakesTracksByWeight) {
    play(std::make_shared<Rotate>(std::vector<Switcher::Child>{{.source = ramp(0), .weight = weight(2)}, {.source = ramp(1)}, {.source = ramp(2)}}), 700ms);
    const std::vector<std::int64_t> expected{0, 0, 1, 2, 0, 0, 1, 2, 0, 0, 1, 2, 0, 0, 1, 2};
    const auto got = owners();
    ASSERT_GE(got.size(), 16u);
    EXPECT_EQ(std::vector(got.begin(), got.begin() + 16), expected);
}

TEST_F(Composition, RotateLeavesOutWhatIsNotReady) {
    auto short_one = ramp(1, Ticks{3000});
    play(std::make_shared<Rotate>(std::vector<Switcher::Child>{{.source = ramp(0)}, {.source = short_one}}), 1s);
    // 2000 of the first, 2000 of the second, 2000, the last 1000 of the second, then the first alone.
    EXPECT_TRUE(out->is_ramp_from(base, 2000, 4000));
    EXPECT_TRUE(out->is_ramp_from(2000, 4000, 6000));
    EXPECT_TRUE(out->is_ramp_from(base + 2000, 6000, 7000));
    EXPECT_TRUE(out->is_ramp_from(4000, 7000));
}

TEST_F(Composition, RandomGoesByWeightAndLosesNothing) {
    play(std::make_shared<Random>(std::vector<Switcher::Child>{{.source = ramp(0), .weight = weight(3)}, {.source = ramp(1)}, {.source = ramp(2), .weight = weight(0)}}, 7), 20s);
    std::map<std::int64_t, int> count;
    for (const auto owner : owners()) ++count[owner];
    EXPECT_NEAR(static_cast<double>(count[0]) / count[1], 3, 0.8);
    EXPECT_EQ(count[2], 0);
}

TEST_F(Composition, SequencePlaysATrackOfEachThenTheLast) {
    auto sequence = std::make_shared<Sequence>(std::vector<Switcher::Child>{{.source = ramp(0)}, {.source = ramp(1)}, {.source = ramp(2)}}, false, true);
    play(sequence, 1s);
    EXPECT_TRUE(out->is_ramp_from(0, 0, 2000));
    EXPECT_TRUE(out->is_ramp_from(base, 2000, 4000));
    EXPECT_TRUE(out->is_ramp_from(2 * base, 4000));
    EXPECT_EQ(sequence->queue().size(), 1u);
    EXPECT_EQ(sequence->inputs().size(), 1u);  // the others sleep
    ASSERT_GE(out->marks.size(), 4u);
    EXPECT_EQ(std::vector(out->marks.begin(), out->marks.begin() + 4), (std::vector<std::int64_t>{0, 2000, 4000, 6000}));
}

TEST_F(Composition, SequenceMergesAndWaitsForTheEnd) {
    auto sequence = std::make_shared<Sequence>(
        std::vector<Switcher::Child>{{.source = ramp(0, Ticks{5000})}, {.source = ramp(1)}}, true, false);
    play(sequence, 1s);
    EXPECT_TRUE(out->is_ramp_from(0, 0, 5000));
    EXPECT_TRUE(out->is_ramp_from(base, 5000));
    EXPECT_EQ(std::count(out->marks.begin(), out->marks.end(), 5000), 0);
}

TEST_F(Composition, MixAddsWithWeights) {
    play(std::make_shared<Mix>("add", std::vector<Mix::Input>{{ramp(0), [] { return 3.; }}, {ramp(0), {}}}, [] { return true; }, nullptr), 1s);
    for (std::size_t i = 0; i < out->samples.size(); ++i) ASSERT_NEAR(out->samples[i], Ramp::value(static_cast<std::int64_t>(i)), 1e-6);
    EXPECT_EQ(out->marks.size(), (out->samples.size() + 1999) / 2000);
}

TEST_F(Composition, MixWithoutNormalisationAndWithAnEnd) {
    play(std::make_shared<Mix>("add", std::vector<Mix::Input>{{ramp(0), {}}, {ramp(0, Ticks{1000}), {}}}, [] { return false; }, nullptr), 1s);
    for (std::size_t i = 0; i < out->samples.size(); ++i)
        ASSERT_NEAR(out->samples[i], (i < 1000 ? 2 : 1) * Ramp::value(static_cast<std::int64_t>(i)), 1e-6) << i;
}

TEST_F(Composition, MixPowerKeepsThePower) {
    play(std::make_shared<Mix>("add", std::vector<Mix::Input>{{ramp(0), {}}, {ramp(0), {}}}, [] { return true; }, [] { return true; }), 100ms);
    for (std::size_t i = 0; i < out->samples.size(); ++i) ASSERT_NEAR(out->samples[i], std::sqrt(2.) * Ramp::value(static_cast<std::int64_t>(i)), 1e-6);
}

TEST_F(Composition, Fallibility) {
    EXPECT_TRUE(Sequence({{.source = ramp(0)}, {.source = ramp(1, Ticks{10})}}, false, true).fallible());
    EXPECT_FALSE(Sequence({{.source = ramp(0, Ticks{10})}, {.source = ramp(1)}}, false, true).fallible());
    EXPECT_FALSE(Rotate({{.source = ramp(0, Ticks{10})}, {.source = ramp(1)}}).fallible());
    EXPECT_FALSE(Mix("add", {{ramp(0, Ticks{10}), {}}, {ramp(1), {}}}, nullptr, nullptr).fallible());
}

}  // namespace
}  // namespace castile::operators
