#include "operators/rotation.h"

#include <algorithm>

namespace castile::operators {

namespace {

int weight_of(const Switcher::Child& child) noexcept { return child.weight ? std::max(0, child.weight()) : 1; }

}  // namespace

int Rotate::choose(bool boundary) noexcept {
    auto& all = entries();
    const int now = current();
    if (now >= 0) {
        Switcher::Entry& entry = all[static_cast<std::size_t>(now)];
        if (!boundary) return now;
        if (!entry.child.single && entry.tracks < weight_of(entry.child) && has_data(entry)) return now;
    }
    const int count = static_cast<int>(all.size());
    int weightless = -1;
    for (int step = 1; step <= count; ++step) {
        const int index = (last_ + step + count) % count;
        Switcher::Entry& entry = all[static_cast<std::size_t>(index)];
        if ((index == now && entry.child.single) || !has_data(entry)) continue;
        if (weight_of(entry.child) == 0) {
            if (weightless < 0) weightless = index;
            continue;
        }
        if (index == now) entry.tracks = 0;  // its turn again
        return last_ = index;
    }
    return weightless;
}

int Random::choose(bool boundary) noexcept {
    auto& all = entries();
    const int now = current();
    if (now >= 0 && !boundary) return now;
    std::int64_t total = 0;
    int any = -1;
    const auto candidate = [&](std::size_t i) { return !(static_cast<int>(i) == now && all[i].child.single) && has_data(all[i]); };
    for (std::size_t i = 0; i < all.size(); ++i)
        if (candidate(i)) {
            total += weight_of(all[i].child);
            if (any < 0) any = static_cast<int>(i);
        }
    if (total == 0) return any;
    std::int64_t pick = std::uniform_int_distribution<std::int64_t>(0, total - 1)(generator_);
    for (std::size_t i = 0; i < all.size(); ++i)
        if (candidate(i) && (pick -= weight_of(all[i].child)) < 0) return static_cast<int>(i);
    return any;
}

Sequence::Sequence(std::vector<Child> children, bool merge, bool single_track)
    : Switcher("sequence", std::move(children)), merge_(merge), single_track_(single_track) {}

bool Sequence::fallible() const noexcept { return inputs().empty() || inputs().back()->fallible(); }

std::optional<Ticks> Sequence::remaining() noexcept {
    if (!merge_) return Switcher::remaining();
    Ticks sum;
    for (const SourcePtr& source : queue()) {
        const auto left = source->remaining();
        if (!left) return std::nullopt;
        sum += *left;
    }
    return sum;
}

void Sequence::skip() noexcept {
    if (merge_) {  // the whole was one track
        for (; head_ + 1 < entries().size(); ++head_) drop(static_cast<int>(head_));
        return;
    }
    Switcher::skip();
}

int Sequence::choose(bool boundary) noexcept {
    auto& all = entries();
    if (all.empty()) return -1;
    if (!started_) {  // nothing is over before anything has begun
        started_ = std::any_of(all.begin(), all.end(), [this](Switcher::Entry& e) { return has_data(e); });
        if (!started_) return -1;
    }
    const int now = current();
    if (now == static_cast<int>(head_) && !boundary) return now;
    if (boundary && now == static_cast<int>(head_) && single_track_ && head_ + 1 < all.size()) drop(static_cast<int>(head_++));
    while (head_ + 1 < all.size() && !has_data(all[head_])) drop(static_cast<int>(head_++));
    return has_data(all[head_]) ? static_cast<int>(head_) : -1;
}

}  // namespace castile::operators
