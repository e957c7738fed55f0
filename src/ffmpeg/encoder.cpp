#include "ffmpeg/encoder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "ffmpeg/compat.h"
#include "ffmpeg/packet_pool.h"

namespace castile::ffmpeg {
namespace {

constexpr int default_frame_samples = 1024;   // for codecs that take any number (PCM)

const AVCodec* find_codec(const std::string& name) {
    const AVCodec* codec = avcodec_find_encoder_by_name(name.c_str());
    if (!codec)
        if (const AVCodecDescriptor* descriptor = avcodec_descriptor_get_by_name(name.c_str())) codec = avcodec_find_encoder(descriptor->id);
    if (!codec) throw Error(fmt::format("Unknown codec: \"{}\" (see ffmpeg -encoders).", name));
    if (codec->type != AVMEDIA_TYPE_AUDIO) throw Error(fmt::format("Codec \"{}\" is not an audio codec.", name));
    return codec;
}

AVSampleFormat choose_format(const AVCodec* codec, const std::string& wanted) {
    const auto formats = sample_formats(codec);
    if (!wanted.empty()) {
        const AVSampleFormat format = av_get_sample_fmt(wanted.c_str());
        if (format == AV_SAMPLE_FMT_NONE) throw Error(fmt::format("Unknown sample format: \"{}\".", wanted));
        if (formats.empty() || std::ranges::find(formats, format) != formats.end()) return format;
        std::vector<const char*> names;
        for (AVSampleFormat f : formats) names.push_back(av_get_sample_fmt_name(f));
        throw Error(fmt::format("Codec \"{}\" does not take sample format \"{}\", it takes: {}.", codec->name, wanted, fmt::join(names, ", ")));
    }
    if (formats.empty()) return AV_SAMPLE_FMT_FLTP;
    // 16 bits before 32: for the lossless codecs that offer both, what files are made of.
    for (AVSampleFormat f : {AV_SAMPLE_FMT_FLTP, AV_SAMPLE_FMT_FLT, AV_SAMPLE_FMT_S16P, AV_SAMPLE_FMT_S16, AV_SAMPLE_FMT_S32P, AV_SAMPLE_FMT_S32})
        if (std::ranges::find(formats, f) != formats.end()) return f;
    return formats.front();
}

int choose_rate(const AVCodec* codec, int wanted, int input) {
    const auto rates = sample_rates(codec);
    const int rate = wanted > 0 ? wanted : input;
    if (rates.empty() || std::ranges::find(rates, rate) != rates.end()) return rate;
    if (wanted > 0) throw Error(fmt::format("Codec \"{}\" does not take a sample rate of {} Hz, it takes: {}.", codec->name, wanted, fmt::join(rates, ", ")));
    // The lowest above, so that nothing is lost; else the nearest.
    int best = rates.front();
    for (int r : rates) {
        const bool better = (r >= rate) != (best >= rate) ? r >= rate : std::abs(r - rate) < std::abs(best - rate);
        if (better) best = r;
    }
    return best;
}

std::vector<std::string> left_over(const OptionList& options, const Dictionary& dictionary) {
    std::vector<std::string> names;
    for (const auto& [name, value] : options)
        if (dictionary.has(name)) names.push_back(name);
    return names;
}

}  // namespace

AudioEncoder::AudioEncoder(const AudioEncoderSpec& spec, int input_rate) : codec_name_(spec.codec), channels_(spec.channels), frame_(make_frame()) {
    init();
    const AVCodec* codec = find_codec(spec.codec);
    codec_.reset(avcodec_alloc_context3(codec));
    if (!codec_) throw std::bad_alloc();
    codec_->sample_fmt = choose_format(codec, spec.sample_format);
    codec_->sample_rate = choose_rate(codec, spec.samplerate, input_rate);
    codec_->time_base = {1, codec_->sample_rate};
    codec_->thread_count = 1;
    // Packets are shared by all kinds of containers: headers belong in the parameters, not in the stream.
    codec_->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    av_channel_layout_default(&codec_->ch_layout, spec.channels);

    Dictionary options(spec.shared_options);
    options.add(spec.options);
    const int code = avcodec_open2(codec_.get(), codec, options.out());
    if (code < 0) throw Error(fmt::format("Codec \"{}\" cannot be opened: {}.", spec.codec, error_text(code)));
    unknown_ = left_over(spec.options, options);
    unknown_shared_ = left_over(spec.shared_options, options);
    if (codec_->ch_layout.nb_channels != spec.channels)
        throw Error(fmt::format("The channel layout asked of codec \"{}\" has {} channels, but the track has {}.", spec.codec,
                                codec_->ch_layout.nb_channels, spec.channels));

    const bool planar = av_sample_fmt_is_planar(codec_->sample_fmt);
    planes_count_ = planar ? spec.channels : 1;
    sample_bytes_ = av_get_bytes_per_sample(codec_->sample_fmt) * (planar ? 1 : spec.channels);
    frame_samples_ = codec_->frame_size > 0 ? codec_->frame_size : default_frame_samples;
    const SampleSpec from{input_rate, spec.channels, AV_SAMPLE_FMT_FLTP};
    const SampleSpec to{codec_->sample_rate, spec.channels, codec_->sample_fmt};
    if (from != to) resampler_ = std::make_unique<Resampler>(from, to);
    planes_.resize(static_cast<std::size_t>(spec.channels));

    AVCodecParameters* parameters = avcodec_parameters_alloc();
    const std::shared_ptr<const AVCodecParameters> shared(parameters, [](AVCodecParameters* p) { avcodec_parameters_free(&p); });
    if (!parameters || avcodec_parameters_from_context(parameters, codec_.get()) < 0) throw std::bad_alloc();
    // What a packet says by itself: PCM containers want to know.
    auto stream = std::make_shared<PacketStream>();
    stream->parameters = shared;
    stream->time_base_num = codec_->time_base.num;
    stream->time_base_den = codec_->time_base.den;
    stream->frame_samples = codec_->frame_size;
    stream_ = std::move(stream);
    packet_ = pooled_packet();
}

AudioEncoder::~AudioEncoder() = default;

int AudioEncoder::samplerate() const noexcept { return codec_->sample_rate; }
int AudioEncoder::bitrate() const noexcept { return static_cast<int>(codec_->bit_rate); }

void AudioEncoder::prepare_frame() {
    if (frame_->buf[0] && av_frame_is_writable(frame_.get())) return;
    // First use, or the codec still holds the last one.
    av_frame_unref(frame_.get());
    frame_->format = codec_->sample_fmt;
    frame_->sample_rate = codec_->sample_rate;
    frame_->nb_samples = frame_samples_;
    int code = av_channel_layout_copy(&frame_->ch_layout, &codec_->ch_layout);
    if (code >= 0) code = av_frame_get_buffer(frame_.get(), 0);
    if (code < 0) throw Error(fmt::format("Codec \"{}\": {}.", codec_name_, error_text(code)));
}

void AudioEncoder::fill(const std::uint8_t* const* planes, int samples, Ticks at, bool one_to_one, PacketList& out) {
    int used = 0;
    while (used < samples) {
        if (filled_ == 0) prepare_frame();
        const int count = std::min(samples - used, frame_samples_ - filled_);
        const auto bytes = static_cast<std::size_t>(count) * static_cast<std::size_t>(sample_bytes_);
        for (int p = 0; p < planes_count_; ++p)
            std::memcpy(frame_->extended_data[p] + static_cast<std::size_t>(filled_) * static_cast<std::size_t>(sample_bytes_),
                        planes[p] + static_cast<std::size_t>(used) * static_cast<std::size_t>(sample_bytes_), bytes);
        filled_ += count;
        used += count;
        if (filled_ < frame_samples_) return;
        frame_->nb_samples = filled_;
        frame_->pts = next_pts_;
        next_pts_ += filled_;
        filled_ = 0;
        send(frame_.get(), one_to_one ? at + Ticks{used} : at, out);
    }
}

void AudioEncoder::send(AVFrame* frame, Ticks position, PacketList& out) {
    int code = avcodec_send_frame(codec_.get(), frame);
    if (code < 0 && code != AVERROR_EOF) throw Error(fmt::format("Codec \"{}\": {}.", codec_name_, error_text(code)));
    for (;;) {
        code = avcodec_receive_packet(codec_.get(), packet_.get());
        if (code == AVERROR(EAGAIN) || code == AVERROR_EOF) return;
        if (code < 0) throw Error(fmt::format("Codec \"{}\": {}.", codec_name_, error_text(code)));
        if (packet_->size == 0) {   // FLAC's last packet only carries its final header
            av_packet_unref(packet_.get());
            continue;
        }
        out.push_back({std::move(packet_), stream_, position});
        packet_ = pooled_packet();
    }
}

void AudioEncoder::encode(const PcmBlock& pcm, Ticks at, PacketList& out) {
    if (pcm.empty()) return;
    assert(pcm.channels() == channels_);
    for (int c = 0; c < channels_; ++c) planes_[static_cast<std::size_t>(c)] = reinterpret_cast<const std::uint8_t*>(pcm.channel(c).data());
    const int samples = static_cast<int>(pcm.samples());
    if (!resampler_) return fill(planes_.data(), samples, at, true, out);
    const int made = resampler_->convert(planes_.data(), samples);
    if (made < 0) throw Error(fmt::format("Codec \"{}\": {}.", codec_name_, error_text(made)));
    const bool one_to_one = made == samples;
    fill(resampler_->planes(), made, one_to_one ? at : at + Ticks{samples}, one_to_one, out);
}

void AudioEncoder::flush(Ticks at, PacketList& out) {
    if (resampler_) {
        const int made = resampler_->drain();
        if (made > 0) fill(resampler_->planes(), made, at, false, out);
    }
    if (filled_ > 0) {
        frame_->nb_samples = filled_;
        frame_->pts = next_pts_;
        next_pts_ += filled_;
        filled_ = 0;
        send(frame_.get(), at, out);
    }
    send(nullptr, at, out);
}

}  // namespace castile::ffmpeg
