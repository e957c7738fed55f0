#pragma once
// Encoded content: packets shared by every muxer that reads them, never copied. libav's types stay opaque here; only
// src/ffmpeg/ looks inside.

#include <cstdint>
#include <memory>
#include <vector>

#include "frame/ticks.h"

struct AVPacket;
struct AVCodecParameters;

namespace castile {

/// What a decoder or muxer must know of an encoded track. Immutable, shared by all packets of one encoder's run.
struct PacketStream {
    std::shared_ptr<const AVCodecParameters> parameters;
    int time_base_num = 1, time_base_den = 44100;  ///< unit of the packets' pts, dts and duration, in seconds
    std::int64_t frame_samples = 0;                ///< samples per packet when constant, else 0
};

/// One encoded packet. pts/dts are on the stream's own continuous time line, which starts at 0 and never jumps back.
struct EncodedPacket {
    std::shared_ptr<const AVPacket> data;
    std::shared_ptr<const PacketStream> stream;
    Ticks position;  ///< where in the frame it was finished, 0 .. frame length
};

}  // namespace castile
