// Asks /proc and whichever allocator was linked (CASTILE_ALLOCATOR).

#include "base/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#if defined(CASTILE_ALLOCATOR_JEMALLOC)
#include <jemalloc/jemalloc.h>
#elif defined(CASTILE_ALLOCATOR_MIMALLOC)
#include <mimalloc.h>
#else
#include <gnu/libc-version.h>
#include <malloc.h>
#endif

namespace castile {

ProcessMemory process_memory() {
    ProcessMemory memory;
    std::FILE* file = std::fopen("/proc/self/status", "re");
    if (!file) return memory;
    const std::pair<const char*, std::int64_t*> fields[] = {
        {"VmRSS:", &memory.resident}, {"RssAnon:", &memory.anonymous}, {"VmSize:", &memory.virtual_size}, {"VmSwap:", &memory.swapped}};
    char line[256];
    while (std::fgets(line, sizeof line, file))
        for (const auto& [name, value] : fields)
            if (std::strncmp(line, name, std::strlen(name)) == 0) *value = 1024 * std::strtoll(line + std::strlen(name), nullptr, 10);
    std::fclose(file);
    return memory;
}

#if defined(CASTILE_ALLOCATOR_JEMALLOC)

namespace {

std::optional<std::int64_t> counter(const char* name) noexcept {
    std::size_t value = 0, size = sizeof value;
    if (mallctl(name, &value, &size, nullptr, 0) != 0) return std::nullopt;
    return static_cast<std::int64_t>(value);
}

}  // namespace

AllocatorMemory allocator_memory() {
    std::uint64_t epoch = 1;  // without a new one the figures are old
    std::size_t size = sizeof epoch;
    mallctl("epoch", &epoch, &size, &epoch, size);
    AllocatorMemory memory{counter("stats.allocated"), counter("stats.resident")};
    if (memory.allocated && memory.retained) memory.retained = std::max<std::int64_t>(0, *memory.retained - *memory.allocated);
    return memory;
}

std::string allocator_name() {
    const char* version = nullptr;
    std::size_t size = sizeof version;
    if (mallctl("version", &version, &size, nullptr, 0) != 0 || !version) return "jemalloc";
    return "jemalloc " + std::string(version).substr(0, std::string(version).find('-'));
}

void tune_allocator() noexcept {}  // malloc_conf below is read before main

void release_free_memory() noexcept {
    char all[32];
    std::snprintf(all, sizeof all, "arena.%u.purge", static_cast<unsigned>(MALLCTL_ARENAS_ALL));
    mallctl(all, nullptr, nullptr, nullptr, 0);
}

}  // namespace castile

// Few arenas: the workers share what they free. What was freed goes back to the system within seconds.
extern "C" {
const char* malloc_conf = "narenas:2,tcache_max:4096,dirty_decay_ms:2000,muzzy_decay_ms:0,abort_conf:false";
}

#elif defined(CASTILE_ALLOCATOR_MIMALLOC)

AllocatorMemory allocator_memory() { return {}; }

std::string allocator_name() {
    const int version = mi_version();  // 209 = 2.0.9
    return fmt::format("mimalloc {}.{}.{}", version / 100, version / 10 % 10, version % 10);
}

void tune_allocator() noexcept {}

void release_free_memory() noexcept { mi_collect(true); }

}  // namespace castile

#else

AllocatorMemory allocator_memory() {
    const struct mallinfo2 info = mallinfo2();  // of all arenas
    return {static_cast<std::int64_t>(info.uordblks + info.hblkhd), static_cast<std::int64_t>(info.fordblks)};
}

std::string allocator_name() { return std::string("system (glibc ") + gnu_get_libc_version() + ")"; }

void tune_allocator() noexcept {
    // An arena a thread means that what one thread frees the others cannot use; the ticks allocate next to nothing, so that
    // sharing costs nothing either. A fixed threshold keeps large blocks out of the arenas: they go back when freed.
    mallopt(M_ARENA_MAX, 2);
    mallopt(M_MMAP_THRESHOLD, 256 << 10);
    mallopt(M_TRIM_THRESHOLD, 512 << 10);
    mallopt(M_TOP_PAD, 64 << 10);
}

void release_free_memory() noexcept { malloc_trim(0); }

}  // namespace castile

#endif
