#include "sched/kernel_service.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <thread>

namespace castile {
namespace {

using namespace std::chrono_literals;
using enum KernelService;

pid_t self() { return static_cast<pid_t>(syscall(SYS_gettid)); }
int policy(pid_t id) { return sched_getscheduler(id) & ~SCHED_RESET_ON_FORK; }

/// On a thread of its own: what is asked here must not stay.
template <class F> void on_a_thread(F f) { std::thread(f).join(); }

TEST(KernelService, Words) {
    EXPECT_EQ(kernel_services("none"), std::vector<KernelService>{});
    EXPECT_EQ(kernel_services("slice"), std::vector{slice});
    EXPECT_EQ(kernel_services("auto", false), (std::vector{rr, fifo, rtkit, slice, nice}));
    EXPECT_EQ(kernel_services("auto", true), (std::vector{ext, rr, fifo, rtkit, slice, nice}));
    EXPECT_EQ(kernel_services("ext", false), std::vector{ext});
    EXPECT_FALSE(kernel_services("fastest"));
}

TEST(KernelService, NothingIsAskedAndNothingChanges) {
    on_a_thread([] {
        const KernelThread thread(self(), {}, {});
        EXPECT_EQ(thread.service(), none);
        EXPECT_EQ(thread.description(), "none");
        EXPECT_EQ(policy(self()), SCHED_OTHER);
    });
}

TEST(KernelService, ARefusalIsToldAndTheNextIsTried) {
    on_a_thread([] {
        const KernelThread thread(0x7ffffff0, {rr, slice}, {});  // there is no such thread
        EXPECT_EQ(thread.service(), none);
        EXPECT_NE(thread.refusals().find("SCHED_RR: "), std::string::npos) << thread.refusals();
        EXPECT_NE(thread.refusals().find("; slice: "), std::string::npos) << thread.refusals();
    });
}

TEST(KernelService, RealTimeIsLostAboveTheLimitAndComesBack) {
    on_a_thread([] {
        KernelThread thread(self(), {rr}, {.limit = 0.5, .period = 100ms});
        if (thread.service() != rr) GTEST_SKIP() << thread.refusals();
        EXPECT_EQ(policy(self()), SCHED_RR);
        std::thread([] { EXPECT_EQ(policy(self()), SCHED_OTHER); }).join();  // helpers do not inherit it
        Instant now = system_time().now();
        for (int i = 0; i < 20 && !thread.lost(); ++i) thread.account(10ms, now += 10ms);
        EXPECT_TRUE(thread.lost());
        EXPECT_EQ(policy(self()), SCHED_OTHER);
        thread.account(0ms, now += 500ms);
        EXPECT_TRUE(thread.lost());  // not at once
        thread.account(0ms, now += 2s);
        EXPECT_FALSE(thread.lost());
        EXPECT_EQ(policy(self()), SCHED_RR);
    });
}

TEST(KernelService, AThreadThatNeverPausesLosesRealTime) {
    on_a_thread([] {
        KernelThread thread(self(), {rr}, {.limit = 0.7});
        if (thread.service() != rr) GTEST_SKIP() << thread.refusals();
        const Instant end = system_time().now() + 5s;
        while (policy(self()) == SCHED_RR && system_time().now() < end) {
        }
        EXPECT_EQ(policy(self()), SCHED_OTHER);
        thread.account(1ms, system_time().now());
        EXPECT_TRUE(thread.lost());
    });
}

TEST(KernelService, ItIsGivenBack) {
    on_a_thread([] {
        { const KernelThread thread(self(), {rr, fifo, nice}, {}); }
        EXPECT_EQ(policy(self()), SCHED_OTHER);
    });
}

}  // namespace
}  // namespace castile
