#include "operators/variable_resampler.h"

#include <samplerate.h>

#include <algorithm>

#include "base/error.h"

namespace castile::operators {

namespace {
// libsamplerate takes in what it is given long before it uses it: in small steps waiting() stays true.
constexpr std::size_t step = 32;
}  // namespace

struct VariableResampler::State {
    explicit State(int channels) {
        int error = 0;
        src = src_new(SRC_SINC_FASTEST, channels, &error);
        if (!src) throw Error(std::string("Cannot resample: ") + src_strerror(error));
    }
    ~State() { src_delete(src); }
    SRC_STATE* src = nullptr;
};

VariableResampler::VariableResampler(int channels) : state_(std::make_unique<State>(std::max(1, channels))), channels_(std::max(1, channels)) {}
VariableResampler::~VariableResampler() = default;

void VariableResampler::feed(const PcmBlock& block) {
    if (taken_ > 0) {
        fed_.erase(fed_.begin(), fed_.begin() + static_cast<std::ptrdiff_t>(taken_));
        taken_ = 0;
    }
    const std::size_t count = static_cast<std::size_t>(channels_), begin = fed_.size(), samples = block.samples();
    fed_.resize(begin + samples * count);
    for (std::size_t c = 0; c < count; ++c) {
        const auto channel = block.channel(std::min(static_cast<int>(c), block.channels() - 1));
        for (std::size_t i = 0; i < samples; ++i) fed_[begin + i * count + c] = channel[i];
    }
}

std::size_t VariableResampler::make(PcmBlock& out, std::size_t at, std::size_t wanted, double ratio) {
    const std::size_t count = static_cast<std::size_t>(channels_);
    made_.resize(std::max(made_.size(), wanted * count));
    std::size_t made = 0;
    while (made < wanted) {
        SRC_DATA data{};
        data.data_in = fed_.data() + taken_;
        data.input_frames = static_cast<long>(std::min(waiting(), step));
        data.data_out = made_.data() + made * count;
        data.output_frames = static_cast<long>(wanted - made);
        data.src_ratio = std::clamp(ratio, 1. / 256, 256.);
        if (src_process(state_->src, &data) != 0) break;
        taken_ += static_cast<std::size_t>(data.input_frames_used) * count;
        made += static_cast<std::size_t>(data.output_frames_gen);
        if (data.output_frames_gen == 0 && (data.input_frames_used == 0 || waiting() == 0)) break;
    }
    for (std::size_t c = 0; c < count; ++c) {
        const auto channel = out.write(static_cast<int>(c));
        for (std::size_t i = 0; i < made; ++i) channel[at + i] = made_[i * count + c];
    }
    return made;
}

void VariableResampler::reset() noexcept {
    src_reset(state_->src);
    fed_.clear();
    taken_ = 0;
}

}  // namespace castile::operators
