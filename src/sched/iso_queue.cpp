#include "sched/iso_queue.h"

#include <algorithm>

namespace castile::detail {

namespace {
constexpr std::size_t looked_at = 8;  // entries at the front of the heap: about the earliest
}

bool IsoQueue::later(const IsoEntry* a, const IsoEntry* b) noexcept {
    if (a->deadline != b->deadline) return a->deadline > b->deadline;
    if (a->priority != b->priority) return a->priority < b->priority;
    return a->sequence > b->sequence;
}

void IsoQueue::push(IsoEntry* entry) {
    entry->sequence = next_sequence_++;
    entry->priority = entry->task->priority();
    if (entry->priority != 0) ++with_priority_;
    heap_.push_back(entry);
    std::push_heap(heap_.begin(), heap_.end(), later);
}

void IsoQueue::erase(IsoEntry* entry) noexcept {
    if (std::erase(heap_, entry) == 0) return;
    if (entry->priority != 0) --with_priority_;
    std::make_heap(heap_.begin(), heap_.end(), later);
}

void IsoQueue::update(IsoEntry* entry, Instant deadline) noexcept {
    entry->deadline = deadline;
    std::make_heap(heap_.begin(), heap_.end(), later);
}

IsoEntry* IsoQueue::pop(Instant now, const Worker* worker) noexcept {
    if (heap_.empty()) return nullptr;
    IsoEntry* best = heap_.front();
    if (best->deadline <= now) {
        if (with_priority_ > 0)
            for (IsoEntry* entry : heap_)
                if (entry->deadline <= now && (entry->priority > best->priority || (entry->priority == best->priority && later(best, entry)))) best = entry;
    } else if (worker && best->last_worker != worker) {
        for (std::size_t i = 1; i < std::min(looked_at, heap_.size()); ++i) {
            IsoEntry* entry = heap_[i];
            if (entry->last_worker != worker || entry->deadline == Instant::max() || entry->deadline - entry->task->slack() > now) continue;
            best = entry;
            break;
        }
    }
    if (best != heap_.front()) {
        erase(best);
        return best;
    }
    if (best->priority != 0) --with_priority_;
    std::pop_heap(heap_.begin(), heap_.end(), later);
    heap_.pop_back();
    return best;
}

}  // namespace castile::detail
