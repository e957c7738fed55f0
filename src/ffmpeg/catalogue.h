#pragma once
// What this libav can do: encoders, containers, their options; names for players (MIME, extension, RFC 6381).

#include <string>
#include <string_view>

#include "frame/packet.h"

namespace castile::ffmpeg {

enum class MediaKind { audio, video, other, unknown };

/// Of an encoder's name or a codec's.
MediaKind encoder_kind(const std::string& name);
inline bool has_audio_encoder(const std::string& name) { return encoder_kind(name) == MediaKind::audio; }

bool has_container(const std::string& name);
/// Does the container (or every container) have an option of this name?
bool container_has_option(const std::string& container, const std::string& option);

/// What libav would choose for the container; empty when it holds no audio or is unknown.
std::string default_audio_codec(const std::string& container);

/// How a container behaves in a stream.
struct ContainerTraits {
    enum class Kind { packed, mpegts, fmp4, headed };
    Kind kind = Kind::headed;   ///< packed: bare frames (MP3, ADTS); headed: late joiners need the header first
    std::string mime, extension;
};
ContainerTraits container_traits(const std::string& name);

/// "mp4a.40.2", "mp4a.40.34", "opus", ...; the codec's name when there is no such string.
std::string codecs_string(const PacketStream& stream);
bool same_parameters(const PacketStream& a, const PacketStream& b);
int bitrate(const PacketStream& stream) noexcept;
/// Channels of a layout by name ("stereo", "5.1"); 0 when there is none.
int layout_channels(const std::string& layout);

}  // namespace castile::ffmpeg
