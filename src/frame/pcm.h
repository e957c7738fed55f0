#pragma once
// PCM blocks: planar float32, channels x samples, pooled, reference-counted; shared when read, copied when written.

#include <cstddef>
#include <cstdint>
#include <span>

namespace castile {

namespace detail { struct PcmBuffer; }

/// A view of `samples` samples of `channels` channels in a shared buffer. Copying a block shares; `write()` gives a
/// private buffer first. Buffers come from a free list: steady state allocates nothing. A block belongs to one thread
/// at a time; the buffer's count is atomic, so blocks may be handed to another thread.
class PcmBlock {
public:
    PcmBlock() noexcept = default;
    PcmBlock(int channels, std::size_t samples);  ///< Contents undefined; use clear().
    PcmBlock(const PcmBlock&) noexcept;
    PcmBlock(PcmBlock&&) noexcept;
    PcmBlock& operator=(const PcmBlock&) noexcept;
    PcmBlock& operator=(PcmBlock&&) noexcept;
    ~PcmBlock();

    int channels() const noexcept { return channels_; }
    std::size_t samples() const noexcept { return samples_; }
    bool empty() const noexcept { return samples_ == 0; }

    /// One channel's samples, nominally within [-1, 1].
    std::span<const float> channel(int index) const noexcept;
    /// The same, writable: when the buffer is shared it is copied first.
    std::span<float> write(int index);

    PcmBlock slice(std::size_t offset, std::size_t samples) const noexcept;  ///< Shares the buffer.
    void clear();                                                            ///< Silence.
    /// Copies all of `from` (same channels) to [offset, offset + from.samples()).
    void copy_from(const PcmBlock& from, std::size_t offset);

private:
    detail::PcmBuffer* buffer_ = nullptr;
    std::uint32_t offset_ = 0, samples_ = 0;
    int channels_ = 0;
};

}  // namespace castile
