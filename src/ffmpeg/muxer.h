#pragma once
// A container being written: shared packets in, bytes out, for endless streams that cannot seek.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ffmpeg/catalogue.h"
#include "ffmpeg/handles.h"
#include "frame/packet.h"

struct AVIOContext;

namespace castile::ffmpeg {

struct MuxerSpec {
    std::string container;                                    ///< libav's name
    OptionList options;
    std::vector<std::pair<std::string, std::string>> tags;    ///< of the whole (and, in Ogg, of the stream)
    bool segmented = false;                                   ///< cut() will be called
};

/// Packets are read in place, never kept and (with one stream) never copied but into the container.
/// Unless the options say otherwise: MP3 has no Xing header and no ID3, MP4 is fragmented, Matroska is live, MPEG-TS repeats its tables.
class Muxer {
public:
    /// Appends the container's header to `out`, which everything later goes to. Throws Error: unknown container, codec that it cannot hold,
    /// refused option value.
    Muxer(const MuxerSpec& spec, const std::vector<std::shared_ptr<const PacketStream>>& streams, std::vector<std::uint8_t>& out);
    ~Muxer();

    /// `shift`: added to the packet's times, in its own time base. Throws Error.
    void write(std::size_t stream, const AVPacket& packet, std::int64_t shift);
    /// Writes out all that is pending, as a unit that ends here; what follows can be played from its start. Throws Error.
    void cut();
    /// Moves what libav buffered to `out` (whole packets, pages, clusters).
    void drain() noexcept;
    /// Trailer; nothing may follow. Throws Error.
    void finish();

    const std::vector<std::string>& unknown_options() const noexcept { return unknown_; }
    const ContainerTraits& traits() const noexcept { return traits_; }
    /// Seconds that the container's time line is ahead of the packets', so that negative times of priming fit.
    static constexpr int lead = 1;

private:
    void check(int code, const char* what) const;
    struct FreeOutput { void operator()(AVFormatContext*) const noexcept; };

    std::string container_;
    ContainerTraits traits_;
    std::vector<std::uint8_t>& out_;
    std::unique_ptr<AVFormatContext, FreeOutput> context_;
    PacketPtr scratch_;
    std::vector<std::shared_ptr<const PacketStream>> streams_;
    std::vector<std::string> unknown_;
    bool leads_ = false, finished_ = false;
};

}  // namespace castile::ffmpeg
