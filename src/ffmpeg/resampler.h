#pragma once
// swresample for what differs between two ends: rate, sample format, channels.

#include <cstdint>
#include <vector>

#include "ffmpeg/handles.h"

namespace castile::ffmpeg {

/// One end of a conversion. `format` is an AVSampleFormat.
struct SampleSpec {
    int rate = 0, channels = 0, format = 0;
    friend bool operator==(const SampleSpec&, const SampleSpec&) = default;
};

/// The engine's own PCM: planar floats.
SampleSpec pcm_spec(int rate, int channels) noexcept;

/// Converts blocks; its buffer grows to the largest block and stays.
class Resampler {
public:
    /// Throws Error when swresample refuses the pair.
    Resampler(const SampleSpec& from, const SampleSpec& to);
    ~Resampler();

    /// Converts `samples` samples of planes; the result is in planes() until the next call. Negative: a libav error.
    int convert(const std::uint8_t* const* input, int samples) noexcept;
    int drain() noexcept;  ///< What is still inside, at the end.
    void reset() noexcept; ///< After a seek: forgets what is inside.
    const std::uint8_t* const* planes() const noexcept { return planes_.data(); }
    const SampleSpec& from() const noexcept { return from_; }
    const SampleSpec& to() const noexcept { return to_; }

private:
    int run(const std::uint8_t* const* input, int samples) noexcept;
    SampleSpec from_, to_;
    Resample context_;
    std::vector<std::uint8_t*> planes_;
    int capacity_ = 0;
};

}  // namespace castile::ffmpeg
