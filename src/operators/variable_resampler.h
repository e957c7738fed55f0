#pragma once
// PCM at a rate that may change all the time: libsamplerate behind planar blocks.

#include <cstddef>
#include <memory>
#include <vector>

#include "frame/pcm.h"

namespace castile::operators {

/// One thread at a time. What is fed waits until it is used; steady state allocates nothing.
class VariableResampler {
public:
    explicit VariableResampler(int channels);
    ~VariableResampler();
    VariableResampler(const VariableResampler&) = delete;

    int channels() const noexcept { return channels_; }
    void feed(const PcmBlock& block);
    std::size_t waiting() const noexcept { return (fed_.size() - taken_) / static_cast<std::size_t>(channels_); }   ///< samples
    /// Fills up to `wanted` samples of `out` from `at`. `ratio`: samples out for one in; it changes smoothly from call to call.
    /// Returns how many were made: fewer when there is too little input.
    std::size_t make(PcmBlock& out, std::size_t at, std::size_t wanted, double ratio);
    void reset() noexcept;

private:
    struct State;
    std::unique_ptr<State> state_;
    const int channels_;
    std::vector<float> fed_, made_;   ///< interleaved
    std::size_t taken_ = 0;           ///< of fed_, in floats
};

}  // namespace castile::operators
