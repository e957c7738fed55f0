#pragma once
// A frame: what one source makes for one tick of its clock. Named tracks of content, plus metadata and track marks.

#include <memory>
#include <variant>
#include <vector>

#include "base/name.h"
#include "frame/metadata.h"
#include "frame/packet.h"
#include "frame/pcm.h"
#include "frame/ticks.h"

namespace castile {

using PacketList = std::vector<EncodedPacket>;
/// The content of one track. Further kinds (video, MIDI) join this variant.
using Content = std::variant<std::monostate, PcmBlock, PacketList>;

struct FrameTrack {
    Name field;  ///< "audio", "audio_low", ...
    Content content;
};

struct FrameMetadata {
    Ticks position;  ///< from the frame's start
    MetadataPtr metadata;
};

/// Up to one frame size of stream time. Shorter than a full frame only when the source ends (is no longer available)
/// inside it; whoever reads it then fills the rest from elsewhere. Owned by its source and reused: vectors keep their
/// capacity, so steady state allocates nothing. One thread (the clock's).
class Frame {
public:
    Ticks length() const noexcept { return length_; }
    void set_length(Ticks length) noexcept { length_ = length; }

    std::vector<FrameTrack>& tracks() noexcept { return tracks_; }
    const std::vector<FrameTrack>& tracks() const noexcept { return tracks_; }
    const Content* find(Name field) const noexcept;
    const PcmBlock* pcm(Name field) const noexcept;          ///< nullptr when absent or not PCM.
    const PacketList* packets(Name field) const noexcept;
    Content& track(Name field);                              ///< Added when absent.

    std::vector<FrameMetadata>& metadata() noexcept { return metadata_; }
    const std::vector<FrameMetadata>& metadata() const noexcept { return metadata_; }
    std::vector<Ticks>& track_marks() noexcept { return track_marks_; }
    const std::vector<Ticks>& track_marks() const noexcept { return track_marks_; }

    void reset() noexcept;  ///< Empty, length 0; keeps capacity.
    /// Appends [from, to) of `other`: PCM is copied behind ours, packets, metadata and marks are moved along in time.
    void append(const Frame& other, Ticks from, Ticks to);
    /// Drops the first `count` ticks.
    void drop_front(Ticks count);

private:
    Ticks length_;
    std::vector<FrameTrack> tracks_;
    std::vector<FrameMetadata> metadata_;
    std::vector<Ticks> track_marks_;
};

/// What a track may hold, agreed between the sources that share it before they start (the run-time half of the
/// checker's content types).
struct ContentFormat {
    enum class Kind { any, pcm, packets, none } kind = Kind::any;
    int channels = 0;  ///< PCM: 0 = not yet chosen (then the default of StreamParameters)
    friend bool operator==(const ContentFormat&, const ContentFormat&) = default;
};

}  // namespace castile
