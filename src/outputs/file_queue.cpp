#include "outputs/file_queue.h"

#include <condition_variable>
#include <exception>

#include "base/log.h"
#include "sched/scheduler.h"

namespace castile {

namespace {

/// How many queues have work, for wait_for_files.
struct Busy {
    std::mutex count_mutex;
    std::condition_variable idle;
    int count = 0;

    void add(int change) {
        std::lock_guard lock(count_mutex);
        count += change;
        if (count == 0) idle.notify_all();
    }
};

Busy& busy() {
    static Busy* all = new Busy;  // outlives whatever still writes at exit
    return *all;
}

}  // namespace

std::shared_ptr<FileQueue> FileQueue::create() { return std::shared_ptr<FileQueue>(new FileQueue); }

void FileQueue::push(std::vector<Job> jobs, std::size_t bytes) noexcept {
    if (jobs.empty()) return;
    try {
        {
            std::lock_guard lock(batches_mutex_);
            batches_.push_back({std::move(jobs), bytes});
            pending_ += bytes;
            if (draining_) return;
            draining_ = true;
        }
        busy().add(1);
        scheduler().blocking([self = shared_from_this()] { self->drain(); });
    } catch (const std::exception& error) {
        log_line(LogLevel::severe, "file", error.what());
    }
}

std::size_t FileQueue::pending() const noexcept {
    std::lock_guard lock(batches_mutex_);
    return pending_;
}

void FileQueue::drain() noexcept {
    for (;;) {
        Batch batch;
        {
            std::lock_guard lock(batches_mutex_);
            if (batches_.empty()) {
                draining_ = false;
                break;
            }
            batch = std::move(batches_.front());
            batches_.pop_front();
        }
        for (Job& job : batch.jobs) {
            try {
                job();
            } catch (const std::exception& error) {
                log_line(LogLevel::severe, "file", error.what());
            }
        }
        std::lock_guard lock(batches_mutex_);
        pending_ -= batch.bytes;
    }
    busy().add(-1);
}

bool wait_for_files(Duration limit) noexcept {
    std::unique_lock lock(busy().count_mutex);
    return busy().idle.wait_for(lock, limit, [] { return busy().count == 0; });
}

}  // namespace castile
