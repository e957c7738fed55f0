#pragma once
// How fast to read a buffer between two clocks so that its length stays what it should be.

#include <algorithm>

namespace castile::operators {

/// A delay-locked loop. The length of the buffer jumps with every burst of either clock, so its mean since the last call is
/// smoothed (two poles) before a proportional and an integral term make a speed of it; the integral learns the drift of the
/// clocks and holds it.
/// Critically damped, with the time constant `averaging`. Times in seconds, lengths in seconds.
class RateLoop {
public:
    RateLoop(double target, double averaging, double limit)
        : target_(target), omega_(1 / std::max(averaging, 0.1)), smoothing_(std::min(1., averaging / 10)), limit_(std::max(limit, 1.)), first_(target), second_(target) {}

    /// `length`: in the buffer, on average in the time `elapsed` since the last call. The speed to read at from now on, 1 as it comes.
    double update(double length, double elapsed) noexcept {
        const double alpha = std::min(1., elapsed / std::max(smoothing_, 1e-3));
        first_ += alpha * (length - first_);
        second_ += alpha * (first_ - second_);
        const double error = second_ - target_;
        const double wanted = 1 + 2 * omega_ * error + integral_ + omega_ * omega_ * error * elapsed;
        speed_ = std::clamp(wanted, 1 / limit_, limit_);
        if (wanted == speed_) integral_ += omega_ * omega_ * error * elapsed;  // at a limit it does not wind up
        return speed_;
    }
    void reset(bool forget_drift) noexcept {
        first_ = second_ = target_;
        if (forget_drift) integral_ = 0;
        speed_ = std::clamp(1 + integral_, 1 / limit_, limit_);
    }
    double speed() const noexcept { return speed_; }
    double length() const noexcept { return second_; }   ///< smoothed

private:
    double target_, omega_, smoothing_, limit_;
    double first_, second_, integral_ = 0, speed_ = 1;
};

}  // namespace castile::operators
