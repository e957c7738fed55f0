#include "frame/pcm.h"

#include <atomic>
#include <bit>
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace castile {

namespace detail {

/// `stride` floats a channel, channels one behind the other, behind this header (64-byte aligned).
struct alignas(64) PcmBuffer {
    std::atomic<std::uint32_t> count;
    std::uint32_t stride;
    std::uint32_t size_class;
    float* data() noexcept { return reinterpret_cast<float*>(this + 1); }
};

namespace {

constexpr unsigned smallest = 10, classes = 22;  // 2^10 floats (4 KiB) up; larger ones are not pooled
constexpr std::size_t kept_per_class = 64;

/// Free buffers by size class (powers of two of floats). A lock held for a few instructions, never across a call.
class Pool {
public:
    PcmBuffer* take(std::size_t floats) {
        const unsigned c = std::max<unsigned>(smallest, std::bit_width(floats - 1));
        if (c < classes) {
            std::lock_guard lock(free_mutex_);
            auto& list = free_[c];
            if (!list.empty()) {
                PcmBuffer* buffer = list.back();
                list.pop_back();
                buffer->count.store(1, std::memory_order_relaxed);
                return buffer;
            }
        }
        void* memory = std::aligned_alloc(64, sizeof(PcmBuffer) + (sizeof(float) << c));
        if (!memory) throw std::bad_alloc();
        auto* buffer = new (memory) PcmBuffer;
        buffer->count.store(1, std::memory_order_relaxed);
        buffer->size_class = c;
        return buffer;
    }

    void give(PcmBuffer* buffer) noexcept {
        if (const unsigned c = buffer->size_class; c < classes) {
            std::lock_guard lock(free_mutex_);
            if (free_[c].size() < kept_per_class) {
                if (free_[c].capacity() == 0) free_[c].reserve(kept_per_class);
                free_[c].push_back(buffer);
                return;
            }
        }
        std::free(buffer);
    }

private:
    std::mutex free_mutex_;
    std::vector<PcmBuffer*> free_[classes];
};

Pool& pool() {
    static auto* pool = new Pool;  // never destroyed: blocks may outlive every static
    return *pool;
}

void release(PcmBuffer* buffer) noexcept {
    if (buffer && buffer->count.fetch_sub(1, std::memory_order_acq_rel) == 1) pool().give(buffer);
}

PcmBuffer* share(PcmBuffer* buffer) noexcept {
    if (buffer) buffer->count.fetch_add(1, std::memory_order_relaxed);
    return buffer;
}

}  // namespace
}  // namespace detail

PcmBlock::PcmBlock(int channels, std::size_t samples) : samples_(static_cast<std::uint32_t>(samples)), channels_(channels) {
    assert(channels >= 0);
    if (channels == 0 || samples == 0) return;
    const std::size_t stride = (samples + 15) & ~std::size_t{15};  // every channel starts on a cache line
    buffer_ = detail::pool().take(stride * static_cast<std::size_t>(channels));
    buffer_->stride = static_cast<std::uint32_t>(stride);
}

PcmBlock::PcmBlock(const PcmBlock& o) noexcept
    : buffer_(detail::share(o.buffer_)), offset_(o.offset_), samples_(o.samples_), channels_(o.channels_) {}

PcmBlock::PcmBlock(PcmBlock&& o) noexcept
    : buffer_(std::exchange(o.buffer_, nullptr)), offset_(std::exchange(o.offset_, 0)), samples_(std::exchange(o.samples_, 0)),
      channels_(std::exchange(o.channels_, 0)) {}

PcmBlock& PcmBlock::operator=(const PcmBlock& o) noexcept { return *this = PcmBlock(o); }

PcmBlock& PcmBlock::operator=(PcmBlock&& o) noexcept {
    std::swap(buffer_, o.buffer_);
    std::swap(offset_, o.offset_);
    std::swap(samples_, o.samples_);
    std::swap(channels_, o.channels_);
    return *this;
}

PcmBlock::~PcmBlock() { detail::release(buffer_); }

std::span<const float> PcmBlock::channel(int index) const noexcept {
    assert(index >= 0 && index < channels_);
    if (!buffer_) return {};
    return {buffer_->data() + static_cast<std::size_t>(index) * buffer_->stride + offset_, samples_};
}

std::span<float> PcmBlock::write(int index) {
    assert(index >= 0 && index < channels_);
    if (!buffer_) return {};
    if (buffer_->count.load(std::memory_order_acquire) != 1) {
        PcmBlock own(channels_, samples_);
        for (int c = 0; c < channels_; ++c)
            std::memcpy(own.buffer_->data() + static_cast<std::size_t>(c) * own.buffer_->stride, channel(c).data(),
                        samples_ * sizeof(float));
        *this = std::move(own);
    }
    return {buffer_->data() + static_cast<std::size_t>(index) * buffer_->stride + offset_, samples_};
}

PcmBlock PcmBlock::slice(std::size_t offset, std::size_t samples) const noexcept {
    assert(offset + samples <= samples_);
    PcmBlock part(*this);
    part.offset_ += static_cast<std::uint32_t>(offset);
    part.samples_ = static_cast<std::uint32_t>(samples);
    return part;
}

void PcmBlock::clear() {
    for (int c = 0; c < channels_; ++c) {
        const std::span<float> samples = write(c);
        std::memset(samples.data(), 0, samples.size_bytes());
    }
}

void PcmBlock::copy_from(const PcmBlock& from, std::size_t offset) {
    assert(from.channels_ == channels_ && offset + from.samples_ <= samples_);
    for (int c = 0; c < channels_ && from.samples_ > 0; ++c)
        std::memcpy(write(c).data() + offset, from.channel(c).data(), from.samples_ * sizeof(float));
}

}  // namespace castile
