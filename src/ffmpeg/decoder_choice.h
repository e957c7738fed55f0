#pragma once
// Which decoder reads a codec: libav's first choice, or what settings.decoder.ffmpeg.codecs.* say.

struct AVCodec;

namespace castile::ffmpeg {

/// `usual`, or the decoder of the same codec that the script chose. An unknown choice is logged and not followed.
const AVCodec* chosen_decoder(const AVCodec* usual);

}  // namespace castile::ffmpeg
