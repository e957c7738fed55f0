#include "net/level_meter.h"

#include <algorithm>
#include <cmath>

namespace castile {

namespace {

constexpr int watched_for_ticks = 150;  // after the last look

}  // namespace

void LevelMeter::add(int channel, std::span<const float> samples) noexcept {
    if (channel < 0 || channel >= static_cast<int>(channels_.size())) return;
    float peak = 0;
    double squares = 0;
    for (const float x : samples) {
        peak = std::max(peak, std::fabs(x));
        squares += static_cast<double>(x) * x;
    }
    std::lock_guard lock(mutex_);
    auto& meter = channels_[static_cast<std::size_t>(channel)];
    meter.peak = std::max(meter.peak, peak);
    meter.squares += squares;
    meter.count += samples.size();
}

Levels LevelMeter::take() noexcept {
    Levels levels;
    ticks_left_ = watched_for_ticks;
    std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < channels_.size(); ++i) {
        auto& meter = channels_[i];
        if (meter.count == 0) break;
        levels.peak[i] = meter.peak;
        levels.rms[i] = static_cast<float>(std::sqrt(meter.squares / static_cast<double>(meter.count)));
        levels.channels = static_cast<int>(i) + 1;
        meter = {};
    }
    return levels;
}

}  // namespace castile
