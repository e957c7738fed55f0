#pragma once
// MediaFormat: the one implementation of Format. A container, its tracks and their options; the literals of formats/ only fill in a MediaSpec.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codec/format.h"
#include "codec/track_encoder.h"
#include "ffmpeg/muxer.h"

namespace castile {

struct MediaSpec {
    std::string name;                      ///< "mp3", "ffmpeg", ...: what stands behind the %
    std::string literal;                   ///< "%mp3(bitrate=128)": canonical
    std::string container;                 ///< libav's name; empty: no container, for ffmpeg.encode.* only
    ffmpeg::OptionList options;            ///< of the container; when `shared`, offered to the codecs as well
    bool shared = false;
    std::vector<TrackSpec> tracks;
    std::vector<std::pair<std::string, std::string>> tags;
    std::string mime, extension;           ///< empty: the container's
    bool chain = false;                    ///< Ogg: a new logical stream, with its comments, at each new metadata
    bool tag_at_start = false;             ///< the first metadata goes into the header (ID3)
    std::optional<double> wav_duration;    ///< seconds, for the sizes in a WAV header
};

class MediaFormat final : public Format {
public:
    explicit MediaFormat(MediaSpec spec);

    const std::string& name() const noexcept override { return spec_.name; }
    const std::vector<FormatTrack>& tracks() const noexcept override { return tracks_; }
    std::unique_ptr<StreamEncoder> open(const EncoderOptions& options) const override;
    void check() const override;
    std::string mime() const override { return spec_.mime.empty() ? traits_.mime : spec_.mime; }
    std::string extension() const override { return spec_.extension.empty() ? traits_.extension : spec_.extension; }
    int bitrate() const override;
    std::string describe() const override { return spec_.literal; }
    bool in_band_metadata() const override { return spec_.chain; }
    Segments segments() const override;

    const MediaSpec& spec() const noexcept { return spec_; }

private:
    MediaSpec spec_;
    ffmpeg::ContainerTraits traits_;
    std::vector<FormatTrack> tracks_;
};

}  // namespace castile
