// %aac: libav's own AAC encoder in ADTS.

#include <fmt/format.h>

#include "formats/literal.h"

namespace castile::formats {
namespace {

MediaSpec make(Parameters& p) {
    const int channels = p.channels();
    MediaSpec spec = audio_spec("aac", "adts", "aac", channels, p.samplerate());
    spec.tracks.front().encoder.options.emplace_back("b", fmt::format("{}k", p.integer_between("bitrate", 8, 512).value_or(64 * channels)));
    return spec;
}

const RegisterFormat aac{{"aac", "aac", make, nullptr}};

}  // namespace
}  // namespace castile::formats
