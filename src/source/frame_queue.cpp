#include "source/frame_queue.h"

#include <algorithm>

namespace castile {

void FrameQueue::push(const Frame& frame) {
    if (frame.length().count <= 0) return;
    if (used_ == slots_.size()) {
        std::rotate(slots_.begin(), slots_.begin() + static_cast<std::ptrdiff_t>(head_), slots_.end());
        head_ = 0;
        slots_.resize(std::max<std::size_t>(8, 2 * slots_.size()));
    }
    slots_[(head_ + used_) % slots_.size()] = frame;
    ++used_;
    length_ += frame.length();
}

void FrameQueue::release_front() noexcept {
    front().reset();
    front().tracks().clear();   // gives the PCM back
    head_ = (head_ + 1) % slots_.size();
    --used_;
    offset_ = {};
}

void FrameQueue::pop(Frame& out, Ticks wanted) {
    while (wanted.count > 0 && used_ > 0) {
        const Frame& frame = front();
        const Ticks left = frame.length() - offset_;
        const Ticks taken = std::min(left, wanted);
        if (offset_.count == 0 && taken == left && out.length().count == 0)
            out = frame;
        else
            out.append(frame, offset_, offset_ + taken);
        wanted -= taken;
        length_ -= taken;
        offset_ += taken;
        if (taken == left) release_front();
    }
}

void FrameQueue::drop_front(Ticks count) noexcept {
    while (count.count > 0 && used_ > 0) {
        const Ticks taken = std::min(front().length() - offset_, count);
        count -= taken;
        length_ -= taken;
        offset_ += taken;
        if (offset_ >= front().length()) release_front();
    }
}

}  // namespace castile
