#include "formats/literal.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "ffmpeg/catalogue.h"
#include "formats/formats.h"
#include "script/values.h"

namespace castile::formats {
namespace {

using lang::Value;

std::map<std::string, FormatLiteral, std::less<>>& table() {
    static std::map<std::string, FormatLiteral, std::less<>> formats;
    return formats;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
    return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace

void refuse_at(lang::Span span, const std::string& message) {
    throw lang::ScriptError(lang::Diagnostic{lang::Severity::error, 8, span, message, {}});
}

Parameters::Parameters(const lang::EncoderLiteral& literal) : literal_(literal), used_(literal.params.size()), last_(literal.span) {}

const lang::EncoderLiteral::Param* Parameters::take(std::string_view label) {
    const lang::EncoderLiteral::Param* found = nullptr;
    for (std::size_t i = 0; i < literal_.params.size(); ++i) {
        const auto& param = literal_.params[i];
        if (param.encoder || !param.word.empty() || param.label.view() != label) continue;
        used_[i] = true;   // given twice: the last counts
        found = &param;
        last_ = param.span;
    }
    return found;
}

void Parameters::refuse(const std::string& message) const { refuse_at(last_, fmt::format("%{}: {}", literal_.name.str(), message)); }

std::optional<int> Parameters::integer(std::string_view label) {
    const auto* param = take(label);
    if (!param) return std::nullopt;
    if (param->value.kind() != Value::Kind::integer) refuse(fmt::format("{} must be an integer.", label));
    return static_cast<int>(param->value.as_int());
}

std::optional<int> Parameters::integer_of(std::string_view label, std::initializer_list<int> allowed) {
    const auto value = integer(label);
    if (value && std::ranges::find(allowed, *value) == allowed.end())
        refuse(fmt::format("invalid {} value. Possible values: {}.", label, fmt::join(allowed, ", ")));
    return value;
}

std::optional<int> Parameters::integer_between(std::string_view label, int low, int high) {
    const auto value = integer(label);
    if (value && (*value < low || *value > high)) refuse(fmt::format("{} should be in {}..{}.", label, low, high));
    return value;
}

std::optional<double> Parameters::floating(std::string_view label) {
    const auto* param = take(label);
    if (!param) return std::nullopt;
    const auto kind = param->value.kind();
    if (kind != Value::Kind::floating && kind != Value::Kind::integer) refuse(fmt::format("{} must be a float.", label));
    return param->value.as_float();
}

std::optional<bool> Parameters::boolean(std::string_view label) {
    const auto* param = take(label);
    if (!param) return std::nullopt;
    if (param->value.kind() != Value::Kind::boolean) refuse(fmt::format("{} must be true or false.", label));
    return param->value.as_bool();
}

std::optional<std::string> Parameters::text(std::string_view label) {
    const auto* param = take(label);
    if (!param) return std::nullopt;
    if (param->value.kind() != Value::Kind::string) refuse(fmt::format("{} must be a string.", label));
    return param->value.as_string();
}

std::optional<std::string> Parameters::text_of(std::string_view label, std::initializer_list<std::string_view> allowed) {
    const auto value = text(label);
    if (value && std::ranges::find(allowed, *value) == allowed.end())
        refuse(fmt::format("invalid {}. Possible values: {}.", label, fmt::join(allowed, ", ")));
    return value;
}

std::optional<std::string> Parameters::any(std::string_view label) {
    const auto* param = take(label);
    if (!param) return std::nullopt;
    auto value = option_text(param->value);
    if (!value) refuse(fmt::format("{} must be a number or a string.", label));
    return value;
}

bool Parameters::word(std::string_view word) {
    bool found = false;
    for (std::size_t i = 0; i < literal_.params.size(); ++i) {
        const auto& param = literal_.params[i];
        if (param.encoder) continue;
        const bool bare = equal_ignoring_case(param.word.view(), word);
        const bool unlabelled = param.word.empty() && param.label.empty() && param.value.kind() == Value::Kind::string && equal_ignoring_case(param.value.as_string(), word);
        if (!bare && !unlabelled) continue;
        used_[i] = found = true;
        last_ = param.span;
    }
    return found;
}

int Parameters::channels() {
    int channels = 2;
    if (word("mono")) channels = 1;
    if (word("stereo")) channels = 2;
    if (const auto stereo = boolean("stereo")) channels = *stereo ? 2 : 1;
    if (const auto mono = boolean("mono")) channels = *mono ? 1 : 2;
    if (const auto count = integer_between("channels", 1, 64)) channels = *count;
    return channels;
}

int Parameters::samplerate() {
    const auto rate = integer("samplerate");
    if (rate && (*rate < 1000 || *rate > 768000)) refuse("invalid samplerate value.");
    return rate.value_or(0);
}

const lang::EncoderLiteral* Parameters::nested(std::initializer_list<std::string_view> names) {
    for (std::size_t i = 0; i < literal_.params.size(); ++i) {
        const auto& param = literal_.params[i];
        if (used_[i] || !param.encoder || std::ranges::find(names, param.encoder->name.view()) == names.end()) continue;
        used_[i] = true;
        last_ = param.span;
        return param.encoder.get();
    }
    return nullptr;
}

const lang::EncoderLiteral::Param* Parameters::next() {
    for (std::size_t i = 0; i < literal_.params.size(); ++i) {
        if (used_[i]) continue;
        used_[i] = true;
        last_ = literal_.params[i].span;
        return &literal_.params[i];
    }
    return nullptr;
}

void Parameters::finish() {
    const auto* param = next();
    if (!param) return;
    if (param->encoder) refuse(fmt::format("unexpected %{}.", param->encoder->name.str()));
    if (!param->word.empty()) refuse(fmt::format("unknown parameter {}.", param->word.str()));
    if (!param->label.empty()) refuse(fmt::format("unknown parameter {}.", param->label.str()));
    refuse(fmt::format("unknown parameter {}.", lang::to_string(param->value, true)));
}

std::optional<std::string> option_text(const Value& value) {
    switch (value.kind()) {
        case Value::Kind::boolean: return value.as_bool() ? "1" : "0";
        case Value::Kind::integer: return std::to_string(value.as_int());
        case Value::Kind::floating: return fmt::format("{}", value.as_float());
        case Value::Kind::string: return value.as_string();
        case Value::Kind::tuple: case Value::Kind::null: case Value::Kind::list: case Value::Kind::function: case Value::Kind::foreign: break;
    }
    return std::nullopt;
}

std::string in_quotes(std::string_view text) {
    std::string result = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\') result += '\\';
        result += c;
    }
    return result + "\"";
}

RegisterFormat::RegisterFormat(FormatLiteral literal) {
    std::string name = literal.name;
    table().insert_or_assign(std::move(name), std::move(literal));
}

const FormatLiteral* find_format(std::string_view name) {
    const auto found = table().find(name);
    return found == table().end() ? nullptr : &found->second;
}

bool available(const FormatLiteral& literal) { return literal.encoder.empty() || ffmpeg::has_audio_encoder(literal.encoder); }

std::string pcm_type(int channels) {
    switch (channels) {
        case 1: return "pcm(mono)";
        case 2: return "pcm(stereo)";
        case 6: return "pcm(5.1)";
        default: return "pcm(_)";   // agreed between sources when they start
    }
}

int static_channels(const lang::term::Encoder& encoder) {
    int channels = 2;
    for (const auto& param : encoder.params) {
        std::string_view word = param.word.view();
        if (word.empty() && param.label.empty() && param.value)
            if (const auto* text = std::get_if<lang::term::String>(&param.value->node)) word = text->value;
        if (equal_ignoring_case(word, "mono")) channels = 1;
        if (equal_ignoring_case(word, "stereo")) channels = 2;
        const std::string_view label = param.label.view();
        if (!param.value || (label != "stereo" && label != "mono" && label != "channels")) continue;
        if (label == "channels") {
            const auto* count = std::get_if<lang::term::Int>(&param.value->node);
            if (!count) refuse_at(param.value->span, "Invalid value for channels. Only static numbers are allowed.");
            channels = static_cast<int>(count->value);
        } else {
            const auto* flag = std::get_if<lang::term::Bool>(&param.value->node);
            if (!flag) refuse_at(param.value->span, fmt::format("Invalid value for {}. Only static true or false are allowed.", label));
            channels = flag->value == (label == "stereo") ? 2 : 1;
        }
    }
    return channels;
}

MediaSpec audio_spec(std::string name, std::string container, std::string codec, int channels, int samplerate) {
    MediaSpec spec;
    spec.name = std::move(name);
    spec.container = std::move(container);
    TrackSpec track;
    track.encoder.codec = std::move(codec);
    track.encoder.channels = channels;
    track.encoder.samplerate = samplerate;
    spec.tracks.push_back(std::move(track));
    return spec;
}

void describe(MediaSpec& spec) {
    if (!spec.literal.empty()) return;
    TrackSpec& track = spec.tracks.front();
    std::vector<std::string> parts{fmt::format("channels={}", track.encoder.channels)};
    if (track.encoder.samplerate > 0) parts.push_back(fmt::format("samplerate={}", track.encoder.samplerate));
    if (!track.encoder.sample_format.empty()) parts.push_back("sample_format=" + in_quotes(track.encoder.sample_format));
    auto options = track.encoder.options;
    options.insert(options.end(), spec.options.begin(), spec.options.end());
    std::ranges::stable_sort(options, {}, &ffmpeg::OptionList::value_type::first);
    for (const auto& [name, value] : options) parts.push_back(name + "=" + in_quotes(value));
    spec.literal = fmt::format("%{}({})", spec.name, fmt::join(parts, ","));
    track.literal = spec.literal;
}

lang::EncoderTyper encoder_typer() {
    return [](const lang::term::Encoder& encoder, lang::Span span) -> std::string {
        const FormatLiteral* literal = find_format(encoder.name.view());
        if (!literal)
            throw lang::ScriptError(lang::Diagnostic{lang::Severity::error, 12, span, fmt::format("Unsupported encoder: %{}.", encoder.name.str()), {}});
        if (literal->type) return literal->type(encoder, span);
        return fmt::format("format(audio={})", pcm_type(static_channels(encoder)));
    };
}

lang::EncoderMaker encoder_maker() {
    return [](const lang::EncoderLiteral& given) -> Value {
        const FormatLiteral* literal = find_format(given.name.view());
        if (!literal || !available(*literal))
            throw lang::ScriptError(lang::Diagnostic{lang::Severity::error, 12, given.span,
                                                     literal ? fmt::format("Unsupported encoder: %{}. This build of FFmpeg has no {}.", given.name.str(), literal->encoder)
                                                             : fmt::format("Unsupported encoder: %{}.", given.name.str()), {}});
        Parameters parameters(given);
        MediaSpec spec = literal->make(parameters);
        parameters.finish();
        describe(spec);
        auto format = std::make_shared<const MediaFormat>(std::move(spec));
        format->check();
        return script::to_value(FormatPtr(std::move(format)));
    };
}

std::vector<std::string> literal_names() {
    std::vector<std::string> names;
    for (const auto& [name, literal] : table())
        if (available(literal)) names.push_back(name);
    return names;
}

std::function<bool(std::string_view)> encoder_available() {
    return [](std::string_view name) {
        const FormatLiteral* literal = find_format(name);
        return literal && available(*literal);
    };
}

}  // namespace castile::formats
