#pragma once
// RequestSource: plays what a feed prepared, one request after the other, without a gap.

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>

#include "request/feed.h"
#include "source/source.h"

namespace castile {

/// Base of playlist, single, request.queue, request.dynamic and request.once. The clock's worker pulls; the feed
/// prepares elsewhere. A track mark and the request's metadata stand at the first sample of each.
class RequestSource : public Source {
public:
    RequestSource(std::string operator_name, std::shared_ptr<RequestFeed> feed);
    ~RequestSource() override;

    RequestFeed& feed() noexcept { return *feed_; }
    const std::shared_ptr<RequestFeed>& shared_feed() const noexcept { return feed_; }
    RequestPtr current() const;   ///< Any thread; null when nothing plays.

    std::optional<Ticks> remaining() noexcept override;   ///< Any thread.
    void skip() noexcept override;
    Ticks seek(Ticks by) noexcept override;

protected:
    bool can_generate() noexcept override;
    void generate(Frame& out, Ticks wanted) noexcept override;
    void on_wake_up() override;
    void on_sleep() noexcept override;

    /// What `playing` holds is at its end and nothing is prepared: a subclass may begin it again. True: it did.
    virtual bool begin_again(Decoder&) noexcept { return false; }

private:
    bool begin_next() noexcept;
    void end_current() noexcept;
    PcmBlock read(Ticks wanted) noexcept;
    bool look_ahead() noexcept;
    void publish_remaining() noexcept;
    void add_start(Frame& out, Ticks at);
    void announce() noexcept;

    std::shared_ptr<RequestFeed> feed_;
    int channels_ = 0;
    // The clock's worker only:
    std::optional<Prepared> playing_;
    PcmBlock ahead_;               // already decoded; comes next
    bool fresh_ = false;           // nothing of `playing_` went out yet
    bool ended_ = false;           // its decoder has no more
    Ticks on_air_;                 // since `playing_` began
    // For other threads:
    std::atomic<std::int64_t> remaining_{0};   // ticks; -1: unknown
    mutable std::mutex current_mutex_;         // guards current_
    RequestPtr current_;
};

}  // namespace castile
