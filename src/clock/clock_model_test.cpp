// What may be one clock, what paces it, who starts and stops it.

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "base/settings.h"
#include "clock/clock.h"
#include "clock/clock_error.h"
#include "clock/clock_impl.h"
#include "sched/manual_time.h"
#include "sched/scheduler.h"

namespace castile {
namespace {

using namespace std::chrono_literals;

/// A sound card that runs at a rate of its own.
class Card : public SyncSource {
public:
    Card(std::string name, double rate, bool blocking = false) : name_(std::move(name)), rate_(rate), blocking_(blocking) {}
    const std::string& name() const noexcept override { return name_; }
    bool blocks() const noexcept override { return blocking_; }
    Instant due(Instant now) noexcept override {
        if (begin_ == Instant{}) begin_ = now;
        return begin_ + std::chrono::duration_cast<Duration>(std::chrono::duration<double>(0.02 * static_cast<double>(played) / rate_));
    }
    std::int64_t played = 0;

private:
    const std::string name_;
    const double rate_;
    const bool blocking_;
    Instant begin_{};
};

class Player : public Active {
public:
    explicit Player(std::string name, Card* card = nullptr) : card(card), name_(std::move(name)) {}
    void tick() noexcept override {
        ++ticks;
        thread = std::this_thread::get_id();
        Card* playing = card;
        if (!playing) return;
        ++playing->played;
        if (playing->blocks()) std::this_thread::sleep_for(1ms);
    }
    void activate() override { ++activated; if (refuse) throw Error("no such device"); }
    void deactivate() noexcept override { ++deactivated; }
    void collect_sync(SyncUses& uses) noexcept override {
        if (Card* c = card) uses.push_back({c, &name_, &position});
    }
    const std::string& active_name() const noexcept override { return name_; }
    std::atomic<Card*> card;
    std::atomic<int> ticks = 0, activated = 0, deactivated = 0;
    std::atomic<std::thread::id> thread;
    bool refuse = false;
    std::string position = "at radio.liq, line 3";

private:
    const std::string name_;
};

class Model : public ::testing::Test {
protected:
    void SetUp() override { set_stream_parameters({}); set_scheduler(&scheduler_); }
    void TearDown() override { stop_clocks(); set_scheduler(nullptr); }
    void run(Duration d) { scheduler_.run_simulated(time_.now() + d); }
    ManualTime time_;
    Scheduler scheduler_{{}, time_};
};

int conflict(const ClockPtr& a, const ClockPtr& b) {
    try {
        Clock::unify(a, b);
    } catch (const ClockError& e) {
        return e.code();
    }
    return 0;
}

// --- Unification -------------------------------------------------------------------------------------------------------

TEST_F(Model, WhatMayBeOneClock) {
    using enum ClockMode;
    const auto make = [](ClockMode mode) { return Clock::create("", mode); };
    for (const ClockMode mode : {automatic, cpu, unsynchronised, passive}) {
        EXPECT_EQ(conflict(make(automatic), make(mode)), 0);
        EXPECT_EQ(conflict(make(mode), make(automatic)), 0);
        EXPECT_EQ(conflict(make(mode), make(mode)), 0);
    }
    EXPECT_EQ(conflict(make(cpu), make(unsynchronised)), 10);
    EXPECT_EQ(conflict(make(passive), make(cpu)), 10);
    const auto same = make(cpu);
    EXPECT_EQ(conflict(same, same), 0);

    // What runs keeps its mode: one that insists on another cannot join.
    const auto running = make(automatic);
    running->attach(std::make_shared<Player>("running"));
    start_clocks(scheduler_);
    EXPECT_EQ(conflict(make(cpu), running), 10);
    EXPECT_EQ(conflict(make(automatic), running), 0);
}

TEST_F(Model, TheModeOfTheOneThatInsistsHolds) {
    const auto a = Clock::create(), b = Clock::create("b", ClockMode::cpu);
    Clock::unify(b, a);
    EXPECT_EQ(a->mode(), ClockMode::cpu);
    EXPECT_STREQ(a->sync(), "stopped");
    a->attach(std::make_shared<Player>("out"));
    start_clocks(scheduler_);
    EXPECT_STREQ(b->sync(), "cpu");
}

TEST_F(Model, TheHigherPriorityHolds) {
    const auto a = Clock::create(), b = Clock::create();
    b->set_priority(3);
    Clock::unify(a, b);
    EXPECT_EQ(a->priority(), 3);
}

TEST_F(Model, AChildIsNotItsOwner) {
    const auto owner = Clock::create("owner"), child = Clock::create_child(owner, "child"), grandchild = Clock::create_child(child, "grandchild");
    EXPECT_EQ(conflict(owner, child), 11);
    const auto outer = Clock::create("outer", ClockMode::passive), inner = Clock::create_child(outer, "inner");
    EXPECT_EQ(conflict(outer, inner), 11);
    EXPECT_EQ(conflict(child, grandchild), 11);
}

TEST_F(Model, OwnersOfOneChildAreOneClock) {
    const auto a = Clock::create("a"), b = Clock::create("b"), of_a = Clock::create_child(a, ""), of_b = Clock::create_child(b, "");
    EXPECT_EQ(conflict(of_a, of_b), 0);
    EXPECT_EQ(a->root(), b->root());
    const auto c = Clock::create("c", ClockMode::cpu), d = Clock::create("d", ClockMode::unsynchronised);
    EXPECT_EQ(conflict(Clock::create_child(c, ""), Clock::create_child(d, "")), 16);
}

// --- Child clocks ------------------------------------------------------------------------------------------------------

TEST_F(Model, AChildTicksWhenItsOwnerSaysAndForItsOutputsOtherwise) {
    const auto owner = Clock::create("owner"), child = Clock::create_child(owner, "child");
    const auto out = std::make_shared<Player>("out"), side = std::make_shared<Player>("side");
    owner->attach(out);
    child->attach(side);
    start_clocks(scheduler_);
    EXPECT_FALSE(child->running());  // nobody woke it
    child->wake_child();
    EXPECT_TRUE(child->running());
    EXPECT_EQ(owner->sub_clocks(), std::vector{child});
    run(1s);
    EXPECT_EQ(side->ticks, out->ticks);
    EXPECT_EQ(child->tick_count(), owner->tick_count());
    child->sleep_child();
    EXPECT_EQ(side->deactivated, 1);
    EXPECT_TRUE(owner->sub_clocks().empty());
    const int at = side->ticks;
    run(1s);
    EXPECT_EQ(side->ticks, at);
    int pulled = 0;
    child->tick([&] { ++pulled; });
    EXPECT_EQ(pulled, 1);
    EXPECT_NE(dump_clocks().find("· owner"), std::string::npos);
}

// --- What paces it -------------------------------------------------------------------------------------------------------

TEST_F(Model, ACardPacesTheClock) {
    Card card("card", 1.001);
    const auto clock = Clock::create();
    const auto player = std::make_shared<Player>("out", &card);
    clock->attach(player);
    start_clocks(scheduler_);
    run(1000s);
    EXPECT_TRUE(clock->self_sync());
    EXPECT_NEAR(player->ticks, 1001 * 50, 2);
    EXPECT_NE(dump_clocks().find("self_sync: true"), std::string::npos);
}

TEST_F(Model, ItFollowsTheCardAsLongAsItIsThere) {
    Card card("card", 2);  // easily told from real time
    const auto clock = Clock::create();
    const auto player = std::make_shared<Player>("out");
    clock->attach(player);
    start_clocks(scheduler_);
    run(10s);
    EXPECT_FALSE(clock->self_sync());
    EXPECT_NEAR(player->ticks, 500, 6);
    player->card = &card;
    run(10s);
    EXPECT_TRUE(clock->self_sync());
    EXPECT_NEAR(player->ticks, 1500, 12);
    player->card = nullptr;
    run(10s);
    EXPECT_FALSE(clock->self_sync());
    EXPECT_NEAR(player->ticks, 2000, 16);
    EXPECT_EQ(clock_statistics(*clock).catchups, 0);
}

TEST_F(Model, AClockOfTheComputerMindsNoCard) {
    Card card("card", 2);
    const auto clock = Clock::create("", ClockMode::cpu);
    const auto player = std::make_shared<Player>("out", &card);
    clock->attach(player);
    start_clocks(scheduler_);
    run(10s);
    EXPECT_FALSE(clock->self_sync());
    EXPECT_NEAR(player->ticks, 500, 6);
}

TEST_F(Model, TwoCardsInOneClockAreRefused) {
    Card first("alsa", 1), second("pulseaudio", 1);
    const auto clock = Clock::create("studio");
    clock->attach(std::make_shared<Player>("output.alsa", &first));
    clock->attach(std::make_shared<Player>("output.pulseaudio", &second));
    try {
        start_clocks(scheduler_);
        FAIL();
    } catch (const ClockError& e) {
        EXPECT_EQ(e.code(), 17);
        const std::string text = e.what();
        for (const char* part : {"Clock studio has multiple synchronization sources", "self_sync=false", " alsa from source output.alsa, at radio.liq, line 3",
                                 " pulseaudio from source output.pulseaudio", "buffer(id=\"output.pulseaudio.buffer\", s)"})
            EXPECT_NE(text.find(part), std::string::npos) << text;
    }
    EXPECT_NO_THROW(start_clocks(scheduler_));  // it is not tried again and again
    EXPECT_FALSE(clock->running());
}

TEST_F(Model, TwoOutputsOfOneCardAreOneClock) {
    Card card("alsa", 1);
    const auto clock = Clock::create();
    clock->attach(std::make_shared<Player>("a", &card));
    clock->attach(std::make_shared<Player>("b", &card));
    EXPECT_NO_THROW(start_clocks(scheduler_));
}

// --- Start and stop ------------------------------------------------------------------------------------------------------

TEST_F(Model, IsStoppedAndStartedByTheScript) {
    const auto clock = Clock::create("c");
    const auto player = std::make_shared<Player>("out");
    clock->attach(player);
    start_clocks(scheduler_);
    run(1s);
    clock->stop();
    run(1s);
    EXPECT_STREQ(clock->sync(), "stopped");
    EXPECT_EQ(player->deactivated, 1);
    const int at = player->ticks;
    start_clocks(scheduler_);  // some other output was added: this clock stays stopped
    run(1s);
    EXPECT_EQ(player->ticks, at);
    clock->start(scheduler_, false);
    run(1s);
    EXPECT_EQ(player->activated, 2);
    EXPECT_NEAR(player->ticks, at + 50, 6);
}

TEST_F(Model, TenThousandStartsAndStopsLeaveNothing) {
    const auto clock = Clock::create("c");
    const auto player = std::make_shared<Player>("out");
    clock->attach(player);
    const std::size_t clocks = all_clocks().size();
    for (int i = 0; i < 10'000; ++i) {
        clock->start(scheduler_, true);
        run(1ms);
        clock->stop();
        run(1ms);
    }
    EXPECT_EQ(player->activated, 10'000);
    EXPECT_EQ(player->deactivated, 10'000);
    EXPECT_EQ(player.use_count(), 2);
    EXPECT_EQ(all_clocks().size(), clocks);
    EXPECT_TRUE(scheduler_.statistics().tasks.empty());
    for (int i = 0; i < 10'000; ++i) {  // clocks that come and go
        const auto other = Clock::create();
        const auto out = std::make_shared<Player>("short");
        other->attach(out);
        start_clocks(scheduler_);
        run(1ms);
        other->detach(*out);
        run(1ms);
        EXPECT_EQ(out.use_count(), 1);
    }
    EXPECT_EQ(all_clocks().size(), clocks);
    EXPECT_TRUE(scheduler_.statistics().tasks.empty());
}

TEST_F(Model, EndsWithItsLastOutputAndBeginsWithTheNext) {
    const auto clock = Clock::create("c");
    const auto first = std::make_shared<Player>("first"), second = std::make_shared<Player>("second");
    clock->attach(first);
    start_clocks(scheduler_);
    run(1s);
    clock->detach(*first);
    run(1s);
    EXPECT_STREQ(clock->sync(), "stopped");
    clock->attach(second);
    start_clocks(scheduler_);
    run(1s);
    EXPECT_NEAR(second->ticks, 50, 6);
    EXPECT_EQ(clock->tick_count(), first->ticks + second->ticks);
}

TEST_F(Model, APassiveClockTicksWhenAsked) {
    const auto clock = Clock::create("c", ClockMode::passive);
    const auto player = std::make_shared<Player>("out");
    clock->attach(player);
    start_clocks(scheduler_);
    run(1s);
    EXPECT_EQ(player->activated, 0);
    clock->start(scheduler_, true);
    EXPECT_STREQ(clock->sync(), "passive");
    run(1s);
    EXPECT_EQ(player->ticks, 0);
    clock->tick();
    EXPECT_EQ(player->ticks, 1);
    clock->stop();
    EXPECT_EQ(player->deactivated, 1);
    EXPECT_STREQ(clock->sync(), "stopped");
}

TEST_F(Model, ErrorsGoToTheHandlers) {
    const auto clock = Clock::create("c"), other = Clock::create();
    std::vector<std::string> told;
    other->on_error([&](const std::string& message) { told.push_back(message); });
    EXPECT_FALSE(clock->report_error("nobody listens"));
    Clock::unify(clock, other);
    const auto good = std::make_shared<Player>("good"), bad = std::make_shared<Player>("bad");
    bad->refuse = true;
    clock->attach(good);
    start_clocks(scheduler_);
    clock->attach(bad);
    run(1s);
    EXPECT_TRUE(clock->report_error("another"));
    EXPECT_EQ(told, (std::vector<std::string>{"bad: no such device", "another"}));
    EXPECT_GT(good->ticks, 45);
}

TEST_F(Model, CountsWhatWasLate) {
    const auto clock = Clock::create("c");
    clock->attach(std::make_shared<Player>("out"));
    start_clocks(scheduler_);
    run(2s);
    EXPECT_EQ(clock_statistics(*clock).late_ticks, 0);
    time_.advance(1s);
    run(10ms);
    const ClockStatistics s = clock_statistics(*clock);
    EXPECT_NEAR(static_cast<double>(s.late_ticks), 46, 4);
    EXPECT_NEAR(s.catchup_seconds, 0.92, 0.1);
    EXPECT_EQ(s.catchups, 1);
    EXPECT_NEAR(static_cast<double>(s.lateness.counts[9]), 21, 3);  // half a second to a second: each frame made 20 ms of it up
    EXPECT_EQ(s.lateness.total(), s.ticks);
    EXPECT_NEAR(s.lateness.sum, 46 * 0.46, 1.5);
    EXPECT_EQ(s.id, "c");
    EXPECT_EQ(s.sync, "auto");
    EXPECT_DOUBLE_EQ(s.lead, 0.1);
    EXPECT_EQ(all_clock_statistics().size(), 1u);
}

// --- The lead ------------------------------------------------------------------------------------------------------------

class Patient : public Player {
public:
    Patient(std::string name, bool patient) : Player(std::move(name)), patient(patient) {}
    bool tolerates_lead() noexcept override { return patient; }
    bool patient;
};

TEST_F(Model, TheLeadGrowsOnABusyWorkerWhenAllOutputsAllow) {
    const auto calm = Clock::create(), hurried = Clock::create();
    const auto a = std::make_shared<Patient>("a", true), b = std::make_shared<Patient>("b", true), c = std::make_shared<Patient>("c", false);
    calm->attach(a);
    hurried->attach(b);
    hurried->attach(c);
    start_clocks(scheduler_);
    const auto lead = [](const ClockPtr& clock) { return clock_statistics(*clock).lead; };
    run(10s);
    EXPECT_DOUBLE_EQ(lead(calm), 0.1);  // nothing to win
    assumed_worker_share = 0.8;
    run(10s);
    EXPECT_NEAR(lead(calm), 0.5, 0.03);
    EXPECT_DOUBLE_EQ(lead(hurried), 0.1);
    EXPECT_GE(a->ticks, c->ticks);
    c->patient = true;
    run(10s);
    EXPECT_NEAR(lead(hurried), 0.5, 0.03);
    b->patient = false;
    run(1s);
    EXPECT_DOUBLE_EQ(lead(hurried), 0.1);
    assumed_worker_share = 0;
    run(20s);
    EXPECT_NEAR(lead(calm), 0.1, 0.03);
    assumed_worker_share = -1;
    EXPECT_EQ(clock_statistics(*calm).late_ticks + clock_statistics(*hurried).late_ticks, 0);
}

// --- Devices that block ------------------------------------------------------------------------------------------------

TEST(Blocking, ADeviceThatBlocksHasAThreadOfItsOwn) {
    set_stream_parameters({});
    Scheduler scheduler({.workers = 1, .iso_period = 100ms});
    set_scheduler(&scheduler);
    scheduler.start();
    Card card("card", 1, true);
    const auto clock = Clock::create(), other = Clock::create();
    const auto player = std::make_shared<Player>("out", &card), usual = std::make_shared<Player>("usual");
    clock->attach(player);
    other->attach(usual);
    start_clocks(scheduler);
    const auto wait = [](auto condition) {
        for (int i = 0; i < 5000 && !condition(); ++i) std::this_thread::sleep_for(2ms);
        return condition();
    };
    EXPECT_TRUE(wait([&] { return player->ticks > 300 && usual->ticks > 3; }));
    EXPECT_NE(player->thread.load(), usual->thread.load());
    EXPECT_TRUE(clock->self_sync());
    EXPECT_LT(clock_statistics(*clock).share, 0.5);   // to wait for the card is no work
    EXPECT_LT(clock_statistics(*clock).busy, 0.5 * 0.001 * player->ticks);
    EXPECT_FALSE(clock_statistics(*clock).kernel.empty());
    EXPECT_TRUE(clock_statistics(*other).kernel.empty());
    player->card = nullptr;
    EXPECT_TRUE(wait([&] { return player->thread.load() == usual->thread.load(); }));
    EXPECT_FALSE(clock->self_sync());
    player->card = &card;
    EXPECT_TRUE(wait([&] { return player->thread.load() != usual->thread.load(); }));
    stop_clocks();
    EXPECT_EQ(player->deactivated, 1);
    scheduler.stop();
    set_scheduler(nullptr);
}

}  // namespace
}  // namespace castile
