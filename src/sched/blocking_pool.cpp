#include "sched/blocking_pool.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "base/log.h"
#include "sched/kernel_service.h"

namespace castile::detail {

namespace {
constexpr auto idle_time = std::chrono::seconds(30);
constexpr auto stop_time = std::chrono::milliseconds(300);  // a job that a peer or a command holds up does not hold up the end
}  // namespace

struct BlockingPool::State {
    std::mutex jobs_mutex;  // guards everything below
    std::condition_variable work, ended;
    std::deque<std::function<void()>> jobs;
    unsigned most = 1, threads = 0, idle = 0;
    bool stopping = false;

    void run() noexcept;
};

void BlockingPool::State::run() noexcept {
    leave_kernel_service();   // a worker may have made this thread
    std::unique_lock lock(jobs_mutex);
    while (!stopping) {
        if (jobs.empty()) {
            ++idle;
            const bool woken = work.wait_for(lock, idle_time, [this] { return stopping || !jobs.empty(); });
            --idle;
            if (!woken) break;
            continue;
        }
        std::function<void()> job = std::move(jobs.front());
        jobs.pop_front();
        lock.unlock();
        try {
            job();
        } catch (const std::exception& e) {
            log_line(LogLevel::severe, "scheduler", fmt::format("A blocking job failed: {}", e.what()));
        } catch (...) {
            log_line(LogLevel::severe, "scheduler", "A blocking job failed.");
        }
        job = nullptr;
        lock.lock();
    }
    --threads;
    ended.notify_all();
}

BlockingPool::BlockingPool(unsigned most) : state_(std::make_shared<State>()) { state_->most = most > 0 ? most : 1; }

BlockingPool::~BlockingPool() { stop(); }

void BlockingPool::submit(std::function<void()> job) {
    std::lock_guard lock(state_->jobs_mutex);
    if (state_->stopping) return;
    state_->jobs.push_back(std::move(job));
    if (state_->idle < state_->jobs.size() && state_->threads < state_->most) {
        std::thread([state = state_] { state->run(); }).detach();  // joined by counting: see stop()
        ++state_->threads;
    }
    state_->work.notify_one();
}

void BlockingPool::stop() noexcept {
    std::unique_lock lock(state_->jobs_mutex);
    if (state_->stopping) return;
    state_->stopping = true;
    state_->jobs.clear();
    state_->work.notify_all();
    if (!state_->ended.wait_for(lock, stop_time, [this] { return state_->threads == 0; }))
        log_line(LogLevel::important, "scheduler", fmt::format("{} blocking jobs do not end: left behind.", state_->threads));
}

}  // namespace castile::detail
