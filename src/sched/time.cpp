#include "sched/time.h"

#include <time.h>

namespace castile {

namespace {

class SystemTime final : public TimeSource {
public:
    Instant now() const noexcept override {
        timespec t{};
        clock_gettime(CLOCK_MONOTONIC, &t);
        return Instant(std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec));
    }
    double wall() const noexcept override {
        timespec t{};
        clock_gettime(CLOCK_REALTIME, &t);
        return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
    }
};

}  // namespace

TimeSource& system_time() noexcept {
    static SystemTime time;
    return time;
}

}  // namespace castile
