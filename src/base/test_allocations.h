#pragma once
// Counts what a test program allocates with new. Included by one file of a test program: it replaces operator new.

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

#pragma GCC diagnostic ignored "-Wmismatched-new-delete"  // malloc and free are the pair here

namespace castile::test {

inline thread_local long thread_allocations = 0;     ///< calls of operator new on this thread
inline std::atomic<long> live_blocks = 0;            ///< of all threads: made and not yet deleted
inline std::atomic<long> live_bytes = 0;

inline void* counted_new(std::size_t size, std::size_t alignment = 0) {
    ++thread_allocations;
    const std::size_t bytes = size ? size : 1;
    void* p = alignment ? std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment) : std::malloc(bytes);
    if (!p) throw std::bad_alloc();
    live_blocks.fetch_add(1, std::memory_order_relaxed);
    live_bytes.fetch_add(static_cast<long>(malloc_usable_size(p)), std::memory_order_relaxed);
    return p;
}
inline void counted_delete(void* p) noexcept {
    if (!p) return;
    live_blocks.fetch_sub(1, std::memory_order_relaxed);
    live_bytes.fetch_sub(static_cast<long>(malloc_usable_size(p)), std::memory_order_relaxed);
    std::free(p);
}

}  // namespace castile::test

void* operator new(std::size_t size) { return castile::test::counted_new(size); }
void* operator new(std::size_t size, std::align_val_t alignment) { return castile::test::counted_new(size, static_cast<std::size_t>(alignment)); }
void operator delete(void* p) noexcept { castile::test::counted_delete(p); }
void operator delete(void* p, std::size_t) noexcept { castile::test::counted_delete(p); }
void operator delete(void* p, std::align_val_t) noexcept { castile::test::counted_delete(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { castile::test::counted_delete(p); }
