#include "request/feed.h"

#include <algorithm>
#include <utility>

#include "sched/scheduler.h"

namespace castile {

namespace {

using namespace std::chrono_literals;

// After that many failures in a row, one try a second, then slower still.
constexpr int quick_failures = 10, slow_failures = 60;

}  // namespace

RequestFeed::RequestFeed(FeedOptions options) : options_(options), log_("request") {}

Duration RequestFeed::delay_after(int failures) {
    if (failures < quick_failures) return 20ms;
    return failures < slow_failures ? Duration(1s) : Duration(10s);
}

RequestFeed::~RequestFeed() {
    for (Prepared& item : ready_) item.request->destroy();
}

Logger RequestFeed::log() const {
    std::lock_guard lock(feed_mutex_);
    return log_;
}

void RequestFeed::set_log(Logger log) {
    std::lock_guard lock(feed_mutex_);
    log_ = std::move(log);
}

std::optional<Prepared> RequestFeed::take() noexcept {
    // Its place is filled when it is on the air (want()): a source that waits for its turn keeps one decoder open, not two.
    std::lock_guard lock(feed_mutex_);
    if (ready_.empty()) return std::nullopt;
    std::optional<Prepared> item = std::move(ready_.front());
    ready_.pop_front();
    ready_count_ = static_cast<int>(ready_.size());
    return item;
}

void RequestFeed::want() noexcept {
    if (!started_ || ready_count_ >= options_.prefetch || busy_.exchange(true)) return;
    launch();
}

void RequestFeed::launch() noexcept {
    scheduler().blocking([self = shared_from_this()] { self->run(); });
}

void RequestFeed::finished(Prepared item) noexcept {
    item.request->off_air();
    // std::function copies: a shared pointer holds what cannot be.
    scheduler().blocking([held = std::make_shared<Prepared>(std::move(item))] {
        held->decoder.reset();
        held->request->destroy();
    });
}

void RequestFeed::start() {
    started_ = true;
    want();
}

void RequestFeed::stop() noexcept {
    started_ = false;
    drop_all();
}

void RequestFeed::wake() noexcept {
    std::function<void()> cancel;
    {
        std::lock_guard lock(feed_mutex_);
        again_ = true;
        failures_ = 0;
        if (cancel_delay_) {
            cancel = std::exchange(cancel_delay_, nullptr);
            ++delay_number_;   // should the timer fire all the same
        }
    }
    if (cancel) {
        cancel();
        launch();   // busy_ is still ours
    } else {
        want();
    }
}

void RequestFeed::run() noexcept {
    // One request a job, so that a long row of failures leaves the pool to others.
    try {
        if (step()) launch();
    } catch (...) {
        log().severe("Could not prepare the next request: {}", "unknown error");
        rest(1s);
    }
}

void RequestFeed::rest(std::optional<Duration> delay) {
    std::uint64_t number = 0;
    {
        std::lock_guard lock(feed_mutex_);
        if (again_ && started_ && static_cast<int>(ready_.size()) < options_.prefetch) {
            again_ = false;
            delay = Duration::zero();
        }
        if (!delay || !started_) {
            busy_ = false;
            return;
        }
        number = ++delay_number_;
    }
    if (*delay == Duration::zero()) return launch();
    auto cancel = scheduler().after(*delay, [weak = weak_from_this(), number] {
        const auto self = weak.lock();
        if (!self) return;
        {
            std::lock_guard lock(self->feed_mutex_);
            if (self->delay_number_ != number) return;
            self->cancel_delay_ = nullptr;
        }
        self->launch();
    });
    std::lock_guard lock(feed_mutex_);
    if (delay_number_ == number) cancel_delay_ = std::move(cancel);
}

bool RequestFeed::step() {
    {
        std::lock_guard lock(feed_mutex_);
        again_ = false;
        if (!started_ || static_cast<int>(ready_.size()) >= options_.prefetch) {
            busy_ = false;
            return false;
        }
    }
    RequestPtr request;
    try {
        request = pick();
    } catch (const std::exception& error) {
        log().severe("Could not obtain the next request: {}", error.what());
    }
    if (!request) {
        rest(retry_delay());
        return false;
    }
    {
        std::lock_guard lock(feed_mutex_);
        resolving_ = request;
        dropped_ = false;
    }
    auto item = prepare(request);
    bool kept = false;
    int failures = 0;
    {
        std::lock_guard lock(feed_mutex_);
        resolving_ = nullptr;
        if (item && !dropped_ && started_) {
            ready_.push_back(std::move(*item));
            ready_count_ = static_cast<int>(ready_.size());
            kept = true;
        }
        failures = failures_ = item ? 0 : failures_ + 1;
    }
    if (kept) return true;
    if (!item) log().important("Could not resolve request \"{}\": {}", request->initial_uri(), item.error().message);
    request->destroy();
    if (!item) {
        failed(request, failures);
        rest(delay_after(failures));
        return false;
    }
    return true;
}

std::expected<Prepared, Failure> RequestFeed::prepare(const RequestPtr& request) {
    const auto resolved = request->resolve(options_.timeout.value_or(default_request_timeout()));
    if (!resolved) return std::unexpected(resolved.error());
    std::unique_ptr<Decoder> decoder = request->take_decoder();
    if (!decoder) {
        auto opened = request->open_again();
        if (!opened) return std::unexpected(opened.error());
        decoder = std::move(*opened);
    }
    return Prepared{request, std::move(decoder), std::make_shared<const Metadata>(request->metadata())};
}

std::vector<RequestPtr> RequestFeed::prepared() const {
    std::vector<RequestPtr> requests;
    std::lock_guard lock(feed_mutex_);
    for (const Prepared& item : ready_) requests.push_back(item.request);
    return requests;
}

RequestPtr RequestFeed::resolving() const {
    std::lock_guard lock(feed_mutex_);
    return dropped_ ? nullptr : resolving_;
}

bool RequestFeed::drop(int request_id) {
    std::deque<Prepared> dropped;
    {
        std::lock_guard lock(feed_mutex_);
        if (resolving_ && resolving_->id() == request_id && !dropped_) return dropped_ = true;
        const auto found = std::ranges::find_if(ready_, [&](const Prepared& item) { return item.request->id() == request_id; });
        if (found == ready_.end()) return false;
        dropped.push_back(std::move(*found));
        ready_.erase(found);
        ready_count_ = static_cast<int>(ready_.size());
    }
    dropped.front().request->destroy();
    want();
    return true;
}

void RequestFeed::drop_all() {
    std::deque<Prepared> dropped;
    {
        std::lock_guard lock(feed_mutex_);
        dropped.swap(ready_);
        ready_count_ = 0;
        dropped_ = resolving_ != nullptr;
    }
    for (Prepared& item : dropped) item.request->destroy();
    want();
}

bool RequestFeed::add(const RequestPtr& request) {
    auto item = prepare(request);
    if (!item) {
        log().important("Could not resolve request \"{}\": {}", request->initial_uri(), item.error().message);
        return false;
    }
    std::lock_guard lock(feed_mutex_);
    ready_.push_back(std::move(*item));
    ready_count_ = static_cast<int>(ready_.size());
    return true;
}

}  // namespace castile
