// %fdkaac: the Fraunhofer encoder, where libav has it.

#include <fmt/format.h>

#include "formats/literal.h"

namespace castile::formats {
namespace {

MediaSpec make(Parameters& p) {
    const int channels = p.channels();
    const int rate = p.integer_of("samplerate", {8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000, 64000, 88200, 96000}).value_or(0);
    const std::string aot = p.text_of("aot", {"mpeg4_aac_lc", "mpeg4_he_aac", "mpeg4_he_aac_v2", "mpeg4_aac_ld", "mpeg4_aac_eld", "mpeg2_aac_lc",
                                              "mpeg2_he_aac", "mpeg2_he_aac_v2"}).value_or("mpeg4_he_aac_v2");
    if (aot.ends_with("he_aac_v2") && channels != 2) p.refuse("HE-AAC v2 is only available with 2 channels.");
    const std::string transmux = p.text_of("transmux", {"raw", "adif", "adts", "latm", "latm_out_of_band", "loas"}).value_or("adts");
    const char* container = transmux == "adts" ? "adts" : transmux == "loas" || transmux.starts_with("latm") ? "latm" : nullptr;
    if (!container) p.refuse(fmt::format("transmux {} is not supported; use adts, latm or loas.", transmux));

    MediaSpec spec = audio_spec("fdkaac", container, "libfdk_aac", channels, rate);
    auto& options = spec.tracks.front().encoder.options;
    options.emplace_back("profile", aot.ends_with("he_aac_v2") ? "aac_he_v2" : aot.ends_with("he_aac") ? "aac_he" : aot.ends_with("_ld") ? "aac_ld" : aot.ends_with("_eld") ? "aac_eld" : "aac_low");
    options.emplace_back("afterburner", p.boolean("afterburner").value_or(false) ? "1" : "0");
    const int bitrate = p.integer_between("bitrate", 1, 1000).value_or(64);
    if (const auto mode = p.integer_between("vbr", 1, 5))
        options.emplace_back("vbr", std::to_string(*mode));
    else
        options.emplace_back("b", fmt::format("{}k", bitrate));
    if (const auto bandwidth = p.any("bandwidth"); bandwidth && *bandwidth != "auto") options.emplace_back("cutoff", *bandwidth);
    if (p.boolean("sbr_mode").value_or(false)) options.emplace_back("eld_sbr", "1");
    return spec;
}

const RegisterFormat fdkaac{{"fdkaac", "libfdk_aac", make, nullptr}};

}  // namespace
}  // namespace castile::formats
