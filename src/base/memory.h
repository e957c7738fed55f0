#pragma once
// What the process holds in memory, by the system's account and by the allocator's.

#include <cstdint>
#include <optional>
#include <string>

namespace castile {

/// In bytes, from /proc. 0 where the system does not say.
struct ProcessMemory {
    std::int64_t resident = 0;    ///< RSS: in memory now, pages of shared libraries included
    std::int64_t anonymous = 0;   ///< the part of it that is the process's own
    std::int64_t virtual_size = 0;
    std::int64_t swapped = 0;
};
ProcessMemory process_memory();

/// In bytes; nothing where the allocator does not say (mimalloc counts no live bytes).
struct AllocatorMemory {
    std::optional<std::int64_t> allocated;   ///< handed out and not yet given back
    std::optional<std::int64_t> retained;    ///< held from the system, and free
};
AllocatorMemory allocator_memory();

/// "system (glibc 2.36)", "jemalloc 5.3.0": the one that serves this process, asked at run time.
std::string allocator_name();

/// Once, at start, before there are threads: bounds what the allocator keeps for itself (CASTILE_ALLOCATOR at build time).
void tune_allocator() noexcept;
/// Gives free memory back to the system.
void release_free_memory() noexcept;
/// Lets go of the pages of shared libraries that were read to load them; what is still needed comes back by itself. Any thread.
void release_library_pages() noexcept;

}  // namespace castile
