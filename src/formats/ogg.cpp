// %ogg(%vorbis(...)), %ogg(%opus(...)), %ogg(%flac(...)).

#include "formats/ogg.h"

#include <fmt/format.h>

namespace castile::formats {

MediaSpec in_ogg(MediaSpec spec, Parameters& parameters) {
    spec.container = "ogg";
    spec.chain = true;
    if (const auto bytes = parameters.integer_between("bytes_per_page", 1, 65025)) spec.options.emplace_back("oggpagesize", std::to_string(*bytes));
    return spec;
}

namespace {

MediaSpec make(Parameters& outer) {
    struct Codec { std::string_view name; MediaSpec (*make)(Parameters&); };
    static constexpr Codec codecs[] = {{"vorbis", make_vorbis}, {"vorbis.cbr", make_vorbis_cbr}, {"vorbis.abr", make_vorbis_abr}, {"opus", make_opus}, {"flac", make_flac_track}};
    for (const Codec& codec : codecs) {
        const lang::EncoderLiteral* inner = outer.nested({codec.name});
        if (!inner) continue;
        if (const FormatLiteral* literal = find_format(codec.name); literal && !available(*literal))
            outer.refuse(fmt::format("this build of FFmpeg has no {}.", literal->encoder));
        Parameters parameters(*inner);
        MediaSpec spec = codec.make(parameters);
        if (spec.container.empty()) spec = in_ogg(std::move(spec), parameters);
        parameters.finish();
        describe(spec);
        spec.name = "ogg";
        spec.literal = fmt::format("%ogg({})", spec.literal);
        return spec;
    }
    if (outer.nested({"theora", "speex"})) outer.refuse("Theora and Speex are not supported.");
    outer.refuse("expected one of %vorbis, %vorbis.cbr, %vorbis.abr, %opus, %flac.");
}

std::string type(const lang::term::Encoder& encoder, lang::Span) {
    for (const auto& param : encoder.params)
        if (param.encoder) return fmt::format("format(audio={})", pcm_type(static_channels(std::get<lang::term::Encoder>(param.encoder->node))));
    return "format(audio=pcm(stereo))";
}

const RegisterFormat ogg{{"ogg", "", make, type}};

}  // namespace
}  // namespace castile::formats
