#pragma once
// TrackEncoder: one PCM track through one encoder, as a script describes it (`%audio(codec="aac", b="48k")`).

#include <string>

#include "base/name.h"
#include "ffmpeg/encoder.h"
#include "frame/frame.h"

namespace castile {

/// One track of a format, as the script wrote it.
struct TrackSpec {
    enum class Mode { encode, copy, drop };
    Name field = "audio";
    Mode mode = Mode::encode;
    ffmpeg::AudioEncoderSpec encoder;   ///< mode encode
    std::string literal;                ///< "%audio(codec=\"aac\",b=\"48k\")": canonical, for messages and identity
};

/// Runs a TrackSpec's encoder at the engine's rate. One thread at a time (the clock's worker).
///
/// Time line: the n-th sample given has pts n / samplerate; see ffmpeg/README.md on negative pts. A gap in the input does not show: the line
/// goes on with the next sample.
class TrackEncoder {
public:
    /// Throws Error: unknown codec, refused value, and with `literal` any option that nothing consumed.
    explicit TrackEncoder(const TrackSpec& spec);

    /// Encodes a frame's block, mixed to the encoder's channels when they differ; appends packets. Throws Error.
    void encode(const PcmBlock& pcm, PacketList& out) { encode(pcm, Ticks{0}, out); }
    void encode(const PcmBlock& pcm, Ticks at, PacketList& out);
    void flush(PacketList& out) { encoder_.flush(Ticks{0}, out); }

    const std::shared_ptr<const PacketStream>& stream() const noexcept { return encoder_.stream(); }
    const std::vector<std::string>& unknown_shared_options() const noexcept { return encoder_.unknown_shared_options(); }
    int bitrate() const noexcept { return encoder_.bitrate(); }
    int samplerate() const noexcept { return encoder_.samplerate(); }

private:
    ffmpeg::AudioEncoder encoder_;
    int channels_;
};

/// The block with another number of channels: mono is copied to all, stereo averaged to mono; else channels are kept in order and missing
/// ones silent.
PcmBlock remix(const PcmBlock& pcm, int channels);

}  // namespace castile
