// mean, stereo, mono, swap: how channels are laid out.

#include <algorithm>

#include "script/operator.h"
#include "source/passthrough.h"

namespace castile {

namespace {

using script::Args;

const Name audio("audio");

/// Another number of audio channels than the input's; the other tracks pass.
class Rechannel : public Passthrough {
public:
    Rechannel(std::string name, SourcePtr input, int channels) : Passthrough(std::move(name), std::move(input), false), channels_(channels) {
        require_content(this->input().content(), audio, {ContentFormat::Kind::pcm, 0});
        require_content(content(), audio, {ContentFormat::Kind::pcm, channels});
    }

protected:
    virtual void convert(const PcmBlock& from, PcmBlock& to) noexcept = 0;
    int channels() const noexcept { return channels_; }

    void process(Frame& frame) noexcept override {
        auto* block = std::get_if<PcmBlock>(&frame.track(audio));
        if (!block || block->channels() == 0) return;
        PcmBlock converted(channels_, block->samples());
        convert(*block, converted);
        *block = std::move(converted);
    }

private:
    const int channels_;
};

class Mean final : public Rechannel {
public:
    Mean(SourcePtr input, bool normalize) : Rechannel("mean", std::move(input), 1), normalize_(normalize) {}

protected:
    void convert(const PcmBlock& from, PcmBlock& to) noexcept override {
        const auto sum = to.write(0);
        std::ranges::copy(from.channel(0), sum.begin());
        for (int c = 1; c < from.channels(); ++c) {
            const auto samples = from.channel(c);
            for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += samples[i];
        }
        if (!normalize_ || from.channels() == 1) return;
        const float factor = 1.f / static_cast<float>(from.channels());
        for (float& sample : sum) sample *= factor;
    }

private:
    const bool normalize_;
};

/// One channel is doubled; of more than two the first two are kept.
class Stereo final : public Rechannel {
public:
    explicit Stereo(SourcePtr input) : Rechannel("stereo", std::move(input), 2) {}

protected:
    void convert(const PcmBlock& from, PcmBlock& to) noexcept override {
        for (int c = 0; c < 2; ++c) std::ranges::copy(from.channel(std::min(c, from.channels() - 1)), to.write(c).begin());
    }
};

class Swap final : public Passthrough {
public:
    explicit Swap(SourcePtr input) : Passthrough("swap", std::move(input)) {
        require_content(content(), audio, {ContentFormat::Kind::pcm, 2});
    }

protected:
    void process(Frame& frame) noexcept override {
        auto* block = std::get_if<PcmBlock>(&frame.track(audio));
        if (!block || block->channels() != 2) return;
        const auto left = block->write(0), right = block->write(1);
        std::ranges::swap_ranges(left, right);
    }
};

const script::RegisterOperator mean{{
    .name = "mean",
    .category = script::Category::conversion,
    .doc = "Mix all channels to one.",
    .params = {
        {"normalize", "bool", "true", "Divide by the number of channels?"},
        {"", "source(audio=pcm('a), 'b)", nullptr, "The source."},
    },
    .result = "source(audio=pcm(mono), 'b)",
    .build = [](Args& args) -> SourcePtr { return std::make_shared<Mean>(args.source(1), args.boolean(0)); },
}};

script::Operator stereo_operator(std::string name, std::string deprecated) {
    return {
        .name = std::move(name),
        .category = script::Category::conversion,
        .doc = "Make a stereo signal: one channel is doubled, of many the first two are kept.",
        .params = {{"", "source(audio=pcm('a), 'b)", nullptr, "The source."}},
        .result = "source(audio=pcm(stereo), 'b)",
        .build = [](Args& args) -> SourcePtr { return std::make_shared<Stereo>(args.source(0)); },
        .deprecated = std::move(deprecated),
    };
}

const script::RegisterOperator stereo{stereo_operator("stereo", "")};
const script::RegisterOperator audio_to_stereo{stereo_operator("audio_to_stereo", "Use `stereo` instead.")};

const script::RegisterOperator swap{{
    .name = "swap",
    .category = script::Category::conversion,
    .doc = "Exchange left and right.",
    .params = {{"", "source(audio=pcm(stereo), 'a)", nullptr, "The source."}},
    .result = "source(audio=pcm(stereo), 'a)",
    .build = [](Args& args) -> SourcePtr { return std::make_shared<Swap>(args.source(0)); },
}};

}  // namespace

}  // namespace castile
