// amplify: multiplies the signal.

#include <algorithm>
#include <charconv>
#include <cmath>

#include "script/operator.h"
#include "source/passthrough.h"

namespace castile {

namespace {

using script::Args;
using script::Getter;

const Name audio("audio");

// "-3 dB" or "0.5"; what is neither is no factor.
std::optional<float> factor_of(std::string_view text) {
    while (text.starts_with(' ')) text.remove_prefix(1);
    if (text.starts_with('+')) text.remove_prefix(1);
    float value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc()) return std::nullopt;
    std::string_view unit(end, text.data() + text.size());
    while (unit.starts_with(' ')) unit.remove_prefix(1);
    if (unit.size() >= 2 && (unit[0] == 'd' || unit[0] == 'D') && (unit[1] == 'b' || unit[1] == 'B')) return std::pow(10.f, value / 20.f);
    return value;
}

class Amplify final : public Passthrough {
public:
    Amplify(SourcePtr input, Getter<float> factor, Getter<std::optional<std::string>> override_label)
        : Passthrough("amplify", std::move(input)), factor_(std::move(factor)), override_label_(std::move(override_label)) {
        require_content(content(), audio, {ContentFormat::Kind::pcm, 0});
    }

protected:
    // The track's own factor, when its metadata gives one, holds from its mark to the next.
    void process(Frame& frame) noexcept override {
        const float factor = factor_.get();
        Ticks from{};
        for (const Ticks mark : frame.track_marks()) {
            scale(frame, from, mark, own_.value_or(factor));
            from = mark;
            own_.reset();
            for (const FrameMetadata& m : frame.metadata())
                if (m.position == mark) read_override(*m.metadata);
        }
        scale(frame, from, frame.length(), own_.value_or(factor));
    }

private:
    void read_override(const Metadata& metadata) {
        const auto& label = override_label_.get();
        const std::string* text = label ? metadata.find(*label) : nullptr;
        if (!text) return;
        own_ = factor_of(*text);
        if (own_) log().info("Factor of this track: {}.", *own_);
    }

    static void scale(Frame& frame, Ticks from, Ticks to, float factor) {
        if (factor == 1.f || from >= to) return;
        auto* block = std::get_if<PcmBlock>(&frame.track(audio));
        if (!block) return;
        for (int c = 0; c < block->channels(); ++c) {
            const auto samples = block->write(c);
            const auto end = std::min(samples.size(), static_cast<std::size_t>(to.count));
            for (std::size_t i = static_cast<std::size_t>(from.count); i < end; ++i) samples[i] *= factor;
        }
    }

    const Getter<float> factor_;
    const Getter<std::optional<std::string>> override_label_;
    std::optional<float> own_;
};

const script::RegisterOperator amplify{{
    .name = "amplify",
    .category = script::Category::audio,
    .doc = "Multiply the amplitude of the signal.",
    .params = {
        {"override", "{string?}", "\"liq_amplify\"",
         "Metadata that gives a track a factor of its own, as \"0.5\" or \"-6 dB\"; `null` for none."},
        {"", "{float}", nullptr, "The factor."},
        {"", "source(audio=pcm('a), 'b)", nullptr, "What to amplify."},
    },
    .result = "source(audio=pcm('a), 'b)",
    .build = [](Args& args) -> SourcePtr {
        enum : unsigned { override_label, factor, input };
        return std::make_shared<Amplify>(args.source(input), args.getter<float>(factor, 1.f),
                                         args.getter<std::optional<std::string>>(override_label));
    },
}};

}  // namespace

}  // namespace castile
