// %ffmpeg(format=..., %audio(codec=..., ...), %name.copy, %name.drop, ...): whatever libav has.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "ffmpeg/catalogue.h"
#include "formats/literal.h"

namespace castile::formats {
namespace {

using lang::Value;

struct TrackName {
    std::string field, mode;   // mode: "", "copy", "drop", "raw"
};

TrackName split(const std::string& name, lang::Span span) {
    const auto dot = name.find('.');
    TrackName parts{name.substr(0, dot), dot == std::string::npos ? "" : name.substr(dot + 1)};
    if (!parts.mode.empty() && parts.mode != "copy" && parts.mode != "drop" && parts.mode != "raw")
        refuse_at(span, fmt::format("%ffmpeg: unknown track mode .{} (known: .copy, .raw, .drop).", parts.mode));
    return parts;
}

enum class Media { audio, video, subtitle };

/// By content words, then the track's name, then the codec.
Media media_of(const std::string& field, const std::vector<std::string>& words, const std::string& codec, lang::Span span) {
    const auto has = [&](const char* word) { return std::ranges::find(words, word) != words.end(); };
    const auto named = [&](const char* part) { return field.find(part) != std::string::npos; };
    if (has("audio_content")) return Media::audio;
    if (has("video_content")) return Media::video;
    if (has("subtitle_content")) return Media::subtitle;
    if (named("subtitle")) return Media::subtitle;
    if (named("audio")) return Media::audio;
    if (named("video")) return Media::video;
    switch (ffmpeg::encoder_kind(codec)) {
        case ffmpeg::MediaKind::audio: return Media::audio;
        case ffmpeg::MediaKind::video: return Media::video;
        case ffmpeg::MediaKind::other: return Media::subtitle;
        case ffmpeg::MediaKind::unknown: break;
    }
    refuse_at(span, fmt::format("%ffmpeg: is %{} audio or video? Name it so (%{}_audio), write %{}(audio_content) or give its codec.", field, field, field));
}

std::string layout_text(const Value& value) {
    return value.kind() == Value::Kind::floating ? fmt::format("{:.1f}", value.as_float()) : option_text(value).value_or("");
}

std::string parts_text(const ffmpeg::OptionList& options) {
    ffmpeg::OptionList sorted = options;
    std::ranges::stable_sort(sorted, {}, &ffmpeg::OptionList::value_type::first);
    std::string text;
    for (const auto& [name, value] : sorted) text += "," + name + "=" + in_quotes(value);
    return text;
}

TrackSpec audio_track(const TrackName& name, Parameters& p, const std::string& container, lang::Span span) {
    TrackSpec track;
    track.field = name.field;
    auto& encoder = track.encoder;
    std::vector<std::string> words;
    for (const char* word : {"audio_content", "video_content", "subtitle_content"})
        if (p.word(word)) words.push_back(word);
    for (const char* kind : {"pcm", "pcm_s16", "pcm_f32"}) p.word(kind);
    encoder.codec = p.text("codec").value_or("");
    switch (media_of(name.field, words, encoder.codec, span)) {
        case Media::audio: break;
        case Media::video: refuse_at(span, "%ffmpeg: encoding video is not supported yet.");
        case Media::subtitle: refuse_at(span, "%ffmpeg: encoding subtitles is not supported yet.");
    }
    if (name.mode == "raw") refuse_at(span, fmt::format("%ffmpeg: %{}.raw is not supported yet; use %{}.", name.field, name.field));
    if (encoder.codec.empty()) encoder.codec = ffmpeg::default_audio_codec(container);
    if (encoder.codec.empty()) refuse_at(span, fmt::format("%ffmpeg: %{} needs a codec, such as codec=\"aac\".", name.field));
    if (const auto count = p.any("channels")) encoder.channels = std::atoi(count->c_str());
    if (const auto count = p.any("ac")) encoder.channels = std::atoi(count->c_str());
    if (const auto rate = p.any("samplerate")) encoder.samplerate = std::atoi(rate->c_str());
    if (const auto rate = p.any("ar")) encoder.samplerate = std::atoi(rate->c_str());
    if (encoder.channels < 1 || encoder.channels > 64) p.refuse("invalid number of channels.");
    if (const auto format = p.text("sample_format")) encoder.sample_format = *format;
    for (const char* label : {"q", "qscale"}) {
        const auto quality = p.floating(label);
        if (!quality) continue;
        encoder.options.emplace_back("flags", "+qscale");
        encoder.options.emplace_back("global_quality", fmt::format("{:.0f}", *quality * 118));
    }
    while (const auto* param = p.next()) {
        const std::string label = param->label.str();
        if (label.empty()) refuse_at(param->span, fmt::format("%ffmpeg: unknown parameter {} of %{}.", param->word.empty() ? lang::to_string(param->value, true) : param->word.str(), name.field));
        const auto value = param->word.empty() ? option_text(param->value) : std::optional(param->word.str());
        if (!value) refuse_at(param->span, fmt::format("%ffmpeg: option {} must be a string, an int or a float.", label));
        if (label == "channel_layout" || label == "ch_layout") {
            const std::string layout = layout_text(param->value);
            encoder.channels = ffmpeg::layout_channels(layout);
            if (encoder.channels == 0) refuse_at(param->span, fmt::format("%ffmpeg: unknown channel layout {}.", in_quotes(layout)));
            encoder.options.emplace_back("ch_layout", layout);
            continue;
        }
        if (label == "flags" && !encoder.options.empty() && encoder.options.front().first == "flags")
            encoder.options.front().second += (value->starts_with('+') || value->starts_with('-') ? "" : "+") + *value;
        else
            encoder.options.emplace_back(label, *value);
    }
    track.literal = fmt::format("%{}({}codec={},channels={}{}{}{})", name.field, words.empty() ? "" : "audio_content,", in_quotes(encoder.codec), encoder.channels,
                                encoder.samplerate > 0 ? fmt::format(",samplerate={}", encoder.samplerate) : "",
                                encoder.sample_format.empty() ? "" : ",sample_format=" + in_quotes(encoder.sample_format), parts_text(encoder.options));
    return track;
}

TrackSpec track_of(const lang::EncoderLiteral& literal, const std::string& container) {
    const TrackName name = split(literal.name.str(), literal.span);
    Parameters p(literal);
    if (name.mode == "copy" || name.mode == "drop") {
        TrackSpec track;
        track.field = name.field;
        track.mode = name.mode == "copy" ? TrackSpec::Mode::copy : TrackSpec::Mode::drop;
        track.literal = "%" + literal.name.str();
        // Every packet of audio can be started from, so both waiting modes come to the same.
        if (name.mode == "copy") (void)(p.word("wait_for_keyframe") || p.word("ignore_keyframe"));
        p.finish();
        return track;
    }
    return audio_track(name, p, container, literal.span);
}

MediaSpec make(Parameters& p) {
    MediaSpec spec;
    spec.name = "ffmpeg";
    spec.shared = true;
    if (const auto container = p.any("format"); container && *container != "none") spec.container = *container;
    p.any("interleaved");   // one track is never interleaved, several always are
    std::vector<std::string> parts;
    if (!spec.container.empty()) parts.push_back("format=" + in_quotes(spec.container));
    std::vector<std::string> tracks;
    while (const auto* param = p.next()) {
        if (param->encoder) {
            spec.tracks.push_back(track_of(*param->encoder, spec.container));
            tracks.push_back(spec.tracks.back().literal);
            continue;
        }
        const std::string label = param->label.str();
        if (label == "metadata" && param->value.kind() == Value::Kind::list) {
            for (const Value& pair : param->value.elements())
                if (pair.elements().size() == 2) spec.tags.emplace_back(pair.elements()[0].as_string(), pair.elements()[1].as_string());
            parts.push_back("metadata=" + lang::to_string(param->value, true));
            continue;
        }
        const auto value = param->word.empty() ? option_text(param->value) : std::optional(param->word.str());
        if (label.empty() || !value)
            refuse_at(param->span, fmt::format("%ffmpeg: unexpected parameter {}.", label.empty() ? (param->word.empty() ? lang::to_string(param->value, true) : param->word.str()) : label));
        spec.options.emplace_back(label, *value);
    }
    std::string text = fmt::format("{}", fmt::join(parts, ","));
    for (const std::string& track : tracks) text += (text.empty() ? "" : ",") + track;
    text += parts_text(spec.options);
    spec.literal = "%ffmpeg(" + (text.starts_with(',') ? text.substr(1) : text) + ")";
    for (const TrackSpec& track : spec.tracks)
        if (std::ranges::count(spec.tracks, track.field, &TrackSpec::field) > 1) refuse_at(p.where(), fmt::format("%ffmpeg: two tracks are named {}.", track.field.str()));
    return spec;
}

int track_channels(const lang::term::Encoder& encoder) {
    int channels = 2;
    for (const auto& param : encoder.params) {
        const std::string_view label = param.label.view();
        if (!param.value) continue;
        const auto& node = param.value->node;
        if (label == "channels" || label == "ac") {
            const auto* count = std::get_if<lang::term::Int>(&node);
            if (!count) refuse_at(param.value->span, fmt::format("Invalid value for {}. Only static numbers are allowed.", label));
            channels = static_cast<int>(count->value);
        } else if (label == "channel_layout" || label == "ch_layout") {
            std::string layout;
            if (const auto* number = std::get_if<lang::term::Float>(&node)) layout = fmt::format("{:.1f}", number->value);
            if (const auto* text = std::get_if<lang::term::String>(&node)) layout = text->value;
            channels = ffmpeg::layout_channels(layout);
            if (channels == 0) refuse_at(param.value->span, fmt::format("Invalid value for {}: no such layout.", label));
        }
    }
    return channels;
}

std::string type(const lang::term::Encoder& encoder, lang::Span span) {
    // A track given twice is refused when the literal is made.
    std::map<std::string, std::string> fields;
    int variable = 0;
    for (const auto& param : encoder.params) {
        if (!param.encoder) continue;
        const auto& track = std::get<lang::term::Encoder>(param.encoder->node);
        const TrackName name = split(track.name.str(), param.encoder->span);
        std::vector<std::string> words;
        std::string codec;
        for (const auto& p : track.params) {
            if (!p.word.empty()) words.push_back(p.word.str());
            if (p.label.view() == "codec" && p.value)
                if (const auto* text = std::get_if<lang::term::String>(&p.value->node)) codec = text->value;
        }
        std::string content;
        if (name.mode == "drop") content = fmt::format("'drop{}", ++variable);
        else if (name.mode == "copy") content = fmt::format("ffmpeg.copy('copy{})", ++variable);
        else
            switch (media_of(name.field, words, codec, param.encoder->span)) {
                case Media::audio: content = name.mode == "raw" ? fmt::format("ffmpeg.audio.raw('raw{})", ++variable) : pcm_type(track_channels(track)); break;
                case Media::video: content = name.mode == "raw" ? fmt::format("ffmpeg.video.raw('raw{})", ++variable) : fmt::format("canvas('video{})", ++variable); break;
                case Media::subtitle: content = "subtitle"; break;
            }
        fields.insert_or_assign(name.field, content);
    }
    std::vector<std::string> parts;
    for (const auto& [field, content] : fields) parts.push_back(field + "=" + content);
    return fmt::format("format({})", fmt::join(parts, ","));
}

const RegisterFormat format{{"ffmpeg", "", make, type}};

}  // namespace
}  // namespace castile::formats
