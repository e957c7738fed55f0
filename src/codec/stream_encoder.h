#pragma once
// MediaStreamEncoder: one running encode of a MediaFormat.

#include <memory>
#include <vector>

#include "codec/format.h"
#include "codec/media_format.h"
#include "ffmpeg/muxer.h"

namespace castile {

class MediaStreamEncoder final : public StreamEncoder {
public:
    /// Throws Error when an encoder cannot be opened. `spec` is copied.
    MediaStreamEncoder(const MediaSpec& spec, const EncoderOptions& options);

    void encode(const Frame& frame, ByteSink& sink) override;
    void flush(ByteSink& sink) override;
    Bytes header() const override { return header_; }
    Bytes init_segment() const override { return header_; }
    std::string codecs() const override;
    int bitrate() const override;

private:
    struct Track {
        const TrackSpec* spec;
        std::unique_ptr<TrackEncoder> encoder;        // mode encode
        std::shared_ptr<const PacketStream> stream;   // null until the first packet of a copied track
        std::int64_t shift = 0;                       // from the packets' time line to ours, in the stream's time base
        std::int64_t next = 0;                        // our pts behind the last packet
        bool started = false;
        PacketList waiting;                           // until every track's stream is known
    };

    void encode_part(const Frame& frame, Ticks from, Ticks to, ByteSink& sink);
    void take(Track& track, const PacketList& packets, ByteSink& sink);
    void write(Track& track, const EncodedPacket& packet, ByteSink& sink);
    void begin_stream(Track& track, const EncodedPacket& first, ByteSink& sink);
    bool open_muxer(ByteSink& sink);      // false: some stream is not known yet
    void open_encoders();
    void finish(ByteSink& sink);          // drains the encoders, writes the trailer
    void deliver(ByteSink& sink);
    bool adopt(const Metadata& metadata); // true: the tags changed

    MediaSpec spec_;
    EncoderOptions options_;
    std::vector<Track> tracks_;           // without dropped ones, in the container's order
    std::unique_ptr<ffmpeg::Muxer> muxer_;
    std::vector<std::uint8_t> out_;       // bytes since the last deliver(); keeps its capacity
    PacketList packets_;                  // scratch
    Bytes header_;
    std::vector<std::pair<std::string, std::string>> tags_;
    std::int64_t segment_ = 1;            // k: the next cut is at k x options_.segment
    bool encoded_ = false;                // anything, since the encoders were opened
};

}  // namespace castile
