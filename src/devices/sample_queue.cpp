#include "devices/sample_queue.h"

#include <algorithm>
#include <boost/lockfree/spsc_queue.hpp>
#include <vector>

namespace castile::devices {

namespace {
constexpr std::size_t step = 256;   // samples moved at a time
}

// Interleaved, so that one index tells how far all channels are.
struct SampleQueue::State {
    State(std::size_t channels, std::size_t capacity) : queue(channels * capacity), written(channels * step), taken(channels * step) {}
    boost::lockfree::spsc_queue<float> queue;
    std::vector<float> written, taken;   // of the writer, of the reader
};

SampleQueue::SampleQueue(int channels, std::size_t capacity)
    : state_(std::make_unique<State>(static_cast<std::size_t>(std::max(1, channels)), std::max<std::size_t>(1, capacity))),
      channels_(std::max(1, channels)),
      capacity_(std::max<std::size_t>(1, capacity)) {}

SampleQueue::~SampleQueue() = default;

std::size_t SampleQueue::room() const noexcept { return state_->queue.write_available() / static_cast<std::size_t>(channels_); }
std::size_t SampleQueue::waiting() const noexcept { return state_->queue.read_available() / static_cast<std::size_t>(channels_); }

std::size_t SampleQueue::write(const float* const* planes, std::size_t samples) noexcept {
    const std::size_t count = static_cast<std::size_t>(channels_), all = std::min(samples, room());
    float* const scratch = state_->written.data();
    for (std::size_t at = 0; at < all;) {
        const std::size_t n = std::min(step, all - at);
        if (planes) {
            for (std::size_t c = 0; c < count; ++c)
                for (std::size_t i = 0; i < n; ++i) scratch[i * count + c] = planes[c][at + i];
        } else {
            std::fill_n(scratch, n * count, 0.f);
        }
        state_->queue.push(scratch, n * count);
        at += n;
    }
    return all;
}

std::size_t SampleQueue::read(float* const* planes, std::size_t samples) noexcept {
    const std::size_t count = static_cast<std::size_t>(channels_), all = std::min(samples, waiting());
    float* const scratch = state_->taken.data();
    for (std::size_t at = 0; at < all;) {
        const std::size_t n = std::min(step, all - at);
        state_->queue.pop(scratch, n * count);
        for (std::size_t c = 0; c < count; ++c)
            for (std::size_t i = 0; i < n; ++i) planes[c][at + i] = scratch[i * count + c];
        at += n;
    }
    return all;
}

void SampleQueue::skip(std::size_t samples) noexcept {
    const std::size_t count = static_cast<std::size_t>(channels_);
    for (std::size_t left = std::min(samples, waiting()); left > 0;) {
        const std::size_t n = std::min(step, left);
        state_->queue.pop(state_->taken.data(), n * count);
        left -= n;
    }
}

}  // namespace castile::devices
