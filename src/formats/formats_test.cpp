#include "formats/formats.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "formats/literal.h"
#include "script/values.h"

namespace castile::formats {
namespace {

using lang::EncoderLiteral;
using lang::Value;

EncoderLiteral::Param param(const char* label, Value value) { return {label, std::move(value), nullptr, {}, {}}; }
EncoderLiteral::Param word(const char* text) { return {{}, Value(), nullptr, text, {}}; }
EncoderLiteral::Param nested(EncoderLiteral literal) { return {{}, Value(), std::make_shared<EncoderLiteral>(std::move(literal)), {}, {}}; }

FormatPtr make(const EncoderLiteral& literal) { return script::format_from_value(encoder_maker()(literal)); }

std::string refusal(const EncoderLiteral& literal) {
    try {
        make(literal);
    } catch (const lang::ScriptError& error) {
        return error.diagnostic().message + " (" + std::to_string(error.diagnostic().code) + ")";
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

TEST(Formats, DefaultsOfEveryLiteral) {
    struct Case { const char* name; const char* mime; const char* extension; bool in_band; };
    for (const Case& c : {Case{"mp3", "audio/mpeg", "mp3", false}, {"mp3.vbr", "audio/mpeg", "mp3", false}, {"mp3.abr", "audio/mpeg", "mp3", false},
                          {"vorbis", "audio/ogg", "ogg", true}, {"vorbis.cbr", "audio/ogg", "ogg", true}, {"opus", "audio/ogg", "opus", true},
                          {"flac", "audio/flac", "flac", false}, {"aac", "audio/aac", "aac", false}, {"wav", "audio/wav", "wav", false}}) {
        const FormatPtr format = make({c.name, {}, {}});
        EXPECT_EQ(format->mime(), c.mime) << c.name;
        EXPECT_EQ(format->extension(), c.extension) << c.name;
        EXPECT_EQ(format->in_band_metadata(), c.in_band) << c.name;
        ASSERT_EQ(format->tracks().size(), 1u);
        EXPECT_EQ(format->tracks()[0].content, (ContentFormat{ContentFormat::Kind::pcm, 2})) << c.name;
        EXPECT_TRUE(encoder_available()(c.name));
    }
    EXPECT_FALSE(encoder_available()("nothing"));
}

TEST(Formats, ParametersAreRead) {
    const FormatPtr mp3 = make({"mp3", {param("bitrate", Value::integer(192)), word("mono")}, {}});
    EXPECT_EQ(mp3->bitrate(), 192000);
    EXPECT_EQ(mp3->tracks()[0].content.channels, 1);
    EXPECT_EQ(mp3->describe(), make({"mp3", {word("mono"), param("bitrate", Value::integer(192))}, {}})->describe());
    EXPECT_NE(mp3->describe(), make({"mp3", {}, {}})->describe());
    const FormatPtr ogg = make({"ogg", {nested({"flac", {param("channels", Value::integer(1))}, {}})}, {}});
    EXPECT_TRUE(ogg->in_band_metadata());
    EXPECT_EQ(ogg->tracks()[0].content.channels, 1);
}

TEST(Formats, FfmpegTracks) {
    EncoderLiteral literal{"ffmpeg",
                           {param("format", Value::string("mpegts")), nested({"audio_low.copy", {}, {}}), nested({"audio_high.drop", {}, {}}),
                            nested({"audio_more", {param("codec", Value::string("aac")), param("b", Value::string("48k")), param("ac", Value::integer(1))}, {}})},
                           {}};
    const FormatPtr format = make(literal);
    ASSERT_EQ(format->tracks().size(), 3u);
    EXPECT_EQ(format->tracks()[0].content.kind, ContentFormat::Kind::packets);
    EXPECT_EQ(format->tracks()[1].content.kind, ContentFormat::Kind::any);
    EXPECT_EQ(format->tracks()[2].content, (ContentFormat{ContentFormat::Kind::pcm, 1}));
    EXPECT_EQ(format->segments(), Format::Segments::mpegts);
    EXPECT_EQ(format->describe(), "%ffmpeg(format=\"mpegts\",%audio_low.copy,%audio_high.drop,%audio_more(codec=\"aac\",channels=1,b=\"48k\"))");
}

TEST(Formats, RefusalsSayWhat) {
    EXPECT_EQ(refusal({"mp3", {param("bitrat", Value::integer(1))}, {}}), "%mp3: unknown parameter bitrat. (8)");
    EXPECT_NE(refusal({"mp3", {param("bitrate", Value::integer(1))}, {}}).find("Possible values: 8, 16"), std::string::npos);
    EXPECT_EQ(refusal({"mp3", {param("bitrate", Value::string("x"))}, {}}), "%mp3: bitrate must be an integer. (8)");
    EXPECT_EQ(refusal({"nothing", {}, {}}), "Unsupported encoder: %nothing. (12)");
    const auto audio = [](EncoderLiteral::Param p) {
        return EncoderLiteral{"ffmpeg", {param("format", Value::string("adts")), nested({"audio", {param("codec", Value::string("aac")), std::move(p)}, {}})}, {}};
    };
    EXPECT_NE(refusal(audio(param("foo", Value::integer(1)))).find("Unrecognized options: foo."), std::string::npos);
    EXPECT_NE(refusal({"ffmpeg", {nested({"audio", {param("codec", Value::string("zzz"))}, {}})}, {}}).find("Unknown codec: \"zzz\""), std::string::npos);
    EXPECT_NE(refusal({"ffmpeg", {param("format", Value::string("zzz")), nested({"audio.copy", {}, {}})}, {}}).find("Unknown format: \"zzz\""), std::string::npos);
    EXPECT_NE(refusal({"ffmpeg", {nested({"video", {param("codec", Value::string("libx264"))}, {}})}, {}}).find("not supported yet"), std::string::npos);
    EXPECT_NE(refusal({"ffmpeg", {nested({"thing", {}, {}})}, {}}).find("audio or video"), std::string::npos);
    EXPECT_NE(refusal({"ffmpeg", {nested({"audio.copy", {}, {}}), nested({"audio.drop", {}, {}})}, {}}).find("two tracks"), std::string::npos);
}

TEST(Formats, TypesAreKnownBeforeEvaluation) {
    using namespace lang::term;
    const auto typer = encoder_typer();
    EXPECT_EQ(typer({"mp3", {}}, {}), "format(audio=pcm(stereo))");
    EXPECT_EQ(typer({"mp3", {EncoderParam{.word = "mono"}}}, {}), "format(audio=pcm(mono))");
    lang::Term six{{}, Int{6}}, codec{{}, String{"aac"}};
    EXPECT_EQ(typer({"wav", {EncoderParam{.label = "channels", .value = &six}}}, {}), "format(audio=pcm(5.1))");
    lang::Term copy{{}, Encoder{"audio_low.copy", {}}}, drop{{}, Encoder{"audio_high.drop", {}}};
    EXPECT_EQ(typer({"ffmpeg", {EncoderParam{.encoder = &copy}, EncoderParam{.encoder = &drop}}}, {}), "format(audio_high='drop2,audio_low=ffmpeg.copy('copy1))");
    lang::Term audio{{}, Encoder{"audio", {EncoderParam{.label = "codec", .value = &codec}, EncoderParam{.label = "channels", .value = &six}}}};
    EXPECT_EQ(typer({"ffmpeg", {EncoderParam{.encoder = &audio}}}, {}), "format(audio=pcm(5.1))");
    EXPECT_THROW(typer({"nothing", {}}, {}), lang::ScriptError);

    // The checker understands what it is told.
    lang::TypeEnvironment environment;
    int number = 0;
    for (const Encoder& encoder : {Encoder{"mp3", {}}, Encoder{"wav", {EncoderParam{.label = "channels", .value = &six}}},
                                   Encoder{"ffmpeg", {EncoderParam{.encoder = &copy}, EncoderParam{.encoder = &drop}}}, Encoder{"ffmpeg", {EncoderParam{.encoder = &audio}}},
                                   Encoder{"ffmpeg", {}}}) {
        const std::string name = "f" + std::to_string(++number), text = typer(encoder, {});
        EXPECT_NO_THROW(environment.declare(name, text)) << text;
        EXPECT_NE(environment.type_of(name), "") << text;
        std::printf("%s: %s\n", text.c_str(), environment.type_of(name).c_str());
    }
}

}  // namespace
}  // namespace castile::formats
