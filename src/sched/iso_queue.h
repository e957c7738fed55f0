#pragma once
// The isochronous queue: parked tasks by deadline, and the decaying shares that the limit is held against.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "sched/scheduler.h"

namespace castile::detail {

struct Worker;

/// The part of its time that something was busy: an average that decays over a period. Not thread-safe.
class Share {
public:
    void add(Duration busy, Instant now, Duration period) noexcept {
        decay(now, period);
        value_ = std::min(1.0, value_ + seconds(busy) / seconds(period));
    }
    double at(Instant now, Duration period) noexcept {
        decay(now, period);
        return value_;
    }
    void begin(double value, Instant now) noexcept {
        value_ = value;
        updated_ = now;
    }
    void subtract(double part) noexcept { value_ = std::max(0., value_ - part); }

private:
    static double seconds(Duration d) noexcept { return std::chrono::duration<double>(d).count(); }
    void decay(Instant now, Duration period) noexcept {
        if (now <= updated_) return;
        value_ *= std::exp(-seconds(now - updated_) / seconds(period));
        updated_ = now;
    }
    double value_ = 0;
    Instant updated_{};
};

/// Above the limit -> true, and true until under 90 % of it. A limit of 1 is none; of 0, nothing is ever under it.
inline bool over_limit(bool was_over, double share, double limit) noexcept {
    if (limit >= 1.) return false;
    return limit <= 0. || share > (was_over ? 0.9 * limit : limit);
}

struct IsoEntry {
    std::shared_ptr<IsoTask> task;
    Instant deadline{};              ///< its place in the queue
    Instant rerun = Instant::max();  ///< a wake() that came while it ran
    std::uint64_t sequence = 0;      ///< first come, first served among equals
    int priority = 0;                ///< the task's, when it was queued
    const Worker* last_worker = nullptr;
    Share share;                     ///< of one worker
    double limit = 0;                ///< what its share was held against when it was demoted
    std::int64_t demotions = 0;
    Instant logged{};                ///< when the log last told of that
    bool reported = false;           ///< demoted, says the log
    bool running = false, removed = false;
    bool demoted = false;            ///< over the limit by itself
    bool normal = false;             ///< queues as normal work: demoted, or not isochronous
};

/// A heap by deadline; ties go to the longer waiting. Guarded by the scheduler's mutex.
class IsoQueue {
public:
    void push(IsoEntry* entry);
    void erase(IsoEntry* entry) noexcept;
    void update(IsoEntry* entry, Instant deadline) noexcept;  ///< of an entry that is in the queue
    IsoEntry* top() const noexcept { return heap_.empty() ? nullptr : heap_.front(); }
    Instant earliest() const noexcept { return heap_.empty() ? Instant::max() : heap_.front()->deadline; }
    /// Takes one: of those that are due the one of the highest priority, and of these the first. When none is due yet: the
    /// first, or, of several that are worth running now, one that `worker` ran last (its data may still be in the cache).
    IsoEntry* pop(Instant now, const Worker* worker = nullptr) noexcept;
    std::size_t size() const noexcept { return heap_.size(); }

private:
    static bool later(const IsoEntry* a, const IsoEntry* b) noexcept;
    std::vector<IsoEntry*> heap_;
    std::size_t with_priority_ = 0;  ///< entries whose priority is not 0
    std::uint64_t next_sequence_ = 0;
};

}  // namespace castile::detail
