#include "sources/request_source.h"

#include <utility>

namespace castile {

namespace {

const Name audio("audio");

// When the decoder says that less than that is left, or does not know, the next block is decoded ahead, so that the
// source knows of its end before it says that it is ready.
constexpr double near_end = 1.0;  // seconds

// The next request is prepared once this one has been on the air so long, or is as short as that. What was only begun, in a
// frame whose end a rotation keeps for its next turn, may wait for long: it keeps one decoder open, not two.
constexpr double settled = 0.5, short_track = 10;  // seconds

}  // namespace

RequestSource::RequestSource(std::string operator_name, std::shared_ptr<RequestFeed> feed)
    : Source(std::move(operator_name)), feed_(std::move(feed)) {
    require_content(content(), audio, {ContentFormat::Kind::pcm, 0});
}

RequestSource::~RequestSource() { feed_->stop(); }

void RequestSource::on_wake_up() {
    channels_ = pcm_channels();
    feed_->set_log(log());
    feed_->start();
}

void RequestSource::on_sleep() noexcept {
    end_current();
    feed_->stop();
}

RequestPtr RequestSource::current() const {
    std::lock_guard lock(current_mutex_);
    return current_;
}

std::optional<Ticks> RequestSource::remaining() noexcept {
    const std::int64_t ticks = remaining_.load(std::memory_order_relaxed);
    if (ticks < 0) return std::nullopt;
    return Ticks{ticks};
}

void RequestSource::publish_remaining() noexcept {
    if (!playing_) {
        remaining_.store(0, std::memory_order_relaxed);
        return;
    }
    const auto left = ended_ ? Ticks{} : playing_->decoder->remaining();
    remaining_.store(left ? left->count + static_cast<std::int64_t>(ahead_.samples()) : -1, std::memory_order_relaxed);
}

bool RequestSource::begin_next() noexcept {
    playing_ = feed_->take();
    if (!playing_) return false;
    fresh_ = true;
    ended_ = false;
    ahead_ = {};
    return true;
}

void RequestSource::end_current() noexcept {
    if (!playing_) return;
    if (!fresh_) log().info("Finished with \"{}\".", playing_->request->filename());
    feed_->finished(std::move(*playing_));
    playing_.reset();
    ahead_ = {};
    {
        std::lock_guard lock(current_mutex_);
        current_ = nullptr;
    }
    publish_remaining();
}

void RequestSource::skip() noexcept { end_current(); }

Ticks RequestSource::seek(Ticks by) noexcept {
    if (!playing_) return {};
    const Ticks ahead{static_cast<std::int64_t>(ahead_.samples())};
    if (by.count >= 0 && by <= ahead) {
        ahead_ = ahead_.slice(static_cast<std::size_t>(by.count), static_cast<std::size_t>((ahead - by).count));
        publish_remaining();
        return by;
    }
    // The decoder stands behind what was decoded ahead.
    ahead_ = {};
    ended_ = false;
    const Ticks done = playing_->decoder->seek(by - ahead) + ahead;
    publish_remaining();
    return done;
}

// One decoded block of at most `wanted` ticks; empty at the end.
PcmBlock RequestSource::read(Ticks wanted) noexcept {
    const auto count = static_cast<std::size_t>(wanted.count);
    if (!ahead_.empty()) {
        if (ahead_.samples() <= count) return std::exchange(ahead_, {});
        PcmBlock front = ahead_.slice(0, count);
        ahead_ = ahead_.slice(count, ahead_.samples() - count);
        return front;
    }
    if (ended_) return {};
    PcmBlock block = playing_->decoder->read(wanted, channels_);
    if (block.samples() < count) ended_ = true;
    return block;
}

// Is there at least one more sample of what plays?
bool RequestSource::look_ahead() noexcept {
    if (!ahead_.empty()) return true;
    if (ended_) return false;
    const auto left = playing_->decoder->remaining();
    if (left && to_seconds(*left) > near_end) return true;
    ahead_ = playing_->decoder->read(stream_parameters().frame_size, channels_);
    if (ahead_.samples() < static_cast<std::size_t>(stream_parameters().frame_size.count)) ended_ = true;
    return !ahead_.empty();
}

bool RequestSource::can_generate() noexcept {
    for (;;) {
        if (playing_) {
            if (look_ahead()) return true;
            if (!feed_->has_next() && begin_again(*playing_->decoder)) {
                ended_ = false;
                fresh_ = true;
                if (look_ahead()) return true;
            }
            end_current();
        }
        if (!begin_next()) {
            feed_->want();
            return false;
        }
    }
}

void RequestSource::announce() noexcept {
    const RequestPtr& request = playing_->request;
    log().important("Prepared \"{}\" (RID {}).", request->filename(), request->id());
    request->on_air();
    feed_->playing(request);
    std::lock_guard lock(current_mutex_);
    current_ = request;
}

void RequestSource::add_start(Frame& out, Ticks at) {
    fresh_ = false;
    on_air_ = {};
    announce();
    out.metadata().push_back({at, playing_->metadata});
    out.track_marks().push_back(at);
}

void RequestSource::generate(Frame& out, Ticks wanted) noexcept {
    Content& content = out.track(audio);
    Ticks filled{};
    PcmBlock whole;   // used when the frame is pieced together
    // can_generate() also goes on to the next request, and says when there is none.
    while (filled < wanted && can_generate()) {
        const Ticks missing = wanted - filled;
        PcmBlock block = read(missing);
        if (block.empty()) continue;
        if (fresh_) add_start(out, filled);
        const auto got = static_cast<std::int64_t>(block.samples());
        if (filled.count == 0 && got == wanted.count) {
            whole = std::move(block);
        } else {
            if (filled.count == 0) whole = PcmBlock(channels_, static_cast<std::size_t>(wanted.count));
            whole.copy_from(block, static_cast<std::size_t>(filled.count));
        }
        filled += Ticks{got};
    }
    if (filled < wanted) whole = whole.slice(0, static_cast<std::size_t>(filled.count));
    content = std::move(whole);
    out.set_length(filled);
    publish_remaining();
    const auto& lead = feed_->options().lead;
    const auto left = remaining();
    on_air_ += filled;
    const double near = lead.value_or(short_track);
    if (!left || to_seconds(*left) <= near || (!lead && to_seconds(on_air_) >= settled)) feed_->want();
}

}  // namespace castile
