// %wav: PCM with a header for a stream of unknown (or given) length, or none.

#include <fmt/format.h>

#include "formats/literal.h"

namespace castile::formats {
namespace {

MediaSpec make(Parameters& p) {
    const int channels = p.channels();
    const int rate = p.samplerate();
    const int size = p.integer("samplesize").value_or(16);
    if (size != 8 && size != 16 && size != 24 && size != 32) refuse_at(p.where(), "invalid sample size");  // scripts compare these words
    const std::string samples = size == 8 ? "u8" : fmt::format("s{}le", size);
    const bool header = p.boolean("header").value_or(true);
    MediaSpec spec = audio_spec("wav", header ? "wav" : samples, "pcm_" + samples, channels, rate);
    const auto duration = p.floating("duration");
    if (header) spec.wav_duration = duration;
    // Nothing but "fmt " and "data".
    if (header) spec.options.emplace_back("fflags", "+bitexact");
    if (!header) spec.mime = "audio/x-raw", spec.extension = "raw";
    describe(spec);
    spec.literal = fmt::format("%wav(channels={},samplerate={},samplesize={},header={}{})", channels, rate, size, header,
                               duration ? fmt::format(",duration={}", *duration) : "");
    return spec;
}

const RegisterFormat wav{{"wav", "", make, nullptr}};

}  // namespace
}  // namespace castile::formats
