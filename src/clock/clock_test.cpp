#include "clock/clock.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "base/error.h"
#include "base/settings.h"
#include "sched/manual_time.h"
#include "sched/scheduler.h"

namespace castile {
namespace {

using namespace std::chrono_literals;

class Counter : public Active {
public:
    explicit Counter(std::string name, std::function<void(Counter&)> f = {}) : name_(std::move(name)), f_(std::move(f)) {}
    void activate() override { ++activated; if (refuse) throw Error("refused"); }
    void deactivate() noexcept override { ++deactivated; }
    void reset() noexcept override { ++resets; }
    void tick() noexcept override { ++ticks; if (f_) f_(*this); }
    const std::string& active_name() const noexcept override { return name_; }
    std::atomic<int> ticks = 0, activated = 0, deactivated = 0, resets = 0;
    bool refuse = false;

private:
    std::string name_;
    std::function<void(Counter&)> f_;
};

class SimulatedClocks : public ::testing::Test {
protected:
    void SetUp() override { set_stream_parameters({}); set_scheduler(&scheduler_); }
    void TearDown() override { stop_clocks(); set_scheduler(nullptr); }
    void run(Duration d) { scheduler_.run_simulated(time_.now() + d); }
    ManualTime time_;
    Scheduler scheduler_{{}, time_};
};

TEST_F(SimulatedClocks, RunsAheadByItsLeadAndNeverDrifts) {
    auto clock = Clock::create();
    auto counter = std::make_shared<Counter>("out");
    clock->attach(counter);
    start_clocks(scheduler_);
    start_clocks(scheduler_);  // again changes nothing
    EXPECT_TRUE(clock->running());
    run(10ms);
    EXPECT_EQ(counter->ticks, 5);  // 0.1 s
    run(1h);
    const int frames = 3600 * 50;
    EXPECT_GE(counter->ticks, frames + 1);
    EXPECT_LE(counter->ticks, frames + 6);
    EXPECT_EQ(clock->tick_count(), counter->ticks);
    EXPECT_EQ(counter->activated, 1);
}

TEST_F(SimulatedClocks, WakesOncePerLeadNotPerFrame) {
    auto clock = Clock::create();
    int wakes = 0;
    Instant last{};
    auto counter = std::make_shared<Counter>("out", [&](Counter&) {
        if (time_.now() != last) ++wakes;
        last = time_.now();
    });
    clock->attach(counter);
    start_clocks(scheduler_);
    run(10s);
    EXPECT_LE(wakes, 10 * 20);
    EXPECT_GE(counter->ticks, 500);
}

TEST_F(SimulatedClocks, OneClockPerConnectedGraph) {
    auto a = Clock::create(), b = Clock::create("named"), c = Clock::create();
    Clock::unify(a, b);
    Clock::unify(c, a);
    EXPECT_EQ(a->root(), c->root());
    EXPECT_EQ(a->root(), b->root());
    EXPECT_EQ(c->id(), "named");
    auto x = std::make_shared<Counter>("x"), y = std::make_shared<Counter>("y");
    a->attach(x);
    c->attach(y);
    start_clocks(scheduler_);
    run(1s);
    EXPECT_EQ(x->ticks, y->ticks);
    EXPECT_EQ(a->tick_count(), x->ticks);
}

TEST_F(SimulatedClocks, TakesItsNameFromItsOutput) {
    auto a = Clock::create(), b = Clock::create();
    EXPECT_EQ(a->id(), "generic");
    a->attach(std::make_shared<Counter>("output.dummy"));
    b->attach(std::make_shared<Counter>("output.dummy"));
    start_clocks(scheduler_);
    std::vector<std::string> ids{a->id(), b->id()};
    std::sort(ids.begin(), ids.end());
    EXPECT_EQ(ids, (std::vector<std::string>{"output.dummy", "output.dummy.1"}));
}

TEST_F(SimulatedClocks, RefusesToJoinTwoRunningClocks) {
    auto a = Clock::create(), b = Clock::create();
    a->attach(std::make_shared<Counter>("a"));
    b->attach(std::make_shared<Counter>("b"));
    start_clocks(scheduler_);
    EXPECT_THROW(Clock::unify(a, b), Error);
}

TEST_F(SimulatedClocks, AttachesAndDetachesWhileItRuns) {
    auto clock = Clock::create();
    auto first = std::make_shared<Counter>("first"), second = std::make_shared<Counter>("second");
    clock->attach(first);
    start_clocks(scheduler_);
    run(1s);
    auto fresh = Clock::create();
    fresh->attach(second);
    Clock::unify(fresh, clock);
    start_clocks(scheduler_);
    run(1s);
    EXPECT_EQ(second->activated, 1);
    EXPECT_NEAR(second->ticks, 50, 6);
    clock->detach(*first);
    run(100ms);
    const int at = first->ticks;
    run(1s);
    EXPECT_EQ(first->ticks, at);
    EXPECT_EQ(first->deactivated, 1);
}

TEST_F(SimulatedClocks, OrdersRunBetweenTicks) {
    auto clock = Clock::create();
    bool inside = false;
    int ran = 0;
    auto counter = std::make_shared<Counter>("out", [&](Counter& c) {
        inside = true;
        if (c.ticks == 3) clock->run_between_ticks([&] { EXPECT_FALSE(inside); ++ran; });
        inside = false;
    });
    clock->attach(counter);
    start_clocks(scheduler_);
    run(100ms);
    clock->run_between_ticks([] { throw Error("on purpose"); });
    clock->run_between_ticks([&] { ++ran; });
    run(1ms);  // at once, though its lead is not used up
    EXPECT_EQ(ran, 2);
}

TEST_F(SimulatedClocks, AnOutputThatCannotStartStopsNoOther) {
    auto clock = Clock::create(), other = Clock::create();
    auto bad = std::make_shared<Counter>("bad"), good = std::make_shared<Counter>("good");
    bad->refuse = true;
    clock->attach(bad);
    clock->attach(good);
    other->attach(std::make_shared<Counter>("third"));
    EXPECT_THROW(start_clocks(scheduler_), Error);
    run(1s);
    EXPECT_EQ(bad->ticks, 0);
    EXPECT_GT(good->ticks, 40);
    EXPECT_TRUE(other->running());
}

TEST_F(SimulatedClocks, CatchesUpAndReportsIt) {
    auto clock = Clock::create();
    auto counter = std::make_shared<Counter>("out");
    clock->attach(counter);
    start_clocks(scheduler_);
    run(2s);
    EXPECT_EQ(clock_statistics(*clock).catchups, 0);
    time_.advance(1500ms);  // the machine was away
    run(1ms);
    EXPECT_NEAR(counter->ticks, 3.5 * 50, 7);
    EXPECT_EQ(clock_statistics(*clock).catchups, 1);
    EXPECT_NEAR(clock_statistics(*clock).worst_lateness, 1.42, 0.06);
    EXPECT_EQ(counter->resets, 0);
}

TEST_F(SimulatedClocks, GivesUpCatchingUpBeyondTheMaximum) {
    auto clock = Clock::create();
    auto counter = std::make_shared<Counter>("out");
    clock->attach(counter);
    start_clocks(scheduler_);
    run(1s);
    time_.advance(2min);
    run(1s);
    EXPECT_EQ(counter->resets, 1);
    EXPECT_LT(counter->ticks, 120);
}

TEST_F(SimulatedClocks, StopsWithItsOutputsClosed) {
    auto clock = Clock::create();
    auto counter = std::make_shared<Counter>("out");
    clock->attach(counter);
    start_clocks(scheduler_);
    run(1s);
    stop_clocks();
    EXPECT_EQ(counter->deactivated, 1);
    const int at = counter->ticks;
    run(1s);
    EXPECT_EQ(counter->ticks, at);
    EXPECT_FALSE(clock->running());
}

TEST_F(SimulatedClocks, DumpsLikeLiquidsoap) {
    auto clock = Clock::create();
    clock->attach(std::make_shared<Counter>("dumped"));
    start_clocks(scheduler_);
    run(10ms);
    EXPECT_EQ(dump_clocks(), "· dumped (ticks: 5, time: 0.10s, self_sync: false)\n  ├── outputs:\n  ├── active sources:\n  └── passive sources:");
    EXPECT_EQ(dump_all_sources(), "Clock dumped:\n");
}

TEST_F(SimulatedClocks, UnsynchronisedClocksLeaveTheOthersAlone) {
    auto fast = Clock::create("", ClockMode::unsynchronised), slow = Clock::create();
    auto a = std::make_shared<Counter>("a"), b = std::make_shared<Counter>("b");
    fast->attach(a);
    slow->attach(b);
    start_clocks(scheduler_);
    run(1s);
    EXPECT_GE(b->ticks, 50);
    EXPECT_GT(a->ticks, 0);
}

/// Real workers and threads; the waits only bound a failing test.
class RunningClocks : public ::testing::TestWithParam<bool> {
protected:
    void SetUp() override {
        set_stream_parameters({});
        find_setting("clock.task")->set(GetParam());
        set_scheduler(&scheduler_);
        scheduler_.start();
    }
    void TearDown() override {
        stop_clocks();
        scheduler_.stop();
        set_scheduler(nullptr);
        find_setting("clock.task")->set(true);
    }
    void reached() { std::lock_guard lock(mutex_); ++reached_; changed_.notify_all(); }
    bool wait(int n) { std::unique_lock lock(mutex_); return changed_.wait_for(lock, 20s, [&] { return reached_ >= n; }); }
    Scheduler scheduler_{{.workers = 2}};
    std::mutex mutex_;
    std::condition_variable changed_;
    int reached_ = 0;
};

TEST_P(RunningClocks, ManyClocksTickTakeOrdersAndStop) {
    std::vector<ClockPtr> clocks;
    std::vector<std::shared_ptr<Counter>> counters;
    for (int i = 0; i < 20; ++i) {
        clocks.push_back(Clock::create());
        counters.push_back(std::make_shared<Counter>("c", [this](Counter& c) { if (c.ticks == 12) reached(); }));
        clocks.back()->attach(counters.back());
    }
    start_clocks(scheduler_);
    EXPECT_TRUE(wait(20));
    for (auto& clock : clocks) clock->run_between_ticks([this] { reached(); });
    EXPECT_TRUE(wait(40));
    stop_clocks();
    for (auto& counter : counters) EXPECT_EQ(counter->deactivated, 1);
}

TEST_P(RunningClocks, AHangingClockDoesNotHoldTheStop) {
    std::atomic<bool> release = false;
    auto bad = Clock::create("bad"), good = Clock::create("good");
    auto hanging = std::make_shared<Counter>("hanging", [&](Counter&) { reached(); while (!release) std::this_thread::sleep_for(1ms); });
    auto other = std::make_shared<Counter>("other", [&](Counter& c) { if (c.ticks == 3) reached(); });
    bad->attach(hanging);
    good->attach(other);
    start_clocks(scheduler_);
    EXPECT_TRUE(wait(2));
    const Instant before = system_time().now();
    stop_clocks();
    EXPECT_LT(system_time().now() - before, 3s);
    EXPECT_EQ(other->deactivated, 1);
    EXPECT_EQ(hanging->deactivated, 0);
    release = true;
    for (int i = 0; i < 2000 && hanging->deactivated == 0; ++i) std::this_thread::sleep_for(1ms);
    EXPECT_EQ(hanging->deactivated, 1);
}

INSTANTIATE_TEST_SUITE_P(Animators, RunningClocks, ::testing::Values(true, false), [](const auto& i) { return i.param ? "task" : "thread"; });

}  // namespace
}  // namespace castile
