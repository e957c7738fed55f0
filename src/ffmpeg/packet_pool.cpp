#include "ffmpeg/packet_pool.h"

#include <mutex>
#include <new>
#include <vector>

#include "ffmpeg/compat.h"
#include "ffmpeg/handles.h"

namespace castile::ffmpeg {
namespace {

constexpr std::size_t kept_at_most = 4096;

/// Blocks of one size. Held for a few instructions only, so that a tick never waits for a slower thread.
class FreeList {
public:
    FreeList() { free_.reserve(kept_at_most); }
    void* take() noexcept {
        const std::lock_guard lock(free_mutex_);
        if (free_.empty()) return nullptr;
        void* block = free_.back();
        free_.pop_back();
        return block;
    }
    bool put(void* block) noexcept {
        const std::lock_guard lock(free_mutex_);
        if (free_.size() == kept_at_most) return false;
        free_.push_back(block);
        return true;
    }

private:
    std::mutex free_mutex_;  // guards free_
    std::vector<void*> free_;
};

// Never destroyed: a packet may outlive static destruction.
FreeList& packets() {
    static FreeList& list = *new FreeList;
    return list;
}

FreeList& control_blocks() {
    static FreeList& list = *new FreeList;
    return list;
}

/// Allocator of the shared_ptr control blocks (all of one size).
template <class T>
struct ControlAllocator {
    using value_type = T;
    ControlAllocator() = default;
    template <class U>
    ControlAllocator(const ControlAllocator<U>&) noexcept {}
    T* allocate(std::size_t count) {
        if (count == 1)
            if (void* block = control_blocks().take()) return static_cast<T*>(block);
        return static_cast<T*>(::operator new(count * sizeof(T)));
    }
    void deallocate(T* block, std::size_t count) noexcept {
        if (count != 1 || !control_blocks().put(block)) ::operator delete(block);
    }
    friend bool operator==(ControlAllocator, ControlAllocator) noexcept { return true; }
};

struct Recycle {
    void operator()(AVPacket* packet) const noexcept {
        av_packet_unref(packet);
        if (!packets().put(packet)) av_packet_free(&packet);
    }
};

}  // namespace

std::shared_ptr<AVPacket> pooled_packet() {
    auto* packet = static_cast<AVPacket*>(packets().take());
    if (!packet) packet = make_packet().release();
    return std::shared_ptr<AVPacket>(packet, Recycle{}, ControlAllocator<char>{});
}

}  // namespace castile::ffmpeg
