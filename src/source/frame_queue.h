#pragma once
// Frames in a row, taken out in pieces of any length: what lies between two clocks.

#include <vector>

#include "frame/frame.h"

namespace castile {

/// PCM is shared, not copied, when whole frames go in and out. Keeps its slots: steady state allocates nothing. One thread at a
/// time; the owner has the lock.
class FrameQueue {
public:
    void push(const Frame& frame);
    Ticks length() const noexcept { return length_; }
    void pop(Frame& out, Ticks wanted);      ///< Appends up to `wanted`.
    void drop_front(Ticks count) noexcept;
    void clear() noexcept { drop_front(length_); }

private:
    Frame& front() noexcept { return slots_[head_]; }
    void release_front() noexcept;

    std::vector<Frame> slots_;               ///< a ring
    std::size_t head_ = 0, used_ = 0;
    Ticks offset_;                           ///< of the first frame: taken already
    Ticks length_;
};

}  // namespace castile
