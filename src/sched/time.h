#pragma once
// Time as an interface: CLOCK_MONOTONIC in production, moved by hand in tests and simulations.

#include <chrono>

namespace castile {

struct EngineTime {
    using rep = std::chrono::nanoseconds::rep;
    using period = std::chrono::nanoseconds::period;
    using duration = std::chrono::nanoseconds;
    using time_point = std::chrono::time_point<EngineTime>;
    static constexpr bool is_steady = true;
};
using Instant = EngineTime::time_point;
using Duration = EngineTime::duration;
using std::chrono::milliseconds;

class TimeSource {
public:
    virtual ~TimeSource() = default;
    virtual Instant now() const noexcept = 0;
    /// Wall clock, seconds since the epoch (moves with now() in simulated time).
    virtual double wall() const noexcept = 0;
    /// True when time is moved by hand: the scheduler then runs everything on the caller's thread, in deadline order.
    virtual bool simulated() const noexcept { return false; }
};

/// CLOCK_MONOTONIC and CLOCK_REALTIME.
TimeSource& system_time() noexcept;

}  // namespace castile
