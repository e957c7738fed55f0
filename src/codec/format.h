#pragma once
// Formats (what an encoder literal such as %mp3 or %ffmpeg(...) means) and the encoders they open: frames in, bytes out.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/name.h"
#include "frame/frame.h"
#include "sched/time.h"

namespace castile {

/// Where a StreamEncoder's container bytes go. Called inside encode()/flush(), on the same thread; must only queue.
class ByteSink {
public:
    virtual ~ByteSink() = default;
    virtual void write(ByteSpan data) noexcept = 0;
    /// Segmented encoders: everything written so far belongs to segments that end at `at` (stream time since the
    /// encoder's start, in seconds; exact, the first packet of the next segment has this pts). What follows starts with a key
    /// frame, and for MPEG-TS with PAT/PMT; it can be played from here.
    virtual void boundary(double at) noexcept { (void)at; }
};

struct EncoderOptions {
    /// Cut at the first packet with pts >= k x segment, for k = 1, 2, ...: every variant of the same codec cuts alike.
    std::optional<double> segment;  ///< seconds
    bool global_header = false;     ///< ask for an initialisation segment (fMP4)
};

/// One running encode. One thread at a time (the clock's worker).
class StreamEncoder {
public:
    virtual ~StreamEncoder() = default;
    /// Encodes and muxes the whole frame: its PCM tracks through encoders, its packet tracks as they are.
    /// Metadata and track marks in the frame are applied as the format does it (Ogg: chained streams; others: nothing).
    /// Throws Error when the encoder or muxer fails.
    virtual void encode(const Frame& frame, ByteSink& sink) = 0;
    virtual void flush(ByteSink& sink) = 0;             ///< The end: drains and writes the trailer.
    /// What a late joiner needs before the next byte (Ogg or FLAC headers, fMP4 init); null when none is needed.
    virtual Bytes header() const { return nullptr; }
    /// fMP4 and the like: the initialisation segment, once it is known. Equal to header() when there is one.
    virtual Bytes init_segment() const { return header(); }
    /// RFC 6381 codecs string ("mp4a.40.2"), once known; bits per second, for playlists and ICY headers.
    virtual std::string codecs() const { return {}; }
    virtual int bitrate() const { return 0; }
};

/// A track that a format wants from its source.
struct FormatTrack {
    Name field;
    ContentFormat content;   ///< pcm with channels, packets (`.copy`), or none (`.drop`: present in the source, unused)
};

/// Immutable. Made by the literal's evaluation; asked for by outputs.
class Format {
public:
    virtual ~Format() = default;
    virtual const std::string& name() const noexcept = 0;            ///< "mp3", "ffmpeg", ...
    virtual const std::vector<FormatTrack>& tracks() const noexcept = 0;
    /// Throws Error: unknown codec, refused option ("... has no option named ..."), unsupported container.
    virtual std::unique_ptr<StreamEncoder> open(const EncoderOptions& options) const = 0;
    /// Opens and closes once, to refuse a bad option while the script is being evaluated. Throws Error.
    virtual void check() const = 0;
    virtual std::string mime() const = 0;
    virtual std::string extension() const = 0;                        ///< without the dot
    virtual int bitrate() const { return 0; }                         ///< bits per second, 0 = unknown
    virtual std::string describe() const = 0;                         ///< "%mp3(bitrate=128)": canonical, equal = same encode
    /// Is metadata inside the stream (Ogg), so that ICY updates are not needed by default?
    virtual bool in_band_metadata() const { return false; }
    /// May it be cut at segments for HLS, and with which file kind?
    enum class Segments { none, mpegts, fmp4, packed };
    virtual Segments segments() const { return Segments::none; }
};
using FormatPtr = std::shared_ptr<const Format>;

}  // namespace castile
