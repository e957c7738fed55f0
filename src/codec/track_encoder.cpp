#include "codec/track_encoder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"

namespace castile {

TrackEncoder::TrackEncoder(const TrackSpec& spec) try : encoder_(spec.encoder, stream_parameters().samplerate), channels_(spec.encoder.channels) {
    if (const auto& unknown = encoder_.unknown_options(); !unknown.empty())
        throw Error(fmt::format("Unrecognized options: {}.", fmt::join(unknown, ", ")));
} catch (const Error& error) {
    throw Error(fmt::format("{}: {}", spec.literal, error.what()));
}

void TrackEncoder::encode(const PcmBlock& pcm, Ticks at, PacketList& out) {
    if (pcm.empty()) return;
    if (pcm.channels() == channels_) return encoder_.encode(pcm, at, out);
    encoder_.encode(remix(pcm, channels_), at, out);
}

PcmBlock remix(const PcmBlock& pcm, int channels) {
    if (pcm.channels() == channels) return pcm;
    PcmBlock mixed(channels, pcm.samples());
    for (int c = 0; c < channels; ++c) {
        const auto to = mixed.write(c);
        if (pcm.channels() == 2 && channels == 1) {
            const auto left = pcm.channel(0), right = pcm.channel(1);
            for (std::size_t i = 0; i < to.size(); ++i) to[i] = 0.5f * (left[i] + right[i]);
        } else if (pcm.channels() == 1 || c < pcm.channels()) {
            std::ranges::copy(pcm.channel(pcm.channels() == 1 ? 0 : c), to.begin());
        } else {
            std::ranges::fill(to, 0.0f);
        }
    }
    return mixed;
}

}  // namespace castile
