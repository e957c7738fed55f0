#include "sched/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace castile {

std::int64_t Lateness::total() const noexcept {
    std::int64_t all = 0;
    for (const std::int64_t n : counts) all += n;
    return all;
}

double Lateness::quantile(double q) const noexcept {
    const std::int64_t all = total();
    if (all == 0) return 0;
    const auto wanted = static_cast<std::int64_t>(std::ceil(std::clamp(q, 0., 1.) * static_cast<double>(all)));
    std::int64_t seen = 0;
    for (std::size_t i = 0; i < bounds.size(); ++i)
        if ((seen += counts[i]) >= wanted) return bounds[i];
    return std::numeric_limits<double>::infinity();
}

void Lateness::add(const Lateness& other) noexcept {
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += other.counts[i];
    sum += other.sum;
}

// One writer: a plain addition would do, were it not for the readers.
void LatenessCounter::add(Duration late) noexcept {
    const auto increase = [](std::atomic<std::int64_t>& a, std::int64_t by) {
        a.store(a.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
    };
    std::size_t bucket = 0;
    if (late > Duration::zero()) {
        const double seconds = std::chrono::duration<double>(late).count();
        while (bucket < Lateness::bounds.size() && seconds > Lateness::bounds[bucket]) ++bucket;
        increase(sum_, late.count());
    }
    increase(counts_[bucket], 1);
}

Lateness LatenessCounter::read() const noexcept {
    Lateness read;
    for (std::size_t i = 0; i < counts_.size(); ++i) read.counts[i] = counts_[i].load(std::memory_order_relaxed);
    read.sum = 1e-9 * static_cast<double>(sum_.load(std::memory_order_relaxed));
    return read;
}

}  // namespace castile
