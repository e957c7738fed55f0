#include "ffmpeg/resampler.h"

#include <fmt/format.h>

#include "base/error.h"
#include "ffmpeg/compat.h"

extern "C" {
#include <libavutil/mem.h>
#include <libswresample/swresample.h>
}

namespace castile::ffmpeg {

SampleSpec pcm_spec(int rate, int channels) noexcept { return {rate, channels, AV_SAMPLE_FMT_FLTP}; }

Resampler::Resampler(const SampleSpec& from, const SampleSpec& to) : from_(from), to_(to) {
    AVChannelLayout in{}, out{};
    av_channel_layout_default(&in, from.channels);
    av_channel_layout_default(&out, to.channels);
    SwrContext* context = nullptr;
    int code = swr_alloc_set_opts2(&context, &out, static_cast<AVSampleFormat>(to.format), to.rate, &in, static_cast<AVSampleFormat>(from.format),
                                   from.rate, 0, nullptr);
    context_.reset(context);
    if (code >= 0) code = swr_init(context);
    if (code < 0)
        throw Error(fmt::format("Cannot convert audio from {} Hz, {} channels to {} Hz, {} channels: {}.", from.rate, from.channels, to.rate, to.channels,
                                error_text(code)));
    planes_.assign(static_cast<std::size_t>(av_sample_fmt_is_planar(static_cast<AVSampleFormat>(to.format)) ? to.channels : 1), nullptr);
}

Resampler::~Resampler() { av_freep(planes_.data()); }

int Resampler::run(const std::uint8_t* const* input, int samples) noexcept {
    const int room = swr_get_out_samples(context_.get(), samples);
    if (room < 0) return room;
    if (room >= capacity_) {
        av_freep(planes_.data());
        capacity_ = 0;
        const int code = av_samples_alloc(planes_.data(), nullptr, to_.channels, room + 64, static_cast<AVSampleFormat>(to_.format), 0);
        if (code < 0) return code;
        capacity_ = room + 64;
    }
    // FFmpeg 5.1 takes `const uint8_t**`, later ones `const uint8_t* const*`.
    return swr_convert(context_.get(), planes_.data(), capacity_, const_cast<const std::uint8_t**>(input), samples);
}

int Resampler::convert(const std::uint8_t* const* input, int samples) noexcept { return run(input, samples); }
int Resampler::drain() noexcept { return run(nullptr, 0); }

void Resampler::reset() noexcept {
    swr_close(context_.get());
    swr_init(context_.get());
}

}  // namespace castile::ffmpeg
