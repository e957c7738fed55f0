#pragma once
// Stream time. One tick is one sample at the engine's audio rate (settings.frame.audio.samplerate).

#include <chrono>
#include <compare>
#include <cstdint>

namespace castile {

/// A count of ticks: a length, or a position since a stream's start.
struct Ticks {
    std::int64_t count = 0;

    constexpr auto operator<=>(const Ticks&) const = default;
    constexpr Ticks& operator+=(Ticks o) { count += o.count; return *this; }
    constexpr Ticks& operator-=(Ticks o) { count -= o.count; return *this; }
    friend constexpr Ticks operator+(Ticks a, Ticks b) { return {a.count + b.count}; }
    friend constexpr Ticks operator-(Ticks a, Ticks b) { return {a.count - b.count}; }
};

/// What every stream of the process shares: taken from settings.frame.* when first asked for, then fixed.
struct StreamParameters {
    int samplerate = 44100;  ///< samples (= ticks) per second
    int channels = 2;        ///< default number of audio channels
    Ticks frame_size{882};   ///< ticks per frame (0.02 s)
};

const StreamParameters& stream_parameters() noexcept;
void set_stream_parameters(StreamParameters) noexcept;  ///< Before any source is built. Main thread.

double to_seconds(Ticks) noexcept;
std::chrono::nanoseconds to_duration(Ticks) noexcept;
Ticks ticks_from_seconds(double) noexcept;  ///< Rounded to nearest.

}  // namespace castile
