#include "sched/iso_queue.h"

#include <algorithm>

namespace castile::detail {

bool IsoQueue::later(const IsoEntry* a, const IsoEntry* b) noexcept {
    if (a->deadline != b->deadline) return a->deadline > b->deadline;
    const int pa = a->task->priority(), pb = b->task->priority();
    if (pa != pb) return pa < pb;
    return a->sequence > b->sequence;
}

void IsoQueue::push(IsoEntry* entry) {
    entry->sequence = next_sequence_++;
    heap_.push_back(entry);
    std::push_heap(heap_.begin(), heap_.end(), later);
}

void IsoQueue::erase(IsoEntry* entry) noexcept {
    std::erase(heap_, entry);
    std::make_heap(heap_.begin(), heap_.end(), later);
}

void IsoQueue::update(IsoEntry* entry, Instant deadline) noexcept {
    entry->deadline = deadline;
    std::make_heap(heap_.begin(), heap_.end(), later);
}

IsoEntry* IsoQueue::pop(Instant now, Duration overload) noexcept {
    if (heap_.empty()) return nullptr;
    IsoEntry* best = heap_.front();
    if (best->deadline != Instant::max() && now - best->deadline > overload) {
        for (IsoEntry* entry : heap_)
            if (entry->deadline <= now && entry->task->priority() > best->task->priority()) best = entry;
    }
    if (best != heap_.front()) {
        erase(best);
        return best;
    }
    std::pop_heap(heap_.begin(), heap_.end(), later);
    heap_.pop_back();
    return best;
}

}  // namespace castile::detail
