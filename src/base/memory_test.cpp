#include "base/memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

namespace castile {
namespace {

TEST(Memory, SeesWhatIsAllocatedAndWhatWasGivenBack) {
    constexpr std::size_t size = 16u << 20;
    const ProcessMemory before = process_memory();
    const AllocatorMemory allocated_before = allocator_memory();
    auto block = std::make_unique<char[]>(size);
    std::memset(block.get(), 1, size);
    const ProcessMemory with = process_memory();
    EXPECT_GT(with.resident - before.resident, static_cast<std::int64_t>(size / 2));
    EXPECT_GT(with.anonymous - before.anonymous, static_cast<std::int64_t>(size / 2));
    EXPECT_GE(with.virtual_size, with.resident);
    // Nothing is said by mimalloc, and by the allocators of the sanitizers.
    const AllocatorMemory allocated_with = allocator_memory();
    const bool counted = allocated_before.allocated && *allocated_before.allocated > 0;
    if (counted) { EXPECT_GE(*allocated_with.allocated - *allocated_before.allocated, static_cast<std::int64_t>(size)); }
    block.reset();
    release_free_memory();
    if (counted) { EXPECT_LT(*allocator_memory().allocated - *allocated_before.allocated, static_cast<std::int64_t>(size / 2)); }
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    EXPECT_LT(process_memory().resident - before.resident, static_cast<std::int64_t>(size / 2));
#endif
}

TEST(Memory, NamesTheAllocatorWithItsVersion) { EXPECT_TRUE(allocator_name().find_first_of("0123456789") != std::string::npos) << allocator_name(); }

}  // namespace
}  // namespace castile
