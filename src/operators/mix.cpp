#include "operators/mix.h"

#include <algorithm>
#include <cmath>

namespace castile::operators {

Mix::Mix(std::string name, std::vector<Input> inputs, std::function<bool()> normalize, std::function<bool()> power)
    : Source(std::move(name)), sources_(std::move(inputs)), normalize_(std::move(normalize)), power_(std::move(power)) {
    for (const Input& input : sources_) add_input(input.source, true);
    ready_.reserve(sources_.size());
}

bool Mix::fallible() const noexcept {
    return std::all_of(sources_.begin(), sources_.end(), [](const Input& i) { return i.source->fallible(); });
}

bool Mix::live() const noexcept {
    return std::any_of(sources_.begin(), sources_.end(), [](const Input& i) { return i.source->live(); });
}

std::optional<Ticks> Mix::remaining() noexcept {
    std::optional<Ticks> most;
    for (const Input& input : sources_) {
        if (!input.source->ready()) continue;
        if (const auto left = input.source->remaining()) most = std::max(most.value_or(Ticks{}), *left);
    }
    return most;
}

void Mix::skip() noexcept {
    for (const Input& input : sources_) input.source->skip();
}

Source* Mix::effective_source() noexcept { return sources_.size() == 1 ? sources_[0].source->effective_source() : this; }

bool Mix::can_generate() noexcept {
    return std::any_of(sources_.begin(), sources_.end(), [](const Input& i) { return i.source->ready(); });
}

void Mix::generate(Frame& out, Ticks wanted) noexcept {
    const bool power = power_ && power_();
    double total = 0;
    Ticks length;
    ready_.clear();
    for (const Input& input : sources_) {
        if (!input.source->ready()) continue;
        const Frame& frame = input.source->peek_frame();
        const double weight = input.weight ? input.weight() : 1.;
        total += power ? weight * weight : weight;
        length = std::max(length, std::min(wanted, frame.length()));
        ready_.push_back({&frame, weight});
    }
    if (power) total = std::sqrt(total);
    if (!normalize_ || !normalize_() || total == 0) total = 1;
    for (const Ready& ready : ready_)
        for (const FrameTrack& track : ready.frame->tracks())
            if (const auto* pcm = std::get_if<PcmBlock>(&track.content); pcm && !pcm->empty() && !out.pcm(track.field)) add_track(out, track.field, length, total);
    if (!ready_.empty()) {  // tracks begin and end as those of the first
        const Frame& first = *ready_.front().frame;
        for (const FrameTrack& track : first.tracks())
            if (const auto* packets = std::get_if<PacketList>(&track.content)) out.track(track.field) = *packets;
        for (const Ticks mark : first.track_marks())
            if (mark < length) out.track_marks().push_back(mark);
    }
    add_metadata(out, length);
    out.set_length(length);
    for (const Input& input : sources_)
        if (input.source->ready()) input.source->consume(length);
}

void Mix::add_metadata(Frame& out, Ticks length) noexcept {
    auto& all = out.metadata();
    for (const Ready& ready : ready_)
        for (const FrameMetadata& m : ready.frame->metadata())
            if (m.position < length) all.push_back(m);
    if (ready_.size() > 1) std::ranges::stable_sort(all, {}, &FrameMetadata::position);
}

void Mix::add_track(Frame& out, Name field, Ticks length, double total) noexcept {
    const auto samples = static_cast<std::size_t>(length.count);
    PcmBlock sum;
    for (const Ready& ready : ready_) {
        const PcmBlock* pcm = ready.frame->pcm(field);
        if (!pcm || pcm->empty()) continue;
        const auto gain = static_cast<float>(ready.weight / total);
        const std::size_t n = std::min(samples, pcm->samples());
        if (sum.empty()) {
            if (n == samples && gain == 1.f) {  // shared until something is added
                sum = pcm->slice(0, samples);
                continue;
            }
            sum = PcmBlock(pcm->channels(), samples);
            sum.clear();
        }
        for (int c = 0; c < std::min(sum.channels(), pcm->channels()); ++c) {
            const auto from = pcm->channel(c);
            const auto to = sum.write(c);
            for (std::size_t i = 0; i < n; ++i) to[i] += gain * from[i];
        }
    }
    out.track(field) = std::move(sum);
}

}  // namespace castile::operators
