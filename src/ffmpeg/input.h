#pragma once
// A media file or URL as a sequence of planar float chunks at one rate.

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "ffmpeg/handles.h"
#include "ffmpeg/resampler.h"

struct AVCodec;
struct AVStream;

namespace castile::ffmpeg {

/// Decodes the best audio stream; pictures and video are dropped by the demuxer. Samples to be skipped at the start and end (encoder delay and
/// padding) are removed as libav does it. Unreadable packets are skipped and logged once. open() blocks; next() reads a local file in the
/// demuxer's own small steps (32 KiB), which open() asked the kernel to read ahead.
/// A station keeps a file or two of each playlist open long before they play, and a codec may hold half a megabyte (AAC): so open()
/// lets the codec go when it has heard the first sound, and keeps the packets that led to it; the first next() makes it again.
class AudioInput {
public:
    /// Opens, probes (at most 5 MB and 5 s) and decodes until the first sound. `rate`: of the samples handed out.
    static std::expected<std::unique_ptr<AudioInput>, Failure> open(const std::string& path, int rate);
    ~AudioInput();

    /// Makes the next chunk; false at the end. A mono or stereo file comes as it is, more channels are mixed down (or up) to `channels`.
    bool next(int channels) noexcept;
    int channels() const noexcept { return chunk_channels_; }
    int samples() const noexcept { return chunk_samples_; }
    const float* plane(int channel) const noexcept { return reinterpret_cast<const float*>(chunk_[channel]) + chunk_offset_; }

    std::optional<double> duration() const noexcept { return duration_; }  ///< seconds, gapless
    /// Moves so that the next chunk starts at this second; returns the second reached (the end, when it is behind it).
    double seek(double seconds, int channels) noexcept;

private:
    AudioInput(std::string path, int rate);
    std::optional<Failure> start();
    int open_codec() noexcept;               ///< Makes codec_; 0, or libav's error.
    void park() noexcept;                    ///< The codec goes, if the packets that it had so far are few.
    bool read_packet() noexcept;             ///< The next packet of the stream into packet_, from those kept first.
    enum class Got { frame, end, failed };
    Got decode() noexcept;                   ///< The next frame of the codec into frame_.
    bool send_packet() noexcept;             ///< The next packet of the stream to the codec; false: end of the file.
    bool present(int channels) noexcept;     ///< frame_ as a chunk, resampled when it must be; false: nothing came out.
    double frame_seconds() const noexcept;   ///< Where frame_ starts, from the start of the sound.
    void corrupt(int code) noexcept;
    void ended() noexcept;

    std::string path_;
    int rate_;
    Logger log_{"decoder.ffmpeg"};
    InputContext format_;
    CodecContext codec_;
    FramePtr frame_;
    PacketPtr packet_;
    AVStream* stream_ = nullptr;
    const AVCodec* decoder_ = nullptr;
    std::vector<PacketPtr> kept_;            // the first packets, while there is no codec
    std::size_t replayed_ = 0;               // of them, given to the codec again
    bool keeping_ = false;                   // open() tries the codec: packets are kept
    std::unique_ptr<Resampler> resampler_;
    std::int64_t first_pts_ = 0;             // of the first sound, in the stream's time base
    std::optional<double> duration_;
    bool primed_ = false;                    // frame_ holds a frame that was not presented yet
    bool draining_ = false, ended_ = false, logged_corrupt_ = false, logged_end_ = false;
    bool length_known_ = false;              // by a header, not guessed from the file's size
    double decoded_until_ = 0;               // seconds
    int failures_in_a_row_ = 0;

    const std::uint8_t* const* chunk_ = nullptr;
    int chunk_channels_ = 0, chunk_samples_ = 0, chunk_offset_ = 0;
};

}  // namespace castile::ffmpeg
