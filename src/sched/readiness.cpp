#include "sched/readiness.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <chrono>
#include <memory>
#include <mutex>
#include <utility>

namespace castile {

namespace {

namespace asio = boost::asio;

/// Whichever of the event and the timer is first answers.
struct Wait {
    Wait(asio::io_context& io, std::function<void(bool)> f) : descriptor(io), done(std::move(f)) {}

    void answer(bool ready) {
        std::function<void(bool)> f;
        std::function<void()> cancel;
        {
            std::lock_guard lock(wait_mutex);
            f = std::exchange(done, nullptr);
            cancel = std::exchange(cancel_timer, nullptr);
            boost::system::error_code ignored;
            descriptor.close(ignored);
        }
        if (cancel) cancel();
        if (f) f(ready);
    }

    std::mutex wait_mutex;
    asio::posix::stream_descriptor descriptor;
    std::function<void(bool)> done;
    std::function<void()> cancel_timer;
};

}  // namespace

void when_ready(Scheduler& scheduler, int descriptor, bool writing, std::optional<Duration> limit, std::function<void(bool)> done) {
    if (scheduler.time().simulated()) {
        pollfd look{descriptor, static_cast<short>(writing ? POLLOUT : POLLIN), 0};
        const auto most = std::chrono::milliseconds(1000);
        const auto wait = limit ? std::min(most, std::chrono::duration_cast<std::chrono::milliseconds>(*limit)) : most;
        const bool ready = poll(&look, 1, static_cast<int>(wait.count())) > 0;
        return scheduler.post([done = std::move(done), ready] { done(ready); });
    }
    auto wait = std::make_shared<Wait>(scheduler.io(), std::move(done));
    boost::system::error_code error;
    const int own = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    if (own >= 0) wait->descriptor.assign(own, error);
    if (own < 0 || error) {   // regular files are always ready
        if (own >= 0) close(own);
        return scheduler.post([wait] { wait->answer(true); });
    }
    {
        std::lock_guard lock(wait->wait_mutex);
        if (limit) wait->cancel_timer = scheduler.after(*limit, [wait] { wait->answer(false); });
        wait->descriptor.async_wait(writing ? asio::posix::stream_descriptor::wait_write : asio::posix::stream_descriptor::wait_read,
                                    [wait](const boost::system::error_code& failed) {
                                        if (failed != asio::error::operation_aborted) wait->answer(true);
                                    });
    }
}

}  // namespace castile
