// ffmpeg.encode.audio, track.ffmpeg.encode.audio: PCM in, one shared encode out.

#include <algorithm>

#include "base/error.h"
#include "codec/media_format.h"
#include "codec/track_encoder.h"
#include "script/operator.h"
#include "script/values.h"

namespace castile {
namespace {

using namespace script;

/// The encode track of a format that is meant for `field`: the one of that name, or the only one.
TrackSpec track_for(const FormatPtr& format, Name field) {
    const auto* media = dynamic_cast<const MediaFormat*>(format.get());
    if (!media) throw Error("This format cannot be encoded to a track.");
    const TrackSpec* found = nullptr;
    int encoded = 0;
    for (const TrackSpec& track : media->spec().tracks) {
        if (track.mode != TrackSpec::Mode::encode) continue;
        ++encoded;
        if (!found || track.field == field) found = &track;
    }
    if (!found || (found->field != field && encoded > 1)) throw Error(fmt::format("{} has no %{} track to encode.", format->describe(), field.str()));
    return *found;
}

/// Encodes its input's track; metadata and track marks pass. The encoder lives while the source is awake, across the input's gaps.
class EncodeAudio final : public Source {
public:
    EncodeAudio(std::string name, const FormatPtr& format, const SourcePtr& input, Name field)
        : Source(std::move(name)), spec_(track_for(format, "audio")), field_(field) {
        require_content(input->content(), field, {ContentFormat::Kind::pcm, spec_.encoder.channels});
        require_content(content(), audio_, {ContentFormat::Kind::packets, 0});
        forbid_other_fields(content());
        add_input(input, false);
    }

    bool fallible() const noexcept override { return input().fallible(); }
    std::optional<Ticks> remaining() noexcept override { return input().remaining(); }
    void skip() noexcept override { input().skip(); }
    Ticks seek(Ticks ticks) noexcept override { return input().seek(ticks); }
    Source* effective_source() noexcept override { return input().effective_source(); }

protected:
    bool can_generate() noexcept override { return input().ready(); }

    void generate(Frame& out, Ticks) noexcept override {
        const Frame& in = input().frame();
        Content& content = out.track(audio_);
        if (!std::holds_alternative<PacketList>(content)) content.emplace<PacketList>();
        auto& packets = std::get<PacketList>(content);
        if (const PcmBlock* pcm = in.pcm(field_)) {
            try {
                if (!encoder_) encoder_.emplace(spec_);
                encoder_->encode(*pcm, packets);
                failing_ = false;
            } catch (const std::exception& error) {
                if (!std::exchange(failing_, true)) log().severe("Encoding failed: {}", error.what());
                encoder_.reset();
            }
        }
        out.metadata().assign(in.metadata().begin(), in.metadata().end());
        out.track_marks().assign(in.track_marks().begin(), in.track_marks().end());
        out.set_length(in.length());
    }

    void on_wake_up() override { encoder_.emplace(spec_); }
    void on_sleep() noexcept override { encoder_.reset(); }

private:
    Source& input() const noexcept { return *inputs().front(); }

    TrackSpec spec_;
    Name field_;
    const Name audio_{"audio"};
    std::optional<TrackEncoder> encoder_;
    bool failing_ = false;
};

enum : unsigned { format, input };

const RegisterOperator encode_audio{{
    .name = "ffmpeg.encode.audio",
    .category = Category::conversion,
    .doc = "Encode the audio of a source with FFmpeg, once, for all who use the encoded track.",
    .params = {
        {"", "format(audio=pcm('a), 'b)", nullptr, "How to encode."},
        {"", "source(audio=pcm('a), 'c)", nullptr, "What to encode."},
    },
    .result = "source(audio=ffmpeg.copy('d))",
    .build = [](Args& args) -> SourcePtr {
        return std::make_shared<EncodeAudio>("ffmpeg.encode.audio", args.format(format), args.source(input), "audio");
    },
}};

const lang::RegisterBuiltin encode_track{{
    .name = "track.ffmpeg.encode.audio",
    .category = "Track / Conversion",
    .doc = "Encode an audio track with FFmpeg, once, for all who use the encoded track.",
    .params = {
        {"id", "string?", "null", "Name of the source in the log and in commands."},
        {"", "format(audio=pcm('a), 'b)", nullptr, "How to encode."},
        {"", "pcm('a)", nullptr, "What to encode."},
    },
    .result = "ffmpeg.copy('c)",
    .closure = [](const lang::BuiltinArgs& args) -> lang::Value {
        const Track track = track_from_value(args[2]);
        try {
            const auto source = std::make_shared<EncodeAudio>("track.ffmpeg.encode.audio", format_from_value(args[1]), track.source, track.field);
            if (!args[0].is_null()) source->set_id(args[0].as_string());
            return to_value(Track{source, "audio"});
        } catch (const Error& error) {
            throw_invalid(args.call_site(), "track.ffmpeg.encode.audio", error.what());
        }
    },
}};

}  // namespace
}  // namespace castile
