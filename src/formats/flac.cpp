// %flac: the native container; %ogg(%flac) for streams.

#include "formats/ogg.h"

namespace castile::formats {

MediaSpec make_flac_track(Parameters& p) {
    const int channels = p.channels();
    MediaSpec spec = audio_spec("flac", "", "flac", channels, p.samplerate());
    TrackSpec& track = spec.tracks.front();
    track.encoder.options.emplace_back("compression_level", std::to_string(p.integer_between("compression", 0, 8).value_or(5)));
    const int bits = p.integer_of("bits_per_sample", {8, 16, 24, 32}).value_or(16);
    track.encoder.sample_format = bits <= 16 ? "s16" : "s32";
    if (bits >= 24) track.encoder.options.emplace_back("bits_per_raw_sample", "24");
    return spec;
}

namespace {

MediaSpec make(Parameters& p) {
    MediaSpec spec = make_flac_track(p);
    spec.container = "flac";
    p.integer("bytes_per_page");   // of use in Ogg only
    return spec;
}

const RegisterFormat flac{{"flac", "flac", make, nullptr}};

}  // namespace
}  // namespace castile::formats
