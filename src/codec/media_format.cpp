#include "codec/media_format.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <set>

#include "base/error.h"
#include "codec/stream_encoder.h"
#include "ffmpeg/catalogue.h"

namespace castile {
namespace {

/// "128k" and "128000" in bits per second; 0 when it is neither.
int parse_bitrate(const std::string& text) {
    char* end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    if (*end == 'k' || *end == 'K') return static_cast<int>(number * 1000);
    if (*end == 'M') return static_cast<int>(number * 1e6);
    return *end == '\0' ? static_cast<int>(number) : 0;
}

}  // namespace

MediaFormat::MediaFormat(MediaSpec spec) : spec_(std::move(spec)), traits_(ffmpeg::container_traits(spec_.container)) {
    for (TrackSpec& track : spec_.tracks) {
        if (spec_.shared) track.encoder.shared_options = spec_.options;
        ContentFormat content;
        switch (track.mode) {
            case TrackSpec::Mode::encode: content = {ContentFormat::Kind::pcm, track.encoder.channels}; break;
            case TrackSpec::Mode::copy: content = {ContentFormat::Kind::packets, 0}; break;
            case TrackSpec::Mode::drop: content = {ContentFormat::Kind::any, 0}; break;
        }
        tracks_.push_back({track.field, content});
    }
}

std::unique_ptr<StreamEncoder> MediaFormat::open(const EncoderOptions& options) const {
    if (spec_.container.empty()) throw Error(fmt::format("{}: no format is given, such as format=\"mp3\".", spec_.literal));
    if (std::ranges::all_of(spec_.tracks, [](const TrackSpec& track) { return track.mode == TrackSpec::Mode::drop; }))
        throw Error(fmt::format("{}: there is no track to encode or copy.", spec_.literal));
    return std::make_unique<MediaStreamEncoder>(spec_, options);
}

void MediaFormat::check() const {
    static std::mutex checked_mutex;   // guards checked
    static std::set<std::string> checked;
    {
        const std::lock_guard lock(checked_mutex);
        if (checked.contains(spec_.literal)) return;
    }
    std::vector<std::string> unknown;
    for (const auto& [name, value] : spec_.options) unknown.push_back(name);
    const auto consume = [&](const std::vector<std::string>& left) {
        std::erase_if(unknown, [&](const std::string& name) { return std::ranges::find(left, name) == left.end(); });
    };

    std::vector<std::shared_ptr<const PacketStream>> streams;
    bool copies = false;
    for (const TrackSpec& track : spec_.tracks) {
        if (track.mode == TrackSpec::Mode::copy) copies = true;
        if (track.mode != TrackSpec::Mode::encode) continue;
        const TrackEncoder encoder(track);
        if (spec_.shared) consume(encoder.unknown_shared_options());
        streams.push_back(encoder.stream());
    }
    if (!spec_.container.empty()) {
        if (!ffmpeg::has_container(spec_.container))
            throw Error(fmt::format("{}: Unknown format: \"{}\" (see ffmpeg -muxers).", spec_.literal, spec_.container));
        if (copies || streams.empty()) {
            // The container cannot be opened before the first packets are there.
            std::erase_if(unknown, [&](const std::string& name) { return ffmpeg::container_has_option(spec_.container, name); });
        } else {
            std::vector<std::uint8_t> bytes;
            try {
                const ffmpeg::Muxer muxer({.container = spec_.container, .options = spec_.options, .tags = spec_.tags}, streams, bytes);
                consume(muxer.unknown_options());
            } catch (const Error& error) {
                throw Error(fmt::format("{}: {}", spec_.literal, error.what()));
            }
        }
    }
    if (!unknown.empty()) throw Error(fmt::format("{}: Unrecognized options: {}.", spec_.literal, fmt::join(unknown, ", ")));
    const std::lock_guard lock(checked_mutex);
    checked.insert(spec_.literal);
}

int MediaFormat::bitrate() const {
    int total = 0;
    for (const TrackSpec& track : spec_.tracks) {
        if (track.mode != TrackSpec::Mode::encode) continue;
        for (const auto* list : {&track.encoder.options, &track.encoder.shared_options})
            for (const auto& [name, value] : *list)
                if (name == "b" || name == "b:a" || name == "ab") total += parse_bitrate(value);
    }
    return total;
}

Format::Segments MediaFormat::segments() const {
    using Kind = ffmpeg::ContainerTraits::Kind;
    if (spec_.container.empty()) return Segments::none;
    switch (traits_.kind) {
        case Kind::mpegts: return Segments::mpegts;
        case Kind::fmp4: return Segments::fmp4;
        case Kind::packed: return Segments::packed;
        case Kind::headed: return Segments::none;
    }
    return Segments::none;
}

}  // namespace castile
