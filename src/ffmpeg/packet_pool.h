#pragma once
// Shared packets without a malloc of ours: AVPacket structs and shared_ptr control blocks come from process-wide free lists.

#include <memory>

struct AVPacket;

namespace castile::ffmpeg {

/// An empty packet, to be filled by an encoder and then shared. When the last owner lets go, on whatever thread, its data is released
/// and the struct returns to the list. Throws std::bad_alloc.
std::shared_ptr<AVPacket> pooled_packet();

}  // namespace castile::ffmpeg
