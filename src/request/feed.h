#pragma once
// A feed prepares requests ahead of a source: picks, resolves and opens them on the blocking pool, one after the other.

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "request/request.h"
#include "sched/time.h"

namespace castile {

/// What a source plays next.
struct Prepared {
    RequestPtr request;
    std::unique_ptr<Decoder> decoder;
    MetadataPtr metadata;
};

struct FeedOptions {
    int prefetch = 1;                     ///< prepared requests kept ahead of the one that plays
    std::optional<double> timeout;        ///< seconds; default: settings.request.timeout
    /// When nothing can be picked, ask again after that long; nullopt: only when woken.
    std::optional<Duration> retry_delay = std::chrono::seconds(1);
    std::optional<double> lead;           ///< seconds before the end of what plays at which to prepare; nullopt: when it begins to play
};

/// The part of a request source that is not the tick. Always held by shared_ptr: jobs on the pool keep it alive.
class RequestFeed : public std::enable_shared_from_this<RequestFeed> {
public:
    explicit RequestFeed(FeedOptions options);
    virtual ~RequestFeed();
    RequestFeed(const RequestFeed&) = delete;

    // --- The clock's worker: never waits ----------------------------------------------------------------------------
    bool has_next() const noexcept { return ready_count_ > 0; }
    std::optional<Prepared> take() noexcept;       ///< The next, if it is ready; want() once it is on the air.
    void want() noexcept;                         ///< Prepares more if there is room and nothing is under way.
    const FeedOptions& options() const noexcept { return options_; }
    virtual void playing(const RequestPtr&) noexcept {}   ///< The source begins to play it.
    /// Done with: closes and destroys it on the blocking pool.
    virtual void finished(Prepared item) noexcept;

    // --- Any thread ---------------------------------------------------------------------------------------------------
    virtual void start();                         ///< The source woke up.
    virtual void stop() noexcept;                 ///< It sleeps: what is prepared is destroyed.
    void wake() noexcept;                         ///< There may be something to pick now: forgets a delay.
    std::vector<RequestPtr> prepared() const;     ///< in order
    RequestPtr resolving() const;
    bool drop(int request_id);                    ///< Forgets a prepared (or just resolving) request.
    void drop_all();
    /// Resolves now (blocking) and puts it at the end of what is prepared.
    bool add(const RequestPtr& request);
    void set_log(Logger log);

protected:
    /// The next request, or null when there is none now. On the blocking pool, one call at a time.
    virtual RequestPtr pick() = 0;
    /// How a picked request becomes something to play. Blocking pool.
    virtual std::expected<Prepared, Failure> prepare(const RequestPtr& request);
    /// It could not be prepared (already logged). `in_a_row`: with those before it. Blocking pool.
    virtual void failed(const RequestPtr&, int in_a_row) { (void)in_a_row; }
    /// How long to rest when nothing could be picked; nullopt: until woken. Blocking pool.
    virtual std::optional<Duration> retry_delay() { return options_.retry_delay; }
    /// How long to rest after so many requests in a row that could not be prepared. Blocking pool.
    virtual Duration delay_after(int failures);
    Logger log() const;
    bool started() const noexcept { return started_; }

private:
    void run() noexcept;                          // the job on the blocking pool
    bool step();                                  // one request; false: nothing more to do now
    void rest(std::optional<Duration> delay);     // ends the job; comes back after `delay`
    void launch() noexcept;

    const FeedOptions options_;
    std::atomic<bool> started_ = false;
    std::atomic<bool> busy_ = false;              // a job runs or a delay is on
    std::atomic<int> ready_count_ = 0;
    mutable std::mutex feed_mutex_;               // guards what follows; only for moves of pointers
    std::deque<Prepared> ready_;
    RequestPtr resolving_;
    bool dropped_ = false;                        // the one that is resolving is no longer wanted
    bool again_ = false;                          // woken while the job ran
    int failures_ = 0;
    std::function<void()> cancel_delay_;
    std::uint64_t delay_number_ = 0;
    Logger log_;
};

}  // namespace castile
