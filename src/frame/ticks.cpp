#include "frame/ticks.h"

#include <cmath>

namespace castile {

namespace {
StreamParameters parameters;
}

const StreamParameters& stream_parameters() noexcept { return parameters; }
void set_stream_parameters(StreamParameters chosen) noexcept { parameters = chosen; }

double to_seconds(Ticks ticks) noexcept { return static_cast<double>(ticks.count) / parameters.samplerate; }

std::chrono::nanoseconds to_duration(Ticks ticks) noexcept {
    // Whole seconds first: a count of ticks times 10^9 overflows after two days.
    const std::int64_t seconds = ticks.count / parameters.samplerate, rest = ticks.count % parameters.samplerate;
    return std::chrono::seconds(seconds) + std::chrono::nanoseconds(rest * 1'000'000'000 / parameters.samplerate);
}

Ticks ticks_from_seconds(double seconds) noexcept { return {std::llround(seconds * parameters.samplerate)}; }

}  // namespace castile
