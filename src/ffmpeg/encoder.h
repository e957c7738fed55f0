#pragma once
// An audio encoder of libav: PCM blocks in, shared packets out.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ffmpeg/handles.h"
#include "ffmpeg/resampler.h"
#include "frame/frame.h"

namespace castile::ffmpeg {

struct AudioEncoderSpec {
    std::string codec;            ///< an encoder's name ("libmp3lame") or a codec's ("mp3")
    int channels = 2;
    int samplerate = 0;           ///< 0: that of the input, or the nearest that the codec takes
    std::string sample_format;    ///< empty: the one nearest to planar float
    OptionList options;           ///< for this encoder alone
    OptionList shared_options;    ///< also for other encoders and the container
};

/// One run of an encoder. Input sample n has pts n (in units of 1 / samplerate); the first packets of a codec with priming have negative pts.
/// In steady state it allocates nothing itself: the codec frame is reused, packets come from the pool.
class AudioEncoder {
public:
    /// Throws Error: unknown codec, refused option value or sample rate.
    AudioEncoder(const AudioEncoderSpec& spec, int input_rate);
    ~AudioEncoder();

    /// Encodes `pcm` (spec.channels, at the input rate), which starts at `at` in its frame; appends what comes out, each packet with the position
    /// of the sample that finished it. Throws Error.
    void encode(const PcmBlock& pcm, Ticks at, PacketList& out);
    /// The end: encodes the rest, drains the codec. Nothing may follow. Throws Error.
    void flush(Ticks at, PacketList& out);

    const std::shared_ptr<const PacketStream>& stream() const noexcept { return stream_; }
    /// Names of spec.options that libav did not know; of spec.shared_options likewise.
    const std::vector<std::string>& unknown_options() const noexcept { return unknown_; }
    const std::vector<std::string>& unknown_shared_options() const noexcept { return unknown_shared_; }
    int samplerate() const noexcept;
    int bitrate() const noexcept;   ///< bits per second, 0 = unknown

private:
    void fill(const std::uint8_t* const* planes, int samples, Ticks at, bool one_to_one, PacketList& out);
    void send(AVFrame* frame, Ticks position, PacketList& out);
    void prepare_frame();

    std::string codec_name_;
    int channels_;
    CodecContext codec_;
    std::shared_ptr<const PacketStream> stream_;
    std::unique_ptr<Resampler> resampler_;      // null when the codec takes planar float at the input rate
    FramePtr frame_;
    std::shared_ptr<AVPacket> packet_;          // the next to be filled
    std::vector<std::string> unknown_, unknown_shared_;
    std::vector<const std::uint8_t*> planes_;   // scratch: the block's channels
    int sample_bytes_ = 4, planes_count_ = 0;   // of one sample in one plane
    int frame_samples_ = 0, filled_ = 0;
    std::int64_t next_pts_ = 0;
};

}  // namespace castile::ffmpeg
