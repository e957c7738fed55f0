#include "ffmpeg/packet_view.h"

#include "ffmpeg/compat.h"

namespace castile::ffmpeg {

PacketView packet_view(const AVPacket& packet) noexcept {
    return {packet.pts, packet.duration, {packet.data, static_cast<std::size_t>(packet.size)}};
}

}  // namespace castile::ffmpeg
