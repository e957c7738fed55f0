#include "net/network.h"

#include <condition_variable>
#include <mutex>

#include "net/http_server.h"

namespace castile {

namespace {

struct Busy {
    std::mutex count_mutex;
    std::condition_variable none;
    int count = 0;
};

const std::shared_ptr<Busy>& busy() {
    static const auto* busy = new std::shared_ptr<Busy>(std::make_shared<Busy>());
    return *busy;
}

}  // namespace

std::shared_ptr<void> network_busy() {
    {
        std::lock_guard lock(busy()->count_mutex);
        ++busy()->count;
    }
    return std::shared_ptr<void>(nullptr, [b = busy()](void*) {
        std::lock_guard lock(b->count_mutex);
        if (--b->count == 0) b->none.notify_all();
    });
}

void finish_network(Duration limit) noexcept {
    stop_http_servers();
    std::unique_lock lock(busy()->count_mutex);
    busy()->none.wait_for(lock, limit, [] { return busy()->count == 0; });
}

}  // namespace castile
