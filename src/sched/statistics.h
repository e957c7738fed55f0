#pragma once
// What the scheduler and the clocks have done, as numbers: for scheduler.stats(), the server and /metrics.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sched/time.h"

namespace castile {

/// A histogram of lateness, as read.
struct Lateness {
    /// Upper bounds of the buckets, in seconds; behind them one more for what is later.
    static constexpr std::array<double, 12> bounds{0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5};
    std::array<std::int64_t, bounds.size() + 1> counts{};  ///< not cumulative; on time counts in the first
    double sum = 0;                                        ///< seconds

    std::int64_t total() const noexcept;
    double quantile(double q) const noexcept;  ///< Upper bound of its bucket in seconds; infinity beyond the last, 0 when empty.
    void add(const Lateness& other) noexcept;
};

/// Its counters. One thread at a time adds; any thread reads.
class LatenessCounter {
public:
    void add(Duration late) noexcept;  ///< Negative: on time.
    Lateness read() const noexcept;

private:
    std::array<std::atomic<std::int64_t>, Lateness::bounds.size() + 1> counts_{};
    std::atomic<std::int64_t> sum_ = 0;  // nanoseconds
};

struct WorkerStatistics {
    unsigned index = 0;
    std::string service;            ///< what the kernel gives it: "SCHED_RR 5", "none", ...
    bool service_lost = false;      ///< it runs as normal work for now, being over the limit
    std::int64_t runs = 0;          ///< of clocks
    std::int64_t late_runs = 0;     ///< that began after their deadline by 1 ms or more
    Lateness lateness;              ///< from the deadline to the begin of the run
    double share = 0;               ///< of its time that isochronous runs have (average over iso_period), 0 to 1
    bool over_limit = false;        ///< its isochronous entries queue with normal work
    std::int64_t demotions = 0;     ///< how often that began
    double clock_seconds = 0;       ///< spent in clocks
    double handler_seconds = 0;     ///< spent in normal work
};

/// Of one task (a clock) that the scheduler runs.
struct TaskStatistics {
    std::string name;
    int priority = 0;
    double share = 0;               ///< of one worker, as above
    bool demoted = false;           ///< it alone queues with normal work
    std::int64_t demotions = 0;
};

struct SchedulerStatistics {
    std::string kernel;             ///< the service that workers got, in words
    double iso_cpu = 0;             ///< 0 to 1
    double iso_period = 0;          ///< seconds
    std::int64_t pauses = 0;        ///< how often the whole process did not run for a second or more
    double paused_seconds = 0;
    std::vector<WorkerStatistics> workers;
    std::vector<TaskStatistics> tasks;
};

}  // namespace castile
