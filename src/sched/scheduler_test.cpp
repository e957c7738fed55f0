#include "sched/scheduler.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "base/error.h"
#include "sched/iso_queue.h"
#include "sched/manual_time.h"

namespace castile {
namespace {

using namespace std::chrono_literals;

class Task : public IsoTask {
public:
    explicit Task(std::string name, std::function<Instant(Instant)> f, int priority = 0, Duration slack = {})
        : name_(std::move(name)), f_(std::move(f)), priority_(priority), slack_(slack) {}
    Instant run(Instant now) noexcept override { return f_(now); }
    int priority() const noexcept override { return priority_; }
    Duration slack() const noexcept override { return slack_; }
    const std::string& name() const noexcept override { return name_; }

private:
    std::string name_;
    std::function<Instant(Instant)> f_;
    int priority_;
    Duration slack_;
};

/// Waits for events of workers; the time-out only bounds a failing test.
class Gate {
public:
    void open() {
        std::lock_guard lock(mutex_);
        ++opened_;
        changed_.notify_all();
    }
    bool wait(int times = 1) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, 20s, [&] { return opened_ >= times; });
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    int opened_ = 0;
};

void spin(Duration d) {
    const Instant end = system_time().now() + d;
    while (system_time().now() < end) {
    }
}

TEST(Simulated, RunsInDeadlineOrderAndMovesTime) {
    ManualTime time;
    Scheduler s({}, time);
    const Instant start = time.now();
    std::vector<std::string> order;
    const auto once = [&](std::string name, int priority = 0) {
        return std::make_shared<Task>(name, [&, name](Instant now) {
            EXPECT_EQ(now, time.now());
            order.push_back(name);
            return Instant::max();
        }, priority);
    };
    s.add(once("late"), start + 30ms);
    s.add(once("early"), start + 10ms);
    s.add(once("low"), start + 20ms);
    s.add(once("high", 5), start + 20ms);
    s.after(15ms, [&] { order.push_back("timer"); });
    s.post([&] { order.push_back("posted"); });
    s.blocking([&] { order.push_back("blocking"); });
    s.run_simulated(start + 1s);
    EXPECT_EQ(order, (std::vector<std::string>{"posted", "blocking", "early", "timer", "high", "low", "late"}));
    EXPECT_EQ(time.now(), start + 1s);
}

TEST(Simulated, ADayRunsInNoTime) {
    ManualTime time;
    Scheduler s({}, time);
    const Instant start = time.now();
    int runs = 0;
    s.add(std::make_shared<Task>("t", [&](Instant now) { return ++runs, now + 1s; }), start);
    s.run_simulated(start + 24h);
    EXPECT_EQ(runs, 24 * 3600 + 1);
    EXPECT_DOUBLE_EQ(time.wall(), 1'700'000'000.0 + 24 * 3600);
}

TEST(Simulated, TimersCancel) {
    ManualTime time;
    Scheduler s({}, time);
    int fired = 0;
    auto cancel = s.after(10ms, [&] { fired += 1; });
    s.after(10ms, [&] { fired += 10; });
    cancel();
    s.run_simulated(time.now() + 1s);
    cancel();
    EXPECT_EQ(fired, 10);
}

TEST(Simulated, WakeMovesADeadlineForwardOnly) {
    ManualTime time;
    Scheduler s({}, time);
    const Instant start = time.now();
    std::vector<Duration> at;
    auto task = std::make_shared<Task>("t", [&](Instant now) { return at.push_back(now - start), Instant::max(); });
    s.add(task, start + 100ms);
    s.wake(*task, start + 200ms);
    s.wake(*task, start + 50ms);
    s.run_simulated(start + 1s);
    s.wake(*task, start + 1500ms);
    s.run_simulated(start + 2s);
    EXPECT_EQ(at, (std::vector<Duration>{50ms, 1500ms}));
}

TEST(Simulated, AThrowingHandlerStopsNothing) {
    ManualTime time;
    Scheduler s({}, time);
    bool after = false;
    s.post([] { throw Error("on purpose"); });
    s.after(1ms, [] { throw 3; });
    s.after(2ms, [&] { after = true; });
    s.run_simulated(time.now() + 10ms);
    EXPECT_TRUE(after);
}

detail::IsoEntry entry(std::string name, Instant deadline, int priority = 0, Duration slack = {}) {
    detail::IsoEntry made;
    made.task = std::make_shared<Task>(std::move(name), [](Instant) { return Instant::max(); }, priority, slack);
    made.deadline = deadline;
    return made;
}

TEST(IsoQueue, OfThoseThatAreDueTheHigherPriorityGoesFirst) {
    detail::IsoQueue queue;
    const Instant start{1h};
    detail::IsoEntry low = entry("low", start, -1), high = entry("high", start + 10ms, 3), other = entry("other", start + 20ms, 3);
    queue.push(&low);
    queue.push(&other);
    queue.push(&high);
    EXPECT_EQ(queue.pop(start + 5ms), &low);  // the others are not due
    queue.push(&low);
    EXPECT_EQ(queue.pop(start + 30ms), &high);
    EXPECT_EQ(queue.pop(start + 30ms), &other);
    EXPECT_EQ(queue.pop(start + 30ms), &low);
    EXPECT_EQ(queue.pop(start + 30ms), nullptr);
}

TEST(IsoQueue, BeforeItIsDueATaskGoesToTheWorkerThatRanItLast) {
    detail::IsoQueue queue;
    const Instant start{1h};
    const auto* me = reinterpret_cast<const detail::Worker*>(&queue);  // only compared
    detail::IsoEntry first = entry("first", start + 10ms, 0, 50ms), mine = entry("mine", start + 20ms, 0, 50ms), far = entry("far", start + 200ms, 0, 50ms);
    mine.last_worker = far.last_worker = me;
    for (auto* e : {&first, &mine, &far}) queue.push(e);
    EXPECT_EQ(queue.pop(start, me), &mine);
    EXPECT_EQ(queue.pop(start, me), &first);  // "far" is not worth running yet
    queue.push(&first);
    queue.push(&mine);
    EXPECT_EQ(queue.pop(start + 15ms, me), &first);  // it is due
}

TEST(Lateness, CountsInBucketsAndGivesQuantiles) {
    LatenessCounter counter;
    for (int i = 0; i < 98; ++i) counter.add(-5ms);
    counter.add(3ms);
    counter.add(10s);
    const Lateness read = counter.read();
    EXPECT_EQ(read.total(), 100);
    EXPECT_EQ(read.counts[0], 98);
    EXPECT_EQ(read.counts[2], 1);
    EXPECT_EQ(read.counts.back(), 1);
    EXPECT_DOUBLE_EQ(read.sum, 10.003);
    EXPECT_EQ(read.quantile(0.5), 0.001);
    EXPECT_EQ(read.quantile(0.99), 0.005);
    EXPECT_TRUE(std::isinf(read.quantile(1)));
    EXPECT_EQ(Lateness{}.quantile(0.5), 0);
}

TEST(Share, DecaysAndTheLimitHasHysteresis) {
    detail::Share share;
    Instant now{1h};
    for (int i = 0; i < 4000; ++i) share.add(8ms, now += 10ms, 5s);  // 80 % of the time
    EXPECT_NEAR(share.at(now, 5s), 0.8, 0.01);
    EXPECT_TRUE(detail::over_limit(false, 0.75, 0.70));
    EXPECT_TRUE(detail::over_limit(true, 0.65, 0.70));
    EXPECT_FALSE(detail::over_limit(true, 0.62, 0.70));
    EXPECT_FALSE(detail::over_limit(false, 0.65, 0.70));
    EXPECT_NEAR(share.at(now + 5s, 5s), 0.8 * std::exp(-1), 0.01);
    EXPECT_FALSE(detail::over_limit(false, 1., 1.));  // 100 %: no limit
    EXPECT_TRUE(detail::over_limit(false, 0., 0.));   // 0: always normal
}

TEST(Workers, RunTasksHandlersTimersAndBlockingJobs) {
    Scheduler s({.workers = 2});
    s.start();
    Gate gate;
    std::atomic<int> runs = 0;
    auto task = std::make_shared<Task>("t", [&](Instant now) {
        if (++runs == 5) gate.open();
        return now + 2ms;
    });
    s.add(task, s.time().now());
    s.post([&] { gate.open(); });
    s.after(5ms, [&] { gate.open(); });
    s.blocking([&] { gate.open(); });
    EXPECT_TRUE(gate.wait(4));
    s.remove(*task);
    const int after = runs;
    Gate later;
    s.after(20ms, [&] { later.open(); });
    EXPECT_TRUE(later.wait());
    EXPECT_EQ(runs, after);
}

TEST(Workers, ATaskMayRemoveItselfAndBeWokenWhileItRuns) {
    Scheduler s({.workers = 2});
    s.start();
    Gate gate;
    std::shared_ptr<Task> task;
    int runs = 0;
    task = std::make_shared<Task>("t", [&](Instant now) {
        if (++runs == 1) s.wake(*task, now);  // runs once more
        if (runs == 2) {
            s.remove(*task);
            gate.open();
        }
        return Instant::max();
    });
    s.add(task, s.time().now());
    EXPECT_TRUE(gate.wait());
}

TEST(Workers, AHandlerThatHangsDoesNotHoldTheOthers) {
    Scheduler s({.workers = 2});
    s.start();
    Gate release, gate;
    std::atomic<int> runs = 0;
    auto task = std::make_shared<Task>("t", [&](Instant now) {
        if (++runs == 20) gate.open();
        return now + 5ms;
    });
    s.add(task, s.time().now());
    s.post([&] { release.wait(); });
    EXPECT_TRUE(gate.wait());
    s.post([&] { release.open(); });  // served by the other worker
    Gate last;
    s.post([&] { last.open(); });
    EXPECT_TRUE(last.wait());
    s.remove(*task);
}

TEST(Workers, AHandlerThatHangsWithNothingDueDoesNotHoldTheOthers) {
    Scheduler scheduler({.workers = 2});
    scheduler.start();
    std::this_thread::sleep_for(20ms);  // one waits for sockets, the other for it: nothing is due
    Gate hanging, served;
    std::atomic<bool> release = false;
    scheduler.post([&] {
        hanging.open();
        while (!release) std::this_thread::sleep_for(1ms);
    });
    ASSERT_TRUE(hanging.wait());
    scheduler.post([&] { served.open(); });
    EXPECT_TRUE(served.wait());
    release = true;
}

// What wakes the worker that waits for sockets may be taken by another that is awake: then that one must not keep it for itself.
TEST(Workers, ATaskThatHangsRightAfterTheStartDoesNotHoldTheOthers) {
    for (int round = 0; round < 100; ++round) {
        Gate hanging, served;
        std::atomic<bool> release = false;
        Scheduler scheduler({.workers = 2});   // ends first: its tasks may still be at the gates
        scheduler.start();
        auto bad = std::make_shared<Task>("bad", [&](Instant) {
            hanging.open();
            while (!release) std::this_thread::sleep_for(100us);
            return Instant::max();
        });
        auto good = std::make_shared<Task>("good", [&](Instant) { served.open(); return Instant::max(); });
        const Instant now = system_time().now();
        scheduler.add(bad, now + round * 10us);
        if (round % 2) { ASSERT_TRUE(hanging.wait()); }
        scheduler.add(good, now + round * 10us + 5us);
        EXPECT_TRUE(served.wait());
        release = true;
    }
}

TEST(Workers, HandlersAreServedWhileClocksWantMoreThanThereIs) {
    Scheduler s({.workers = 1, .iso_period = 50ms});
    s.start();
    std::vector<std::shared_ptr<Task>> tasks;
    for (int i = 0; i < 4; ++i) {
        tasks.push_back(std::make_shared<Task>("greedy", [](Instant now) { return spin(2ms), now; }));
        s.add(tasks.back(), s.time().now());
    }
    Gate gate;
    std::function<void(int)> chain = [&](int n) {  // each handler posts the next: all are served in turn
        if (n == 0) return gate.open();
        s.post([&, n] { chain(n - 1); });
    };
    chain(50);
    EXPECT_TRUE(gate.wait());
    for (auto& task : tasks) s.remove(*task);
}

TEST(Workers, AllGreedyTasksGetTheirTurn) {
    Scheduler s({.workers = 2});
    s.start();
    Gate gate;
    std::vector<std::shared_ptr<Task>> tasks;
    std::array<std::atomic<int>, 5> runs{};
    for (auto& count : runs) {
        tasks.push_back(std::make_shared<Task>("greedy", [&](Instant now) {
            spin(1ms);
            if (++count == 10) gate.open();
            return now;
        }));
        s.add(tasks.back(), s.time().now());
    }
    EXPECT_TRUE(gate.wait(5));
    for (auto& task : tasks) s.remove(*task);
}

TEST(Workers, ManyParkedTasksWakeFewThreads) {
    Scheduler s({.workers = 2});
    constexpr int count = 60;
    std::vector<std::shared_ptr<Task>> tasks;
    std::atomic<int> runs = 0;
    Gate gate;
    const Instant start = system_time().now() + 50ms;
    for (int i = 0; i < count; ++i) {
        tasks.push_back(std::make_shared<Task>("clock", [&](Instant now) {
            s.post([] {});  // what a busy worker posts wakes nobody
            if (++runs == count * 10) gate.open();
            return now + 60ms;
        }, 0, 35ms));
        s.add(tasks.back(), start + i * 1ms);
    }
    rusage before{}, after{};
    s.start();
    getrusage(RUSAGE_SELF, &before);
    EXPECT_TRUE(gate.wait());
    getrusage(RUSAGE_SELF, &after);
    for (auto& task : tasks) s.remove(*task);
    // 600 runs: a wakeup each would be 600 and more. A machine that is busy otherwise adds some; ThreadSanitizer many.
    RecordProperty("context_switches", static_cast<int>(after.ru_nvcsw - before.ru_nvcsw));
#ifndef __SANITIZE_THREAD__
    EXPECT_LT(after.ru_nvcsw - before.ru_nvcsw, 150);
#endif
}

TEST(Blocking, ThreadsAreMadeWhenNeededAndBounded) {
    Scheduler s({.workers = 1, .blocking_threads = 3});
    s.start();
    Gate release, all;
    std::atomic<int> running = 0, most = 0;
    for (int i = 0; i < 9; ++i)
        s.blocking([&] {
            most = std::max<int>(most, ++running);
            if (most == 3) release.open();
            release.wait();
            --running;
            all.open();
        });
    EXPECT_TRUE(all.wait(9));
    EXPECT_EQ(most, 3);
}

TEST(Stop, DropsWhatIsPending) {
    auto held = std::make_shared<int>(1);
    {
        Scheduler s({.workers = 2});
        s.start();
        s.after(1h, [held] {});
        s.add(std::make_shared<Task>("t", [held](Instant) { return Instant::max(); }), s.time().now() + 1h);
    }
    EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace castile
