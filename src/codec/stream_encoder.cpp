#include "codec/stream_encoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/settings.h"
#include "ffmpeg/catalogue.h"
#include "ffmpeg/packet_view.h"

namespace castile {
namespace {

constexpr std::size_t waiting_at_most = 1000;   // packets of a track while another has none

const Setting<std::vector<std::string>> exported{
    "encoder.metadata.export",
    {"artist", "title", "album", "genre", "date", "tracknumber", "comment", "track", "year", "dj", "next", "apic", "pic", "metadata_url",
     "metadata_block_picture", "coverart"},
    "Labels of the metadata that encoders put into streams."};

/// The two sizes of a WAV header, for a stream whose length is known beforehand.
void set_wav_sizes(std::vector<std::uint8_t>& bytes, std::uint32_t data) {
    const auto put = [&](std::size_t at, std::uint32_t value) {
        for (std::size_t i = 0; i < 4; ++i) bytes[at + i] = static_cast<std::uint8_t>(value >> (8 * i));
    };
    if (bytes.size() < 12 || std::memcmp(bytes.data() + bytes.size() - 8, "data", 4) != 0) return;
    put(4, static_cast<std::uint32_t>(bytes.size()) - 8 + data);
    put(bytes.size() - 4, data);
}

}  // namespace

MediaStreamEncoder::MediaStreamEncoder(const MediaSpec& spec, const EncoderOptions& options) : spec_(spec), options_(options), tags_(spec.tags) {
    for (const TrackSpec& track : spec_.tracks)
        if (track.mode != TrackSpec::Mode::drop) tracks_.push_back({.spec = &track});
    out_.reserve(4096);   // a tick of most streams
    open_encoders();
}

void MediaStreamEncoder::open_encoders() {
    for (Track& track : tracks_) {
        track.started = false;
        track.shift = track.next = 0;
        if (track.spec->mode != TrackSpec::Mode::encode) continue;
        track.encoder = std::make_unique<TrackEncoder>(*track.spec);
        track.stream = track.encoder->stream();
    }
    encoded_ = false;
}

bool MediaStreamEncoder::adopt(const Metadata& metadata) {
    std::vector<std::pair<std::string, std::string>> tags = spec_.tags;
    const std::vector<std::string> labels = exported.get();
    for (const auto& [label, value] : metadata.entries())
        if (!value.empty() && std::ranges::find(labels, label) != labels.end()) tags.emplace_back(label, value);
    if (tags == tags_) return false;
    tags_ = std::move(tags);
    return true;
}

void MediaStreamEncoder::encode(const Frame& frame, ByteSink& sink) {
    Ticks from;
    if (spec_.chain || (spec_.tag_at_start && !muxer_)) {
        for (const FrameMetadata& change : frame.metadata()) {
            if (!change.metadata || !adopt(*change.metadata) || !spec_.chain) continue;
            encode_part(frame, from, change.position, sink);
            from = change.position;
            if (!encoded_) continue;   // the header is still to come
            finish(sink);
            open_encoders();
        }
    }
    encode_part(frame, from, frame.length(), sink);
    deliver(sink);
}

void MediaStreamEncoder::encode_part(const Frame& frame, Ticks from, Ticks to, ByteSink& sink) {
    if (from >= to) return;
    for (Track& track : tracks_) {
        if (!track.encoder) {
            if (const PacketList* packets = frame.packets(track.spec->field)) take(track, *packets, sink);
            continue;
        }
        const PcmBlock* pcm = frame.pcm(track.spec->field);
        if (!pcm || pcm->empty()) continue;
        encoded_ = true;
        packets_.clear();
        const auto length = static_cast<std::int64_t>(pcm->samples());
        const Ticks end = std::min(to, Ticks{length});
        if (from.count == 0 && end.count == length)
            track.encoder->encode(*pcm, packets_);
        else if (from < end)
            track.encoder->encode(pcm->slice(static_cast<std::size_t>(from.count), static_cast<std::size_t>((end - from).count)), from, packets_);
        take(track, packets_, sink);
        packets_.clear();
    }
}

void MediaStreamEncoder::take(Track& track, const PacketList& packets, ByteSink& sink) {
    for (const EncodedPacket& packet : packets) {
        if (!track.started || packet.stream != track.stream) begin_stream(track, packet, sink);
        if (!muxer_ && !open_muxer(sink)) {
            if (track.waiting.size() < waiting_at_most) track.waiting.push_back(packet);
            continue;
        }
        write(track, packet, sink);
    }
}

void MediaStreamEncoder::begin_stream(Track& track, const EncodedPacket& first, ByteSink& sink) {
    const std::int64_t pts = ffmpeg::packet_view(*first.data).pts;
    if (!track.started) {
        // A late output of a shared encoder: files start at zero, segments stay on the encoder's own line and grid.
        track.shift = !track.encoder && !options_.segment && pts > 0 ? -pts : 0;
        track.next = pts + track.shift;
    } else {
        // The encoder behind us was replaced; our line goes on.
        const bool same = ffmpeg::same_parameters(*track.stream, *first.stream);
        if (!same && muxer_) {
            muxer_->finish();
            deliver(sink);
            muxer_.reset();
        }
        if (!same) track.next = track.next * track.stream->time_base_num * first.stream->time_base_den / (track.stream->time_base_den * first.stream->time_base_num);
        track.shift = track.next - pts;
    }
    track.stream = first.stream;
    track.started = true;
    if (&track == &tracks_.front() && options_.segment) {
        const double start = static_cast<double>(track.next) * track.stream->time_base_num / track.stream->time_base_den;
        segment_ = std::max<std::int64_t>(segment_, static_cast<std::int64_t>(std::floor(start / *options_.segment + 1e-9)) + 1);
    }
}

bool MediaStreamEncoder::open_muxer(ByteSink& sink) {
    std::vector<std::shared_ptr<const PacketStream>> streams;
    for (const Track& track : tracks_) {
        if (!track.stream) return false;
        streams.push_back(track.stream);
    }
    const bool first = out_.empty();
    muxer_ = std::make_unique<ffmpeg::Muxer>(
        ffmpeg::MuxerSpec{.container = spec_.container, .options = spec_.options, .tags = tags_, .segmented = options_.segment.has_value()}, streams, out_);
    using Kind = ffmpeg::ContainerTraits::Kind;
    const Kind kind = muxer_->traits().kind;
    if (first && spec_.wav_duration) {
        const auto& encoder = tracks_.front().spec->encoder;
        const int bytes = encoder.codec.ends_with("s32le") ? 4 : encoder.codec.ends_with("s24le") ? 3 : encoder.codec.ends_with("u8") ? 1 : 2;
        const int rate = encoder.samplerate > 0 ? encoder.samplerate : stream_parameters().samplerate;
        set_wav_sizes(out_, static_cast<std::uint32_t>(std::lround(*spec_.wav_duration * rate) * bytes * encoder.channels));
    }
    if (first && (kind == Kind::headed || kind == Kind::fmp4)) {
        header_ = make_bytes(out_);
        if (kind == Kind::fmp4 && options_.global_header) out_.clear();   // the initialisation segment is a file of its own
    }
    for (Track& track : tracks_) {
        for (const EncodedPacket& packet : track.waiting) write(track, packet, sink);
        track.waiting = {};
    }
    return true;
}

void MediaStreamEncoder::write(Track& track, const EncodedPacket& packet, ByteSink& sink) {
    const ffmpeg::PacketView view = ffmpeg::packet_view(*packet.data);
    const std::int64_t pts = view.pts + track.shift;
    const PacketStream& stream = *track.stream;
    if (options_.segment && &track == &tracks_.front()) {
        const double at = static_cast<double>(pts) * stream.time_base_num / stream.time_base_den;
        if (at >= static_cast<double>(segment_) * *options_.segment - 1e-9) {
            muxer_->cut();
            deliver(sink);
            sink.boundary(at);
            segment_ = static_cast<std::int64_t>(std::floor(at / *options_.segment + 1e-9)) + 1;
        }
    }
    muxer_->write(static_cast<std::size_t>(&track - tracks_.data()), *packet.data, track.shift);
    track.next = pts + view.duration;
}

void MediaStreamEncoder::deliver(ByteSink& sink) {
    if (muxer_) muxer_->drain();
    if (out_.empty()) return;
    sink.write(out_);
    out_.clear();
}

void MediaStreamEncoder::finish(ByteSink& sink) {
    for (Track& track : tracks_) {
        if (!track.encoder) continue;
        packets_.clear();
        track.encoder->flush(packets_);
        take(track, packets_, sink);
        packets_.clear();
    }
    if (muxer_) muxer_->finish();
    deliver(sink);
    muxer_.reset();
}

void MediaStreamEncoder::flush(ByteSink& sink) { finish(sink); }

std::string MediaStreamEncoder::codecs() const {
    std::string all;
    for (const Track& track : tracks_)
        if (track.stream) all += (all.empty() ? "" : ",") + ffmpeg::codecs_string(*track.stream);
    return all;
}

int MediaStreamEncoder::bitrate() const {
    int total = 0;
    for (const Track& track : tracks_)
        if (track.stream) total += ffmpeg::bitrate(*track.stream);
    return total;
}

}  // namespace castile
