// One thread that wakes every period and works for a part of it, in one scheduling class: how late is it, and how often is the
// work not done when the next period begins?   iso_cycle CLASS PERIOD_US WORK_PERCENT COUNT   prints one line of JSON.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <vector>

#include "classes.h"

namespace {

long long read_clock(clockid_t clock) {
    timespec t{};
    clock_gettime(clock, &t);
    return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5) {
        std::fprintf(stderr, "usage: iso_cycle CLASS PERIOD_US WORK_PERCENT COUNT\n");
        return 2;
    }
    const double microseconds = std::atof(argv[2]), percent = std::atof(argv[3]);
    const long count = std::atol(argv[4]);
    if (!(microseconds >= 50 && microseconds <= 1e6) || !(percent >= 0 && percent <= 100) || count < 1 || count > 100'000'000) {
        std::fprintf(stderr, "iso_cycle: a period of 50 to 1000000 us, work of 0 to 100 %%, 1 to 100000000 periods\n");
        return 2;
    }
    if (const std::string refused = bench::set_class(0, argv[1]); !refused.empty()) {
        std::fprintf(stderr, "%s: %s\n", argv[1], refused.c_str());
        return 3;
    }
    const long long period = static_cast<long long>(microseconds * 1000), work = static_cast<long long>(microseconds * percent * 10);
    std::vector<float> woken;   // how late, microseconds
    woken.reserve(static_cast<std::size_t>(count));
    long late = 0, missed = 0;
    long long due = read_clock(CLOCK_MONOTONIC) + period;
    for (long i = 0; i < count; ++i) {
        const timespec until{static_cast<time_t>(due / 1'000'000'000), static_cast<long>(due % 1'000'000'000)};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
        const long long delay = read_clock(CLOCK_MONOTONIC) - due;
        woken.push_back(static_cast<float>(delay) / 1000);
        late += delay > period;
        const long long end = read_clock(CLOCK_THREAD_CPUTIME_ID) + work;   // its own time: to be preempted is no work
        while (read_clock(CLOCK_THREAD_CPUTIME_ID) < end) {
        }
        const long long done = read_clock(CLOCK_MONOTONIC);
        due += period;
        missed += done > due;
        if (done > due + period) due += (done - due) / period * period;   // what it missed is not made up for
    }
    double sum = 0;
    for (const float w : woken) sum += static_cast<double>(w);
    std::sort(woken.begin(), woken.end());
    std::printf("{\"class\": \"%s\", \"periods\": %ld, \"mean_us\": %.1f, \"p99_us\": %.1f, \"max_us\": %.1f, \"late\": %ld, \"missed\": %ld}\n", argv[1], count,
                sum / static_cast<double>(count), static_cast<double>(woken[woken.size() * 99 / 100]), static_cast<double>(woken.back()), late, missed);
}
