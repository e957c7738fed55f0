// %mp3, %mp3.cbr, %mp3.vbr, %mp3.abr.

#include <fmt/format.h>

#include "formats/literal.h"

namespace castile::formats {
namespace {

constexpr auto bitrates = {8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160, 192, 224, 256, 320};

MediaSpec base(Parameters& p, const char* name) {
    const int channels = p.channels();
    if (channels > 2) p.refuse("only mono and stereo are possible.");
    const int rate = p.integer_of("samplerate", {8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000}).value_or(0);
    MediaSpec spec = audio_spec(name, "mp3", "libmp3lame", channels, rate);
    auto& options = spec.tracks.front().encoder.options;
    const std::string mode = p.text_of("stereo_mode", {"default", "joint_stereo", "stereo"}).value_or("joint_stereo");
    options.emplace_back("joint_stereo", mode == "stereo" ? "0" : "1");
    options.emplace_back("compression_level", std::to_string(p.integer_between("internal_quality", 0, 9).value_or(2)));
    // true, a version, or "none".
    if (const auto version = p.any("id3v2"); version && *version != "0" && *version != "none") {
        if (*version != "1" && *version != "3" && *version != "4") p.refuse("id3v2 must be true, false, 3 or 4.");
        spec.options.emplace_back("id3v2_version", *version == "4" ? "4" : "3");
        spec.tag_at_start = true;
    }
    return spec;
}

MediaSpec constant(Parameters& p) {
    MediaSpec spec = base(p, "mp3");
    spec.tracks.front().encoder.options.emplace_back("b", fmt::format("{}k", p.integer_of("bitrate", bitrates).value_or(128)));
    return spec;
}

MediaSpec variable(Parameters& p) {
    MediaSpec spec = base(p, "mp3.vbr");
    auto& options = spec.tracks.front().encoder.options;
    for (const char* unused : {"bitrate", "min_bitrate", "max_bitrate"}) p.integer_of(unused, bitrates);
    p.boolean("hard_min");
    options.emplace_back("flags", "+qscale");
    options.emplace_back("global_quality", std::to_string(118 * p.integer_between("quality", 0, 9).value_or(4)));
    return spec;
}

MediaSpec average(Parameters& p) {
    MediaSpec spec = base(p, "mp3.abr");
    auto& options = spec.tracks.front().encoder.options;
    options.emplace_back("abr", "1");
    options.emplace_back("b", fmt::format("{}k", p.integer_of("bitrate", bitrates).value_or(128)));
    // libav does not hand these to LAME.
    for (const char* unused : {"min_bitrate", "max_bitrate"}) p.integer_of(unused, bitrates);
    p.boolean("hard_min");
    return spec;
}

const RegisterFormat mp3{{"mp3", "libmp3lame", constant, nullptr}};
const RegisterFormat cbr{{"mp3.cbr", "libmp3lame", constant, nullptr}};
const RegisterFormat vbr{{"mp3.vbr", "libmp3lame", variable, nullptr}};
const RegisterFormat abr{{"mp3.abr", "libmp3lame", average, nullptr}};

}  // namespace
}  // namespace castile::formats
