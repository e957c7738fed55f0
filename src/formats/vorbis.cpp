// %vorbis, %vorbis.cbr, %vorbis.abr: Vorbis in Ogg.

#include <fmt/format.h>

#include "formats/ogg.h"

namespace castile::formats {
namespace {

MediaSpec base(Parameters& p, const char* name) {
    const int channels = p.channels();
    return in_ogg(audio_spec(name, "", "libvorbis", channels, p.samplerate()), p);
}

std::string kilobits(int rate) { return fmt::format("{}k", rate); }

}  // namespace

MediaSpec make_vorbis(Parameters& p) {
    MediaSpec spec = base(p, "vorbis");
    const double quality = p.floating("quality").value_or(0.3);
    if (quality < -0.2 || quality > 1) p.refuse("quality should be in [-0.2..1].");
    // libav's scale is 118 times ten times libvorbis's.
    spec.tracks.front().encoder.options = {{"flags", "+qscale"}, {"global_quality", fmt::format("{:.0f}", quality * 10 * 118)}};
    return spec;
}

MediaSpec make_vorbis_cbr(Parameters& p) {
    MediaSpec spec = base(p, "vorbis.cbr");
    const std::string rate = kilobits(p.integer_between("bitrate", 8, 1000).value_or(128));
    spec.tracks.front().encoder.options = {{"b", rate}, {"minrate", rate}, {"maxrate", rate}};
    return spec;
}

MediaSpec make_vorbis_abr(Parameters& p) {
    MediaSpec spec = base(p, "vorbis.abr");
    auto& options = spec.tracks.front().encoder.options;
    options.emplace_back("b", kilobits(p.integer_between("bitrate", 8, 1000).value_or(128)));
    if (const auto rate = p.integer_between("min_bitrate", 8, 1000)) options.emplace_back("minrate", kilobits(*rate));
    if (const auto rate = p.integer_between("max_bitrate", 8, 1000)) options.emplace_back("maxrate", kilobits(*rate));
    return spec;
}

namespace {

const RegisterFormat vorbis{{"vorbis", "libvorbis", make_vorbis, nullptr}};
const RegisterFormat cbr{{"vorbis.cbr", "libvorbis", make_vorbis_cbr, nullptr}};
const RegisterFormat abr{{"vorbis.abr", "libvorbis", make_vorbis_abr, nullptr}};

}  // namespace
}  // namespace castile::formats
