#include "frame/frame.h"

#include <algorithm>
#include <cassert>

namespace castile {

namespace {

/// Our block, grown behind its end by [from, to) of `added`.
PcmBlock joined(const PcmBlock& ours, const PcmBlock& added) {
    PcmBlock whole(added.channels(), ours.samples() + added.samples());
    if (!ours.empty()) whole.copy_from(ours, 0);
    whole.copy_from(added, ours.samples());
    return whole;
}

bool within(Ticks position, Ticks from, Ticks to) { return from <= position && position < to; }

}  // namespace

const Content* Frame::find(Name field) const noexcept {
    for (const FrameTrack& track : tracks_)
        if (track.field == field) return &track.content;
    return nullptr;
}

const PcmBlock* Frame::pcm(Name field) const noexcept { return std::get_if<PcmBlock>(find(field)); }
const PacketList* Frame::packets(Name field) const noexcept { return std::get_if<PacketList>(find(field)); }

Content& Frame::track(Name field) {
    for (FrameTrack& track : tracks_)
        if (track.field == field) return track.content;
    return tracks_.emplace_back(FrameTrack{field, {}}).content;
}

void Frame::reset() noexcept {
    length_ = {};
    for (FrameTrack& track : tracks_) {
        if (auto* packets = std::get_if<PacketList>(&track.content))
            packets->clear();  // keeps its capacity
        else
            track.content = std::monostate{};
    }
    metadata_.clear();
    track_marks_.clear();
}

void Frame::append(const Frame& other, Ticks from, Ticks to) {
    assert(from <= to && to <= other.length_);
    const Ticks shift = length_ - from;
    const bool to_the_end = to == other.length_;
    for (const FrameTrack& theirs : other.tracks_) {
        if (const auto* block = std::get_if<PcmBlock>(&theirs.content)) {
            if (block->empty()) continue;
            PcmBlock part = block->slice(static_cast<std::size_t>(from.count), static_cast<std::size_t>((to - from).count));
            if (part.empty()) continue;
            Content& ours = track(theirs.field);
            const auto* before = std::get_if<PcmBlock>(&ours);
            ours = before && !before->empty() ? joined(*before, part) : std::move(part);
        } else if (const auto* packets = std::get_if<PacketList>(&theirs.content)) {
            Content& ours = track(theirs.field);
            if (!std::holds_alternative<PacketList>(ours)) ours = PacketList{};
            auto& list = std::get<PacketList>(ours);
            for (const EncodedPacket& packet : *packets) {
                // A packet finished at the very end of the frame belongs to its last slice.
                if (!within(packet.position, from, to) && !(to_the_end && packet.position >= to)) continue;
                list.push_back(packet);
                list.back().position += shift;
            }
        }
    }
    for (const FrameMetadata& m : other.metadata_)
        if (within(m.position, from, to)) metadata_.push_back({m.position + shift, m.metadata});
    for (Ticks mark : other.track_marks_)
        if (within(mark, from, to)) track_marks_.push_back(mark + shift);
    length_ += to - from;
}

void Frame::drop_front(Ticks count) {
    assert(count <= length_);
    for (FrameTrack& track : tracks_) {
        if (auto* block = std::get_if<PcmBlock>(&track.content)) {
            if (block->empty()) continue;
            const auto dropped = static_cast<std::size_t>(count.count);
            *block = block->slice(dropped, block->samples() - dropped);
        } else if (auto* packets = std::get_if<PacketList>(&track.content)) {
            const bool all = count == length_;
            std::erase_if(*packets, [&](const EncodedPacket& p) { return all || p.position < count; });
            for (EncodedPacket& packet : *packets) packet.position -= count;
        }
    }
    std::erase_if(metadata_, [count](const FrameMetadata& m) { return m.position < count; });
    for (FrameMetadata& m : metadata_) m.position -= count;
    std::erase_if(track_marks_, [count](Ticks mark) { return mark < count; });
    for (Ticks& mark : track_marks_) mark -= count;
    length_ -= count;
}

}  // namespace castile
