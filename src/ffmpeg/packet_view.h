#pragma once
// What a packet says, for those who do not include libav.

#include <cstdint>

#include "base/bytes.h"

struct AVPacket;

namespace castile::ffmpeg {

struct PacketView {
    std::int64_t pts, duration;   ///< in the stream's time base
    ByteSpan data;
};

PacketView packet_view(const AVPacket& packet) noexcept;

}  // namespace castile::ffmpeg
