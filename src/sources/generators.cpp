// Sources that make their samples themselves: blank, sine, square, saw, triangle, noise.

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <random>

#include "script/operator.h"

namespace castile {

namespace {

using script::Args;
using script::Getter;

const Name audio("audio");

/// Makes samples without end, cut into tracks of a duration when there is one.
class Generator : public Source {
public:
    Generator(std::string name, std::function<double()> duration) : Source(std::move(name)), duration_(std::move(duration)) {
        require_content(content(), audio, {ContentFormat::Kind::pcm, 0});
    }
    bool fallible() const noexcept override { return false; }
    std::optional<Ticks> remaining() noexcept override {
        if (length_ <= 0) return std::nullopt;
        return Ticks{length_ - position_};
    }
    void skip() noexcept override { at_start_ = true; }

protected:
    bool can_generate() noexcept override { return true; }

    void generate(Frame& out, Ticks wanted) noexcept override {
        out.track(audio) = make_block(static_cast<std::size_t>(wanted.count));
        out.set_length(wanted);
        for (std::int64_t at = 0; at < wanted.count;) {
            if (at_start_) begin_track(out, Ticks{at});
            const std::int64_t step = length_ > 0 ? std::min(wanted.count - at, length_ - position_) : wanted.count - at;
            at += step;
            position_ += step;
            at_start_ = length_ > 0 && position_ >= length_;
        }
    }

    virtual PcmBlock make_block(std::size_t samples) noexcept {
        PcmBlock block(pcm_channels(), samples);
        fill(block);
        return block;
    }
    virtual void fill(PcmBlock& block) noexcept = 0;

private:
    void begin_track(Frame& out, Ticks at) {
        out.track_marks().push_back(at);
        position_ = 0;
        length_ = ticks_from_seconds(duration_()).count;
        if (length_ < 0) length_ = 0;
        at_start_ = false;
    }

    const std::function<double()> duration_;   // seconds; 0 or less: for ever
    std::int64_t length_ = 0, position_ = 0;
    bool at_start_ = true;
};

class Blank final : public Generator {
public:
    using Generator::Generator;

protected:
    PcmBlock make_block(std::size_t samples) noexcept override {
        if (silence_.channels() != pcm_channels() || silence_.samples() < samples) {
            silence_ = PcmBlock(pcm_channels(), samples);
            fill(silence_);
        }
        return silence_.slice(0, samples);
    }
    void fill(PcmBlock& block) noexcept override { block.clear(); }

private:
    PcmBlock silence_;   // shared by all frames; who writes to one gets a copy
};

/// A tone from a function of the phase (0 to 1); the phase goes on smoothly when the frequency changes.
class Tone final : public Generator {
public:
    Tone(std::string name, std::function<double()> duration, double (*shape)(double), Getter<double> frequency, Getter<double> amplitude)
        : Generator(std::move(name), std::move(duration)), shape_(shape), frequency_(std::move(frequency)), amplitude_(std::move(amplitude)) {}

protected:
    void fill(PcmBlock& block) noexcept override {
        if (block.channels() == 0) return;
        const double step = frequency_.get() / stream_parameters().samplerate, amplitude = amplitude_.get();
        const auto first = block.write(0);
        for (float& sample : first) {
            sample = static_cast<float>(amplitude * shape_(phase_));
            phase_ += step;
            phase_ -= std::floor(phase_);
        }
        for (int c = 1; c < block.channels(); ++c) std::ranges::copy(block.channel(0), block.write(c).begin());
    }

private:
    double (*const shape_)(double);
    const Getter<double> frequency_, amplitude_;
    double phase_ = 0;
};

class Noise final : public Generator {
public:
    using Generator::Generator;

protected:
    void fill(PcmBlock& block) noexcept override {
        for (int c = 0; c < block.channels(); ++c)
            for (float& sample : block.write(c)) {
                state_ ^= state_ << 13;
                state_ ^= state_ >> 7;
                state_ ^= state_ << 17;
                sample = static_cast<float>(static_cast<std::int32_t>(state_ >> 32)) / 2147483648.f;
            }
    }

private:
    std::uint64_t state_ = std::random_device{}() | 1ull;   // xorshift64
};

std::function<double()> optional_duration(const Args& args, std::size_t i) {
    return [seconds = args.optional_floating(i).value_or(0)] { return seconds; };
}

const script::RegisterOperator blank{{
    .name = "blank",
    .category = script::Category::input,
    .doc = "Silence.",
    .params = {{"duration", "{float}", "0.", "Length of a track in seconds; 0 or less for one without end."}},
    .result = "source('a)",
    .build = [](Args& args) -> SourcePtr {
        return std::make_shared<Blank>("blank", [duration = args.getter<double>(0)] { return duration.get(); });
    },
}};

const script::RegisterOperator noise{{
    .name = "noise",
    .category = script::Category::input,
    .doc = "White noise.",
    .params = {{"duration", "float?", "null", "Length of a track in seconds; `null` for one without end."}},
    .result = "source('a)",
    .build = [](Args& args) -> SourcePtr { return std::make_shared<Noise>("noise", optional_duration(args, 0)); },
}};

double sine_shape(double phase) { return std::sin(2 * std::numbers::pi * phase); }
double square_shape(double phase) { return phase < 0.5 ? 1 : -1; }
double saw_shape(double phase) { return 2 * phase - 1; }
double triangle_shape(double phase) { return 1 - 4 * std::abs(phase - 0.5); }

template <double (*shape)(double)> script::Operator tone(const char* name, const char* doc) {
    return {
        .name = name,
        .category = script::Category::input,
        .doc = doc,
        .params = {
            {"amplitude", "{float}", "1.", "The largest value."},
            {"duration", "float?", "null", "Length of a track in seconds; `null` for one without end."},
            {"", "{float}", "440.", "Frequency in hertz."},
        },
        .result = "source(audio=pcm('a))",
        .build = [](Args& args) -> SourcePtr {
            return std::make_shared<Tone>(args.function(), optional_duration(args, 1), shape, args.getter<double>(2), args.getter<double>(0));
        },
    };
}

const script::RegisterOperator sine{tone<sine_shape>("sine", "A sine wave.")};
const script::RegisterOperator square{tone<square_shape>("square", "A square wave.")};
const script::RegisterOperator saw{tone<saw_shape>("saw", "A saw wave.")};
const script::RegisterOperator triangle{tone<triangle_shape>("triangle", "A triangle wave.")};

}  // namespace

}  // namespace castile
