#pragma once
// Peak and RMS of what is on the air, measured only while somebody looks.

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>

namespace castile {

/// Levels of the last moments, linear, per channel (at most two).
struct Levels {
    int channels = 0;
    std::array<float, 2> peak{}, rms{};
};

class LevelMeter {
public:
    // The tick's thread.
    bool watched() const noexcept { return ticks_left_.load(std::memory_order_relaxed) > 0; }
    void add(int channel, std::span<const float> samples) noexcept;  ///< When watched.
    void tick() noexcept {
        if (watched()) ticks_left_.fetch_sub(1, std::memory_order_relaxed);
    }
    /// Any thread: since the last call; makes them be measured for some seconds.
    Levels take() noexcept;

private:
    struct Channel { float peak = 0; double squares = 0; std::uint64_t count = 0; };
    std::atomic<int> ticks_left_ = 0;
    std::mutex mutex_;  // guards channels_
    std::array<Channel, 2> channels_;
};

}  // namespace castile
