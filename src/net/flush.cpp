// The process's list of outputs with something to send, and its timer.

#include "net/flush.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <mutex>
#include <vector>

#include "sched/scheduler.h"

namespace castile {

namespace asio = boost::asio;

namespace {

constexpr std::size_t flushes_per_handler = 32;  // then the worker gets to look at its clocks again

/// One per io_context (tests make several); it lives as long as that, as the timer's owner.
class FlushService final : public asio::execution_context::service {
public:
    using key_type = FlushService;
    inline static asio::execution_context::id id;
    explicit FlushService(asio::execution_context& context)
        : service(context), timer_(static_cast<asio::io_context&>(context)) {}

    void add(std::shared_ptr<Flushable> object) {
        std::lock_guard lock(list_mutex_);
        waiting_.push_back(std::move(object));
        if (armed_) return;
        armed_ = true;
        arm();
    }

private:
    void arm() {  // list_mutex_ held
        if (Scheduler::on_worker()) return asio::post(timer_.get_executor(), [this] { run(); });
        timer_.expires_after(flush_interval);
        timer_.async_wait([this](boost::system::error_code error) {
            if (!error) run();
        });
    }

    void run() {
        {
            std::lock_guard lock(list_mutex_);
            // A new round begins when the old one is through, so an object is never flushed by two threads at once.
            std::swap(waiting_, running_);
            next_ = 0;
        }
        some();
    }

    void some() {
        for (std::size_t i = 0; i < flushes_per_handler && next_ < running_.size(); ++i) {
            running_[next_]->flush();
            running_[next_++].reset();
        }
        if (next_ < running_.size()) {
            asio::post(timer_.get_executor(), [this] { some(); });
            return;
        }
        running_.clear();
        std::lock_guard lock(list_mutex_);
        armed_ = !waiting_.empty();
        if (armed_) arm();
    }

    void shutdown() override {
        std::lock_guard lock(list_mutex_);
        waiting_.clear();
        running_.clear();
    }

    std::mutex list_mutex_;
    std::vector<std::shared_ptr<Flushable>> waiting_, running_;
    std::size_t next_ = 0;
    bool armed_ = false;
    asio::steady_timer timer_;
};

}  // namespace

void flush_soon(std::shared_ptr<Flushable> object) noexcept {
    try {
        asio::use_service<FlushService>(scheduler().io()).add(std::move(object));
    } catch (...) {  // out of memory: the bytes go with the next request
    }
}

}  // namespace castile
