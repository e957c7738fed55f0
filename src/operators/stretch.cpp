// stretch: a source played faster or slower, and higher or lower with it.

#include <algorithm>
#include <cmath>

#include "operators/variable_resampler.h"
#include "script/operator.h"
#include "source/child_clock.h"

namespace castile::operators {

namespace {

using script::Args;
using script::Category;
using script::Getter;

const Name audio("audio");

class Stretch final : public ChildClockSource {
public:
    Stretch(SourcePtr input, Getter<double> ratio) : ChildClockSource("stretch", std::move(input), true), ratio_(std::move(ratio)) {
        require_content(content(), audio, {ContentFormat::Kind::pcm, 0});
    }
    std::optional<Ticks> remaining() noexcept override {
        const auto left = input().remaining();
        if (!left) return std::nullopt;
        return Ticks{static_cast<std::int64_t>(static_cast<double>(left->count + static_cast<std::int64_t>(resampler_ ? resampler_->waiting() : 0)) * ratio())};
    }

protected:
    void on_wake_up() override {
        ChildClockSource::on_wake_up();
        if (!resampler_ || resampler_->channels() != pcm_channels()) resampler_ = std::make_unique<VariableResampler>(pcm_channels());
    }
    void on_sleep() noexcept override {
        if (resampler_) resampler_->reset();
        marks_.clear();
        metadata_.clear();
        ChildClockSource::on_sleep();
    }

    bool can_generate() noexcept override { return resampler_->waiting() > 0 || (!exhausted() && input().fallible() ? feed() : !exhausted()); }

    void generate(Frame& out, Ticks wanted) noexcept override {
        const auto samples = static_cast<std::size_t>(wanted.count);
        const double ratio = this->ratio();
        PcmBlock made(resampler_->channels(), samples);
        std::size_t done = 0;
        while (done < samples) {
            const auto before = static_cast<double>(resampler_->waiting());
            const std::size_t more = resampler_->make(made, done, samples - done, ratio);
            const double used = before - static_cast<double>(resampler_->waiting());
            place(out, static_cast<std::int64_t>(done), static_cast<std::int64_t>(more), used);
            done += more;
            if (done < samples && !feed()) break;
        }
        out.track(audio) = done == samples ? std::move(made) : made.slice(0, done);
        out.set_length(Ticks{static_cast<std::int64_t>(done)});
    }

private:
    double ratio() const noexcept {
        const double ratio = ratio_.get();
        return std::isfinite(ratio) ? std::clamp(ratio, 1. / 256, 256.) : 1.;
    }

    bool feed() {
        const Frame& frame = pull();
        const PcmBlock* pcm = frame.pcm(audio);
        if (!pcm || pcm->empty()) return false;
        const auto before = static_cast<double>(resampler_->waiting());
        for (const Ticks mark : frame.track_marks()) marks_.push_back(before + static_cast<double>(mark.count));
        for (const FrameMetadata& m : frame.metadata()) metadata_.emplace_back(before + static_cast<double>(m.position.count), m.metadata);
        resampler_->feed(*pcm);
        return true;
    }

    // Marks and metadata lie so many samples ahead in the input; `used` of them became [from, from + length) of the output.
    void place(Frame& out, std::int64_t from, std::int64_t length, double used) {
        const auto at = [&](double position) {
            const double part = used > 0 ? std::clamp(position / used, 0., 1.) : 0.;
            return Ticks{std::max<std::int64_t>(0, from + std::min(static_cast<std::int64_t>(part * static_cast<double>(length)), length - 1))};
        };
        for (double& mark : marks_)
            if ((mark -= used) < 0 && length > 0 && (out.track_marks().empty() || out.track_marks().back() < at(mark + used))) out.track_marks().push_back(at(mark + used));
        for (auto& [position, metadata] : metadata_)
            if ((position -= used) < 0 && length > 0) out.metadata().push_back({at(position + used), metadata});
        if (length == 0) return;
        std::erase_if(marks_, [](double mark) { return mark < 0; });
        std::erase_if(metadata_, [](const auto& m) { return m.first < 0; });
    }

    const Getter<double> ratio_;
    std::unique_ptr<VariableResampler> resampler_;
    std::vector<double> marks_;                                  ///< samples ahead
    std::vector<std::pair<double, MetadataPtr>> metadata_;
};

const script::RegisterOperator stretch{{
    .name = "stretch",
    .category = Category::audio,
    .doc = "Play a source slower or faster; the pitch follows.",
    .params = {
        {"ratio", "{float}", nullptr, "How much longer it gets: 2 is half as fast."},
        {"", "source(audio=pcm('a), 'b)", nullptr, "The source. It must not be paced by a device."},
    },
    .result = "source(audio=pcm('a))",
    .build = [](Args& args) -> SourcePtr {
        enum : unsigned { ratio, input };
        return std::make_shared<Stretch>(args.source(input), args.getter<double>(ratio, 1.));
    },
}};

}  // namespace

}  // namespace castile::operators
