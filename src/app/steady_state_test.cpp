// Whole scripts in simulated time: what runs in steady state allocates nothing, and what comes and goes leaves nothing behind.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "app/run.h"
#include "base/log.h"
#include "base/test_allocations.h"
#include "clock/clock.h"
#include "codec/test_media.h"
#include "lang/engine.h"
#include "outputs/file_queue.h"
#include "request/request.h"
#include "sched/manual_time.h"
#include "sched/scheduler.h"
#include "source/source.h"

namespace castile {
namespace {

using namespace std::chrono_literals;

std::int16_t sine(int i, int) { return static_cast<std::int16_t>(10000 * std::sin(i * 0.1)); }

class Scripts : public ::testing::Test {
protected:
    void SetUp() override {
        configure_log({LogLevel::severe, false, ""});
        set_stream_parameters({});
        set_scheduler(&scheduler_);
    }
    void TearDown() override {
        stop_clocks();
        run(0s);
        EXPECT_TRUE(wait_for_files(0s));
        set_scheduler(nullptr);
    }
    void start(const std::string& script) {
        static auto* engine = new lang::Engine(app::engine_options({}));  // a process has one
        std::vector<lang::Diagnostic> warnings;
        engine->run_script("test.liq", script, warnings);
        start_clocks(scheduler_);
    }
    void run(Duration d) { scheduler_.run_simulated(time_.now() + d); }

    /// Live blocks and objects, after each of `rounds` times `length`.
    struct Count { long blocks, bytes; std::size_t sources, requests; };
    Count count() const { return {test::live_blocks, test::live_bytes, all_sources().size(), all_requests().size()}; }
    /// Runs `length` three times; after the first (which fills pools and names) nothing may be added.
    void expect_flat(Duration length, long blocks = 0) {
        run(length);
        const Count first = count();
        run(length);
        const Count second = count();
        run(length);
        const Count third = count();
        EXPECT_EQ(third.sources, first.sources);
        EXPECT_LE(third.requests, first.requests + (blocks > 0));
        EXPECT_LE(third.blocks - second.blocks, blocks) << first.blocks << " " << second.blocks << " " << third.blocks;
        EXPECT_LE(second.blocks - first.blocks, blocks + 50) << first.blocks << " " << second.blocks << " " << third.blocks;
    }

    TemporaryFolder folder_;
    ManualTime time_;
    Scheduler scheduler_{{}, time_};
};

// One frame at a time, 20 s. Every two seconds what was encoded is handed over to the disk's thread, which takes three blocks.
TEST_F(Scripts, APlainChainAllocatesNothing) {
    write_wav(folder_.path("x.wav"), 44100, 2, 44100 * 60, sine);
    start(fmt::format(R"(
        radio = fallback([amplify(0.8, single("{}")), blank()])
        output.file(%mp3, "/dev/null", radio)
        output.dummy(radio)
    )", folder_.path("x.wav")));
    run(8s);
    int allocating = 0;
    long most = 0;
    for (int tick = 0; tick < 1000; ++tick) {
        const long before = test::thread_allocations;
        run(20ms);
        const long made = test::thread_allocations - before;
        allocating += made > 0;
        most = std::max(most, made);
    }
    EXPECT_LE(allocating, 10);
    EXPECT_LE(most, 3);
}

TEST_F(Scripts, ATrackLeavesNothingBehind) {
    for (const char* name : {"a.wav", "b.wav", "c.wav"}) write_wav(folder_.path(name), 44100, 2, 4410, sine);
    start(fmt::format(R"(
        changes = ref(0)
        radio = mksafe(playlist("{}"))
        radio.on_track(fun (_) -> changes := changes() + 1)
        radio.on_metadata(synchronous=true, fun (m) -> ignore(m["title"]))
        output.file(%mp3, "/dev/null", radio)
    )", folder_.path("")));
    expect_flat(20s);
}

TEST_F(Scripts, ARequestLeavesNothingBehind) {
    write_wav(folder_.path("a.wav"), 44100, 2, 4410, sine);
    start(fmt::format(R"(
        queue = request.queue()
        thread.run(every=0.3, fun () -> queue.push.uri("annotate:title=\"x\":{}"))
        thread.run(every=0.7, fun () -> ignore(request.resolve(request.create("/nowhere/at/all.mp3"))))
        output.dummy(mksafe(queue))
    )", folder_.path("a.wav")));
    expect_flat(42s, 40);
}

TEST_F(Scripts, ATransitionLeavesNothingBehind) {
    write_wav(folder_.path("a.wav"), 44100, 2, 44100 * 5, sine);
    start(fmt::format(R"(
        odd = ref(false)
        thread.run(every=0.5, fun () -> odd := not odd())
        def through(old, new) = add([old, new]) end
        radio = switch(track_sensitive=false, transitions=[through, through], [(odd, single("{0}")), ({{true}}, single("{0}"))])
        output.dummy(mksafe(radio))
    )", folder_.path("a.wav")));
    expect_flat(30s);
}

}  // namespace
}  // namespace castile
