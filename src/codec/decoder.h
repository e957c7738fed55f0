#pragma once
// Decoders: a file or stream turned into PCM at the engine's rate. Opening may block; reading a local file in a tick may not wait long.

#include <expected>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "frame/frame.h"

namespace castile {

/// A decoder that was opened, probed and primed off the clock. One thread at a time; may move between threads.
class Decoder {
public:
    virtual ~Decoder() = default;
    /// Up to `wanted` ticks of audio as `channels` x n samples at the engine's rate, gapless (encoder delay and padding
    /// removed). Fewer than wanted means the end of the file; an error in the middle is logged once and ends the track.
    virtual PcmBlock read(Ticks wanted, int channels) noexcept = 0;
    virtual std::optional<Ticks> remaining() const noexcept = 0;
    virtual Ticks seek(Ticks relative) noexcept = 0;                ///< Returns what was done.
    virtual std::optional<double> duration() const noexcept = 0;    ///< seconds
};

struct DecoderOptions {
    std::optional<double> cue_in, cue_out;  ///< seconds
};

/// Opens a local file or a URL libav can read; decodes a first packet, so a text file named .mp3 is refused here.
/// Blocking: call it from the blocking pool. Bounds: probing reads at most 5 MB and 5 s.
std::expected<std::unique_ptr<Decoder>, Failure> open_decoder(const std::string& path, const DecoderOptions& options = {});

/// Tags of a file, decoded to UTF-8; replay gain and the like keep their names. Empty when there are none. Blocking.
Metadata read_file_metadata(const std::string& path);

/// Duration in seconds without decoding, nullopt when unknown. Blocking.
std::optional<double> file_duration(const std::string& path);

}  // namespace castile
