// %opus: Opus in Ogg.

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "formats/ogg.h"

namespace castile::formats {

MediaSpec make_opus(Parameters& p) {
    const int channels = p.channels();
    if (channels > 2) p.refuse("only mono and stereo streams are supported for now.");
    const int rate = p.integer_of("samplerate", {8000, 12000, 16000, 24000, 48000}).value_or(48000);
    MediaSpec spec = in_ogg(audio_spec("opus", "", "libopus", channels, rate), p);
    spec.extension = "opus";
    auto& options = spec.tracks.front().encoder.options;
    if (const auto bitrate = p.any("bitrate"); bitrate && *bitrate != "auto") {
        const int kilobits = *bitrate == "max" ? 510 : std::atoi(bitrate->c_str());
        if (kilobits < 1 || kilobits > 512) p.refuse("Opus bitrate should be in 5..512, \"auto\" or \"max\".");
        options.emplace_back("b", fmt::format("{}k", std::clamp(kilobits, 5, channels == 1 ? 256 : 510)));
    }
    const std::string vbr = p.text_of("vbr", {"none", "constrained", "unconstrained"}).value_or("unconstrained");
    options.emplace_back("vbr", vbr == "none" ? "off" : vbr == "constrained" ? "constrained" : "on");
    const std::string application = p.text_of("application", {"voip", "audio", "restricted_lowdelay"}).value_or("audio");
    options.emplace_back("application", application == "restricted_lowdelay" ? "lowdelay" : application);
    if (const auto complexity = p.integer_between("complexity", 0, 10)) options.emplace_back("compression_level", std::to_string(*complexity));
    if (const auto size = p.floating("frame_size")) {
        bool known = false;
        for (double s : {2.5, 5.0, 10.0, 20.0, 40.0, 60.0}) known = known || s == *size;
        if (!known) p.refuse("Opus frame size should be one of 2.5, 5., 10., 20., 40. or 60.");
        options.emplace_back("frame_duration", fmt::format("{}", *size));
    }
    if (const auto bandwidth = p.text_of("max_bandwidth", {"narrow_band", "medium_band", "wide_band", "super_wide_band", "full_band"})) {
        const char* hertz = *bandwidth == "narrow_band" ? "4000" : *bandwidth == "medium_band" ? "6000" : *bandwidth == "wide_band" ? "8000" : *bandwidth == "super_wide_band" ? "12000" : "20000";
        options.emplace_back("cutoff", hertz);
    }
    p.text_of("signal", {"voice", "music"});   // libav leaves the choice to libopus
    if (const auto dtx = p.boolean("dtx"); dtx && *dtx) options.emplace_back("dtx", "1");
    if (const auto inversion = p.boolean("phase_inversion"); inversion && !*inversion) options.emplace_back("apply_phase_inv", "0");
    return spec;
}

namespace {
const RegisterFormat opus{{"opus", "libopus", make_opus, nullptr}};
}

}  // namespace castile::formats
