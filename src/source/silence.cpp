#include "source/silence.h"

#include <algorithm>

namespace castile {

Silence::Silence(std::string operator_name, std::function<double()> duration) : Source(std::move(operator_name)), duration_(std::move(duration)) {}

std::optional<Ticks> Silence::remaining() noexcept { return left_; }

void Silence::on_wake_up() {
    tracks_.clear();
    static const Name audio{"audio"};
    std::vector<Name> fields = content_fields(content());
    if (fields.empty()) fields.push_back(audio);
    for (const Name field : fields) {
        const ContentFormat format = content_format(content(), field);
        if (format.kind == ContentFormat::Kind::none) continue;
        Track track{field, {}};
        if (format.kind != ContentFormat::Kind::packets) {
            const int channels = format.channels > 0 ? format.channels : stream_parameters().channels;
            track.silence = PcmBlock(channels, static_cast<std::size_t>(stream_parameters().frame_size.count));
            track.silence.clear();
        }
        tracks_.push_back(std::move(track));
    }
}

void Silence::generate(Frame& out, Ticks wanted) noexcept {
    for (const Track& track : tracks_) {
        if (track.silence.empty())
            out.track(track.field) = PacketList{};
        else
            out.track(track.field) = track.silence.slice(0, static_cast<std::size_t>(wanted.count));
    }
    out.set_length(wanted);
    for (Ticks at; at < wanted;) {
        if (left_ && left_->count <= 0) {
            out.track_marks().push_back(at);
            const double seconds = duration_ ? duration_() : -1;
            left_ = seconds < 0 ? std::nullopt : std::optional(std::max(Ticks{1}, ticks_from_seconds(std::min(seconds, 1e9))));
        }
        const Ticks step = left_ ? std::min(*left_, wanted - at) : wanted - at;
        if (left_) *left_ -= step;
        at += step;
    }
}

}  // namespace castile
