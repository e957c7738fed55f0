#include "clock/sync_source.h"

#include <atomic>

namespace castile {

namespace {
std::atomic<int> count = 0;
}

SyncSource::SyncSource() noexcept { count.fetch_add(1, std::memory_order_relaxed); }
SyncSource::~SyncSource() { count.fetch_sub(1, std::memory_order_relaxed); }
bool SyncSource::any() noexcept { return count.load(std::memory_order_relaxed) > 0; }

}  // namespace castile
