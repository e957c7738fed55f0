#pragma once
// The isochronous queue: parked tasks by deadline, and the decaying shares that the limit is held against.

#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "sched/scheduler.h"

namespace castile::detail {

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

/// Above the limit -> true, and true until under 90 % of it.
inline bool over_limit(bool was_over, double share, double limit) noexcept { return share > (was_over ? 0.9 * limit : limit); }

struct IsoEntry {
    std::shared_ptr<IsoTask> task;
    Instant deadline{};
    Instant rerun = Instant::max();  ///< a wake() that came while it ran
    std::uint64_t sequence = 0;      ///< first come, first served among equals
    Share share;                     ///< of one worker
    bool running = false, removed = false;
    bool normal = false;             ///< queues as normal work: not isochronous, or over the limit by itself
};

/// A heap by deadline; ties go to the higher priority, then to the longer waiting. Guarded by the scheduler's mutex.
class IsoQueue {
public:
    void push(IsoEntry* entry);
    void erase(IsoEntry* entry) noexcept;
    void update(IsoEntry* entry, Instant deadline) noexcept;  ///< of an entry that is in the queue
    IsoEntry* top() const noexcept { return heap_.empty() ? nullptr : heap_.front(); }
    Instant earliest() const noexcept { return heap_.empty() ? Instant::max() : heap_.front()->deadline; }
    /// Takes the first by deadline; when the first is already `overload` late, the due one of the highest priority.
    IsoEntry* pop(Instant now, Duration overload) noexcept;
    std::size_t size() const noexcept { return heap_.size(); }

private:
    static bool later(const IsoEntry* a, const IsoEntry* b) noexcept;
    std::vector<IsoEntry*> heap_;
    std::uint64_t next_sequence_ = 0;
};

}  // namespace castile::detail
