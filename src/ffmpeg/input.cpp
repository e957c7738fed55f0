#include "ffmpeg/input.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "ffmpeg/compat.h"
#include "ffmpeg/decoder_choice.h"
#include "ffmpeg/open_input.h"

namespace castile::ffmpeg {
namespace {

constexpr int prime_packets = 400;        // without any sound in them: not media
constexpr std::size_t kept_at_most = 16, kept_bytes_at_most = 128 << 10;   // first packets: with more than that the codec stays
constexpr int failures_at_most = 1000;    // unreadable packets in a row: the rest of the file is given up
constexpr int lowest_rate = 1000, highest_rate = 768000, channels_at_most = 64;   // beyond: damage, and a resampler would take minutes
constexpr double preroll = 0.3;           // decoded and dropped before a seek's target, so that codecs with memory are settled
constexpr double exact_seek = 900;        // further away, MP3 positions are computed instead of counted

Failure failure(Failure::Kind kind, const std::string& path, const std::string& why) {
    return {kind, fmt::format("Cannot decode {}: {}.", path, why)};
}

}  // namespace

AudioInput::AudioInput(std::string path, int rate) : path_(std::move(path)), rate_(rate), frame_(make_frame()), packet_(make_packet()) {}
AudioInput::~AudioInput() = default;

std::expected<std::unique_ptr<AudioInput>, Failure> AudioInput::open(const std::string& path, int rate) {
    auto context = open_input(path);
    if (!context) return std::unexpected(std::move(context.error()));
    std::unique_ptr<AudioInput> input(new AudioInput(path, rate));
    input->format_ = std::move(*context);
    if (auto failed = input->start()) return std::unexpected(std::move(*failed));
    input->park();
    read_ahead(path);
    return input;
}

std::optional<Failure> AudioInput::start() {
    int code = avformat_find_stream_info(format_.get(), nullptr);
    if (code < 0) return failure(Failure::Kind::invalid, path_, error_text(code));
    const AVCodec* codec = nullptr;
    const int index = av_find_best_stream(format_.get(), AVMEDIA_TYPE_AUDIO, -1, -1, &codec, 0);
    if (index < 0 || !codec) return failure(Failure::Kind::unsupported, path_, index == AVERROR_DECODER_NOT_FOUND ? "no decoder for its audio" : "it has no audio");
    codec = chosen_decoder(codec);
    for (unsigned i = 0; i < format_->nb_streams; ++i)
        if (static_cast<int>(i) != index) format_->streams[i]->discard = AVDISCARD_ALL;
    stream_ = format_->streams[index];
    const AVCodecParameters& parameters = *stream_->codecpar;
    if (parameters.sample_rate > highest_rate || parameters.ch_layout.nb_channels > channels_at_most)
        return failure(Failure::Kind::unsupported, path_,
                       fmt::format("{} Hz, {} channels is not supported", parameters.sample_rate, parameters.ch_layout.nb_channels));

    decoder_ = codec;
    code = open_codec();
    if (code < 0) return failure(Failure::Kind::unsupported, path_, error_text(code));

    int packets = 0;
    Got got = Got::failed;
    keeping_ = true;
    do got = decode();
    while (got == Got::failed && ++packets < prime_packets);
    keeping_ = false;
    if (got != Got::frame) return failure(Failure::Kind::invalid, path_, "no audio could be decoded, this is not a media file or it is damaged");
    primed_ = true;
    first_pts_ = frame_->best_effort_timestamp == AV_NOPTS_VALUE ? 0 : frame_->best_effort_timestamp;

    if (stream_->duration != AV_NOPTS_VALUE && stream_->duration > 0) {
        std::int64_t ticks = stream_->duration;
        // The MP3 demuxer counts whole codec frames, encoder delay included.
        if (decoder_->id == AV_CODEC_ID_MP3 && first_pts_ > 0) ticks -= std::min(ticks, first_pts_);
        duration_ = static_cast<double>(ticks) * av_q2d(stream_->time_base);
    } else if (format_->duration != AV_NOPTS_VALUE && format_->duration > 0) {
        duration_ = static_cast<double>(format_->duration) / AV_TIME_BASE;
    }
    length_known_ = duration_ && format_->duration_estimation_method != AVFMT_DURATION_FROM_BITRATE;
    return std::nullopt;
}

int AudioInput::open_codec() noexcept {
    CodecContext codec(avcodec_alloc_context3(decoder_));
    if (!codec) return AVERROR(ENOMEM);
    if (const int code = avcodec_parameters_to_context(codec.get(), stream_->codecpar); code < 0) return code;
    codec->pkt_timebase = stream_->time_base;
    codec->thread_count = 1;
    // Planar float is what we hand out; decoders with a choice give it.
    codec->request_sample_fmt = AV_SAMPLE_FMT_FLTP;
    if (const int code = avcodec_open2(codec.get(), decoder_, nullptr); code < 0) return code;
    codec_ = std::move(codec);
    return 0;
}

void AudioInput::park() noexcept {
    const auto bytes = [this] {
        return std::accumulate(kept_.begin(), kept_.end(), std::size_t{},
                               [](std::size_t sum, const PacketPtr& packet) { return sum + static_cast<std::size_t>(packet->size); });
    };
    if (draining_ || kept_.empty() || kept_.size() > kept_at_most || bytes() > kept_bytes_at_most) {
        kept_.clear();
        return;
    }
    codec_.reset();
    av_frame_unref(frame_.get());
    primed_ = false;
    failures_in_a_row_ = 0;
}

void AudioInput::corrupt(int code) noexcept {
    ++failures_in_a_row_;
    if (keeping_ || replayed_ < kept_.size()) return;   // what open() stumbled over is no news
    if (std::exchange(logged_corrupt_, true)) return;
    log_.important("{}: damaged data at {:.1f} s skipped ({}).", path_, decoded_until_, error_text(code));
}

bool AudioInput::read_packet() noexcept {
    if (!keeping_ && replayed_ < kept_.size()) {
        packet_.swap(kept_[replayed_]);
        if (++replayed_ == kept_.size()) {
            kept_.clear();
            replayed_ = 0;
        }
        return true;
    }
    for (;;) {
        const int code = av_read_frame(format_.get(), packet_.get());
        if (code < 0) {
            if (code != AVERROR_EOF && code != AVERROR(EAGAIN)) corrupt(code);
            return false;
        }
        if (packet_->stream_index == stream_->index) break;
        av_packet_unref(packet_.get());
    }
    if (keeping_ && kept_.size() <= kept_at_most) {
        kept_.push_back(make_packet());
        if (av_packet_ref(kept_.back().get(), packet_.get()) < 0) kept_.resize(kept_at_most + 1);   // out of memory: too many, so none
    }
    return true;
}

bool AudioInput::send_packet() noexcept {
    if (!read_packet()) return false;
    const int code = avcodec_send_packet(codec_.get(), packet_.get());
    av_packet_unref(packet_.get());
    if (code < 0 && code != AVERROR(EAGAIN)) corrupt(code);
    return true;
}

AudioInput::Got AudioInput::decode() noexcept {
    if (!codec_) {
        if (const int code = open_codec(); code < 0) {
            log_.important("{}: the decoder could not be made again ({}).", path_, error_text(code));
            return Got::end;
        }
    }
    for (;;) {
        const int code = avcodec_receive_frame(codec_.get(), frame_.get());
        if (code == 0) {
            if (frame_->nb_samples <= 0) continue;
            const int channels = frame_->ch_layout.nb_channels;
            if (frame_->sample_rate < lowest_rate || frame_->sample_rate > highest_rate || channels < 1 || channels > channels_at_most) {
                corrupt(AVERROR_INVALIDDATA);
                return failures_in_a_row_ > failures_at_most ? Got::end : Got::failed;
            }
            failures_in_a_row_ = 0;
            return Got::frame;
        }
        if (code == AVERROR_EOF) return Got::end;
        if (code != AVERROR(EAGAIN)) {
            corrupt(code);
            if (failures_in_a_row_ > failures_at_most) return Got::end;
            return Got::failed;
        }
        if (draining_) return Got::end;
        const int failures = failures_in_a_row_;
        if (!send_packet()) {
            draining_ = true;
            avcodec_send_packet(codec_.get(), nullptr);
        } else if (failures_in_a_row_ != failures) {
            return failures_in_a_row_ > failures_at_most ? Got::end : Got::failed;
        }
    }
}

double AudioInput::frame_seconds() const noexcept {
    if (frame_->best_effort_timestamp == AV_NOPTS_VALUE) return decoded_until_;
    return static_cast<double>(frame_->best_effort_timestamp - first_pts_) * av_q2d(stream_->time_base);
}

bool AudioInput::present(int channels) noexcept {
    const int theirs = frame_->ch_layout.nb_channels;
    const SampleSpec from{frame_->sample_rate, theirs, frame_->format};
    const SampleSpec to{rate_, theirs > 2 ? channels : theirs, AV_SAMPLE_FMT_FLTP};
    decoded_until_ = frame_seconds() + static_cast<double>(frame_->nb_samples) / frame_->sample_rate;
    chunk_offset_ = 0;
    chunk_channels_ = to.channels;
    if (from == to) {
        chunk_ = frame_->extended_data;
        chunk_samples_ = frame_->nb_samples;
        return true;
    }
    if (!resampler_ || resampler_->from() != from || resampler_->to() != to) {
        try {
            resampler_ = std::make_unique<Resampler>(from, to);
        } catch (const std::exception& error) {
            log_.important("{}: {}", path_, error.what());
            ended_ = true;
            return false;
        }
    }
    chunk_samples_ = resampler_->convert(frame_->extended_data, frame_->nb_samples);
    chunk_ = resampler_->planes();
    return chunk_samples_ > 0;
}

void AudioInput::ended() noexcept {
    ended_ = true;
    if (length_known_ && decoded_until_ < *duration_ - 1 && decoded_until_ < *duration_ * 0.98 && !std::exchange(logged_end_, true))
        log_.important("{} ends early: {:.1f} s of {:.1f} s could be decoded, it seems truncated.", path_, decoded_until_, *duration_);
}

bool AudioInput::next(int channels) noexcept {
    chunk_samples_ = 0;
    while (!ended_) {
        if (std::exchange(primed_, false)) {
            if (present(channels)) return true;
            continue;
        }
        switch (decode()) {
            case Got::frame:
                if (present(channels)) return true;
                break;
            case Got::failed: break;
            case Got::end:
                ended();
                if (!resampler_) return false;
                chunk_samples_ = resampler_->drain();
                chunk_ = resampler_->planes();
                chunk_offset_ = 0;
                chunk_channels_ = resampler_->to().channels;
                return chunk_samples_ > 0;
        }
    }
    return false;
}

double AudioInput::seek(double seconds, int channels) noexcept {
    const double target = std::max(0.0, seconds);
    const bool at_start = primed_ || !codec_;
    if (!at_start || target > 0) {
        const double distance = std::abs(target - decoded_until_);
        if (distance > exact_seek)
            format_->flags |= AVFMT_FLAG_FAST_SEEK;
        else
            format_->flags &= ~AVFMT_FLAG_FAST_SEEK;
        const double from = std::max(0.0, target - preroll);
        const auto pts = first_pts_ + static_cast<std::int64_t>(from / av_q2d(stream_->time_base));
        // Before the first sound lies what is skipped at the start: go to the very beginning for it.
        const int code = av_seek_frame(format_.get(), stream_->index, from > 0 ? pts : std::min<std::int64_t>(0, first_pts_), AVSEEK_FLAG_BACKWARD);
        if (code < 0) return decoded_until_;
        if (codec_) avcodec_flush_buffers(codec_.get());
        kept_.clear();
        replayed_ = 0;
        if (resampler_) resampler_->reset();
        primed_ = draining_ = ended_ = false;
        decoded_until_ = from;
    }
    while (next(channels)) {
        const double end = decoded_until_;
        if (end <= target) continue;
        const double start = end - static_cast<double>(chunk_samples_) / rate_;
        const int skip = std::clamp(static_cast<int>(std::lround((target - start) * rate_)), 0, chunk_samples_);
        if (skip == chunk_samples_) continue;
        chunk_offset_ = skip;
        chunk_samples_ -= skip;
        return start + static_cast<double>(skip) / rate_;
    }
    return decoded_until_;
}

}  // namespace castile::ffmpeg
