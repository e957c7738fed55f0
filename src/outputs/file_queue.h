#pragma once
// File work of an output: in order, off the clock, on the blocking pool.

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "sched/time.h"

namespace castile {

/// Jobs that run one at a time, in the order they were pushed, on the blocking pool. An idle queue costs nothing; a burst
/// of pushes wakes one thread once. A hung disk stops this queue only.
class FileQueue : public std::enable_shared_from_this<FileQueue> {
public:
    using Job = std::function<void()>;
    static std::shared_ptr<FileQueue> create();

    /// Any thread; never waits for a file. `bytes`: what the jobs will write, for pending().
    void push(std::vector<Job> jobs, std::size_t bytes) noexcept;
    /// Bytes pushed and not yet dealt with: the caller drops data rather than let this grow.
    std::size_t pending() const noexcept;

private:
    FileQueue() = default;
    void drain() noexcept;

    struct Batch {
        std::vector<Job> jobs;
        std::size_t bytes;
    };
    mutable std::mutex batches_mutex_;  // guards what follows
    std::deque<Batch> batches_;
    std::size_t pending_ = 0;
    bool draining_ = false;
};

/// Waits until every queue is empty, at most `limit`; false when some file is still not finished. For the end of the
/// process, after the outputs were stopped and before the scheduler is.
bool wait_for_files(Duration limit) noexcept;

}  // namespace castile
