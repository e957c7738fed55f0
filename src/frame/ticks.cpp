#include "frame/ticks.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>

#include "base/settings.h"

namespace castile {

namespace {

Setting<int> samplerate{"frame.audio.samplerate", 44100, "Samples per second of every stream. Read when the first source is made."};
Setting<int> channels{"frame.audio.channels", 2, "Default number of audio channels. Read when the first source is made."};
Setting<double> duration{"frame.duration", 0.02, "Length of a frame in seconds, the step of all clocks. Read when the first source is made."};
Setting<int> wanted_size{"frame.audio.size", 0, "Length of a frame in samples; 0: as frame.duration says."};

StreamParameters parameters;
std::atomic<bool> chosen = false;
std::mutex choice_mutex;

void choose() noexcept {
    std::lock_guard lock(choice_mutex);
    if (chosen.load(std::memory_order_relaxed)) return;
    parameters.samplerate = std::clamp(samplerate.get(), 1000, 768000);
    parameters.channels = std::clamp(channels.get(), 0, 64);
    const double samples = wanted_size.get() > 0 ? wanted_size.get() : std::clamp(duration.get(), 0.001, 1.) * parameters.samplerate;
    parameters.frame_size = {std::max<std::int64_t>(std::llround(samples), 1)};
    chosen.store(true, std::memory_order_release);
}

}  // namespace

const StreamParameters& stream_parameters() noexcept {
    if (!chosen.load(std::memory_order_acquire)) choose();
    return parameters;
}

void set_stream_parameters(StreamParameters explicitly) noexcept {
    std::lock_guard lock(choice_mutex);
    parameters = explicitly;
    chosen.store(true, std::memory_order_release);
}

double to_seconds(Ticks ticks) noexcept { return static_cast<double>(ticks.count) / stream_parameters().samplerate; }

std::chrono::nanoseconds to_duration(Ticks ticks) noexcept {
    // Whole seconds first: a count of ticks times 10^9 overflows after two days.
    const int rate = stream_parameters().samplerate;
    const std::int64_t seconds = ticks.count / rate, rest = ticks.count % rate;
    return std::chrono::seconds(seconds) + std::chrono::nanoseconds(rest * 1'000'000'000 / rate);
}

Ticks ticks_from_seconds(double seconds) noexcept { return {std::llround(seconds * stream_parameters().samplerate)}; }

}  // namespace castile
