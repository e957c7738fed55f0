#pragma once
// Time moved by hand, for tests and simulations.

#include "sched/time.h"

namespace castile {

/// Starts at one hour of monotonic time (so that nothing is at instant 0) and at the wall clock given. One thread.
class ManualTime final : public TimeSource {
public:
    explicit ManualTime(double wall = 1'700'000'000.0) noexcept : wall_(wall) {}
    Instant now() const noexcept override { return now_; }
    double wall() const noexcept override { return wall_ + std::chrono::duration<double>(now_ - start).count(); }
    bool simulated() const noexcept override { return true; }

    /// Forward only: an earlier instant changes nothing.
    void advance_to(Instant when) noexcept {
        if (when > now_) now_ = when;
    }
    void advance(Duration by) noexcept { advance_to(now_ + by); }

private:
    static constexpr Instant start{std::chrono::hours(1)};
    double wall_;
    Instant now_ = start;
};

}  // namespace castile
