// The isochronous limit, on real workers: what it leaves to normal work, and whom it hits. The waits are bounds only.

#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "sched/manual_time.h"
#include "sched/scheduler.h"

namespace castile {
namespace {

using namespace std::chrono_literals;

/// Processor time of this thread, so that a busy machine changes little.
void spin(Duration d) {
    const auto used = [] {
        timespec t{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
    };
    const auto end = used() + d;
    while (used() < end) {
    }
}

class Clocklike : public IsoTask {
public:
    Clocklike(std::string name, Duration work, Duration period) : name_(std::move(name)), work_(work), period_(period) {}
    Instant run(Instant now) noexcept override {
        ++runs;
        spin(work_);
        return now + period_;
    }
    const std::string& name() const noexcept override { return name_; }
    std::atomic<int> runs = 0;

private:
    const std::string name_;
    const Duration work_, period_;
};

/// Runs a chain of handlers of 1 ms beside greedy tasks until these had 24 runs of 10 ms: the part that the handlers had.
double handlers_part(double iso_cpu) {
    Scheduler s({.workers = 1, .iso_cpu = iso_cpu, .iso_period = 100ms});
    std::atomic<bool> over = false;
    std::atomic<int> handlers = 0;
    std::function<void()> chain = [&] {
        if (over) return;
        spin(1ms);
        ++handlers;
        s.post([&] { chain(); });
    };
    std::vector<std::shared_ptr<Clocklike>> greedy;
    for (int i = 0; i < 3; ++i) s.add(greedy.emplace_back(std::make_shared<Clocklike>("greedy", 10ms, 0ms)), s.time().now());
    s.post([&] { chain(); });
    const auto runs = [&] { return greedy[0]->runs + greedy[1]->runs + greedy[2]->runs; };
    s.start();
    for (int i = 0; i < 2000 && runs() < 24; ++i) std::this_thread::sleep_for(10ms);
    over = true;
    s.stop();
    return handlers / (handlers + 10. * runs());
}

// Turns are given by the clock on the wall, so one measurement may be spoilt by what else the machine does; not every one.
bool handlers_have(double iso_cpu, double least, double most) {
    double part = 0;
    for (int i = 0; i < 5; ++i) {
        part = handlers_part(iso_cpu);
        if (part >= least && part <= most) return true;
    }
    ADD_FAILURE() << "the last time " << part;
    return false;
}

TEST(Limit, LeavesTimeToNormalWorkUnlessItIsHundred) {
    EXPECT_TRUE(handlers_have(0.7, 0.2, 1));
    EXPECT_TRUE(handlers_have(1., 0, 0.15));
    EXPECT_TRUE(handlers_have(0., 0.3, 1));
}

TEST(Limit, AClockThatOverrunsIsDemotedAlone) {
    Scheduler s({.workers = 1, .iso_period = 200ms});
    auto greedy = std::make_shared<Clocklike>("greedy", 10ms, 0ms);
    auto modest = std::make_shared<Clocklike>("modest", 200us, 20ms);
    s.add(greedy, s.time().now());
    s.add(modest, s.time().now());
    s.start();
    std::optional<TaskStatistics> of_greedy, of_modest;
    bool seen = false;
    for (int i = 0; i < 400 && !seen; ++i) {
        std::this_thread::sleep_for(10ms);
        of_greedy = s.statistics(*greedy);
        of_modest = s.statistics(*modest);
        EXPECT_FALSE(of_modest->demoted);
        seen = of_greedy->demoted && modest->runs > 40;
    }
    EXPECT_TRUE(seen);
    EXPECT_EQ(of_modest->demotions, 0);
    const SchedulerStatistics all = s.statistics();
    ASSERT_EQ(all.workers.size(), 1u);
    EXPECT_FALSE(all.workers[0].over_limit);
    EXPECT_LT(all.workers[0].share, 0.7);
    EXPECT_GT(all.workers[0].runs, 40);
    EXPECT_EQ(all.tasks.size(), 2u);
    s.stop();
}

/// Takes simulated time, as a clock on a slow machine does.
class Slow : public IsoTask {
public:
    Slow(ManualTime& time, Duration work, int priority) : time_(time), work_(work), priority_(priority) {}
    Instant run(Instant now) noexcept override {
        ++runs;
        if (next_ == Instant{}) next_ = now;
        worst = std::max(worst, now - next_);
        time_.advance(work_);
        return next_ += 50ms;
    }
    int priority() const noexcept override { return priority_; }
    const std::string& name() const noexcept override { return name_; }
    int runs = 0;
    Duration worst{};

private:
    ManualTime& time_;
    const Duration work_;
    const int priority_;
    const std::string name_ = "slow";
    Instant next_{};
};

// One and a half times what the machine can do, half of it with a higher priority.
TEST(Overload, TheHigherPriorityStaysOnTimeAndTheRestShares) {
    ManualTime time;
    Scheduler s({}, time);
    std::vector<std::shared_ptr<Slow>> high, low;
    for (int i = 0; i < 6; ++i) {
        high.push_back(std::make_shared<Slow>(time, 6250us, 1));  // 75 % together
        low.push_back(std::make_shared<Slow>(time, 6250us, 0));
        s.add(low[i], time.now());
        s.add(high[i], time.now());
    }
    s.run_simulated(time.now() + 30s);
    for (int i = 0; i < 6; ++i) {
        EXPECT_LT(high[i]->worst, 45ms);  // behind the five others, and one that had begun
        EXPECT_GE(high[i]->runs, 600);
        EXPECT_NEAR(low[i]->runs, 200, 15);  // a third of what they want, each
    }
    // The load goes: they catch up.
    for (auto& task : high) s.remove(*task);
    s.run_simulated(time.now() + 70s);
    for (int i = 0; i < 6; ++i) EXPECT_GE(low[i]->runs, 2000);
}

}  // namespace
}  // namespace castile
