#pragma once
// Samples between two threads: one writes, one reads; neither waits nor allocates.

#include <cstddef>
#include <memory>

namespace castile::devices {

class SampleQueue {
public:
    SampleQueue(int channels, std::size_t capacity);   ///< samples of each channel
    ~SampleQueue();
    SampleQueue(const SampleQueue&) = delete;

    int channels() const noexcept { return channels_; }
    std::size_t capacity() const noexcept { return capacity_; }

    // The writer. `planes`: one pointer a channel, or null for silence. All channels of a sample come together.
    std::size_t room() const noexcept;
    std::size_t write(const float* const* planes, std::size_t samples) noexcept;   ///< How many there was room for.

    // The reader.
    std::size_t waiting() const noexcept;
    std::size_t read(float* const* planes, std::size_t samples) noexcept;   ///< How many there were.
    void skip(std::size_t samples) noexcept;                                ///< At most what waits.

private:
    struct State;
    std::unique_ptr<State> state_;
    const int channels_;
    const std::size_t capacity_;
};

}  // namespace castile::devices
