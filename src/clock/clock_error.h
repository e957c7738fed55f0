#pragma once
// What cannot be one clock, and why.

#include <string>
#include <utility>

#include "base/error.h"

namespace castile {

/// Sources that were to be joined cannot be driven by one clock. The code is Liquidsoap's: 7 paced by itself, 10 two clocks, 11 nested clocks,
/// 16 two owners, 17 two things that pace one clock.
class ClockError : public Error {
public:
    ClockError(int code, const std::string& message, std::string input_position = {})
        : Error(message), code_(code), input_position_(std::move(input_position)) {}
    int code() const noexcept { return code_; }
    const std::string& input_position() const noexcept { return input_position_; }   ///< where the script made what needs a buffer

private:
    int code_;
    std::string input_position_;
};

}  // namespace castile
