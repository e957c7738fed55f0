#include "devices/jack_session.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "frame/ticks.h"

namespace castile::devices {

namespace {

constexpr Duration silent_time = std::chrono::seconds(1);   // without a call: JACK stands still
constexpr int poll_milliseconds = 100;

std::int64_t now() noexcept { return system_time().now().time_since_epoch().count(); }

}  // namespace

JackSession::JackSession(const JackLibrary& library, Shape shape, std::shared_ptr<JackCounters> counters)
    : library_(library),
      shape_(shape),
      counters_(std::move(counters)),
      queue_(shape.channels, shape.capacity),
      buffers_(static_cast<std::size_t>(shape.channels)),
      period_(shape.period) {
    const int ours = stream_parameters().samplerate;
    if (shape.rate != ours) {
        const ffmpeg::SampleSpec server = ffmpeg::pcm_spec(shape.rate, shape.channels), engine = ffmpeg::pcm_spec(ours, shape.channels);
        const bool capture = shape.kind == JackKind::capture;
        resampler_ = std::make_unique<ffmpeg::Resampler>(capture ? server : engine, capture ? engine : server);
    }
    event_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (event_ < 0) throw Error("JACK: there are too many open files.");
}

JackSession::~JackSession() {
    if (event_ >= 0) close(event_);
}

void JackSession::activated() noexcept { last_call_.store(now()); }

// --- JACK's thread ---------------------------------------------------------------------------------------------------

int JackSession::process(jack_nframes_t samples) noexcept {
    last_call_.store(now(), std::memory_order_relaxed);
    for (std::size_t c = 0; c < ports.size(); ++c) buffers_[c] = static_cast<float*>(library_.port_get_buffer(ports[c], samples));
    const bool enabled = enabled_.load(std::memory_order_acquire);
    if (shape_.kind == JackKind::capture) {
        if (enabled) {
            const std::size_t taken = queue_.write(buffers_.data(), samples);
            if (taken < samples) counters_->dropped.fetch_add(static_cast<std::int64_t>(samples - taken), std::memory_order_relaxed);
        }
    } else {
        if (!enabled) queue_.skip(queue_.waiting());
        const std::size_t given = enabled ? queue_.read(buffers_.data(), samples) : 0;
        if (given < samples) {
            for (float* buffer : buffers_) std::fill(buffer + given, buffer + samples, 0.f);
            if (enabled) counters_->missing.fetch_add(static_cast<std::int64_t>(samples - given), std::memory_order_relaxed);
        }
    }
    const std::int64_t wanted = wanted_.fetch_add(0, std::memory_order_acq_rel);
    if (wanted < 0) return 0;
    const auto there = static_cast<std::int64_t>(shape_.kind == JackKind::capture ? queue_.capacity() - queue_.room() : queue_.waiting());
    if (shape_.kind == JackKind::capture ? there >= wanted : there <= wanted) eventfd_write(event_, 1);
    return 0;
}

void JackSession::lose() noexcept {
    lost.store(true);
    eventfd_write(event_, 1);
}

// --- The clock's thread ----------------------------------------------------------------------------------------------

bool JackSession::running() const noexcept {
    return !lost.load(std::memory_order_relaxed) && now() - last_call_.load(std::memory_order_relaxed) < silent_time.count();
}

std::size_t JackSession::in_server_samples(std::size_t ours) const noexcept {
    const auto rate = static_cast<std::size_t>(stream_parameters().samplerate);
    return (ours * static_cast<std::size_t>(shape_.rate) + rate - 1) / rate;
}

std::size_t JackSession::usual_fill(std::size_t frame) const noexcept {
    const std::size_t samples = in_server_samples(frame);
    const bool aligned = !resampler_ && period() > 0 && samples % period() == 0;
    constexpr std::size_t inside = 64;   // what a resampler keeps for itself, and rounding
    return samples + (aligned ? 0 : period()) + (resampler_ ? inside : 0);
}

std::size_t JackSession::fill() const noexcept {
    return shape_.kind == JackKind::capture ? queue_.waiting() : queue_.capacity() - queue_.room();
}

bool JackSession::reached(std::int64_t wanted) const noexcept {
    const auto there = static_cast<std::int64_t>(fill());
    return shape_.kind == JackKind::capture ? there >= wanted : there <= wanted;
}

bool JackSession::wait(std::size_t wanted) noexcept {
    const auto limit = static_cast<std::int64_t>(std::min(wanted, queue_.capacity()));
    for (;;) {
        wanted_.exchange(limit, std::memory_order_acq_rel);
        const bool enough = reached(limit);
        if (enough || !running()) {
            wanted_.exchange(-1, std::memory_order_acq_rel);
            return enough;
        }
        pollfd waiting{event_, POLLIN, 0};
        poll(&waiting, 1, poll_milliseconds);
        eventfd_t count = 0;
        eventfd_read(event_, &count);
    }
}

}  // namespace castile::devices
