#include "codec/decoder.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <limits>

#include "codec/text.h"
#include "ffmpeg/input.h"
#include "ffmpeg/tags.h"

namespace castile {
namespace {

constexpr std::size_t label_bytes = 128, value_bytes = 16 << 10, tag_bytes = 256 << 10;

class MediaDecoder final : public Decoder {
public:
    MediaDecoder(std::unique_ptr<ffmpeg::AudioInput> input, const DecoderOptions& options) : input_(std::move(input)) {
        const double length = input_->duration().value_or(std::numeric_limits<double>::infinity());
        if (options.cue_out && *options.cue_out > 0) end_ = ticks_from_seconds(*options.cue_out);
        if (options.cue_in && *options.cue_in > 0) {
            start_ = ticks_from_seconds(std::min(*options.cue_in, length));
            move_to(start_, stream_parameters().channels);
        }
    }

    PcmBlock read(Ticks wanted, int channels) noexcept override {
        if (end_) wanted = std::min(wanted, *end_ - position_);
        if (wanted.count <= 0 || channels <= 0) return {};
        channels_ = channels;
        PcmBlock block(channels, static_cast<std::size_t>(wanted.count));
        int filled = 0;
        while (filled < wanted.count) {
            if (offset_ == available_) {
                available_ = offset_ = 0;
                if (!input_->next(channels)) {
                    ended_ = true;
                    break;
                }
                available_ = input_->samples();
            }
            const int count = std::min(available_ - offset_, static_cast<int>(wanted.count) - filled);
            copy(block, filled, count);
            offset_ += count;
            filled += count;
        }
        position_ += Ticks{filled};
        return filled == wanted.count ? block : block.slice(0, static_cast<std::size_t>(filled));
    }

    std::optional<Ticks> remaining() const noexcept override {
        if (ended_) return Ticks{0};   // a length from a header may be a little off
        std::optional<Ticks> end = end_;
        if (const auto length = input_->duration()) {
            const Ticks whole = ticks_from_seconds(*length);
            end = end ? std::min(*end, whole) : whole;
        }
        if (!end) return std::nullopt;
        return std::max(Ticks{0}, *end - position_);
    }

    Ticks seek(Ticks relative) noexcept override {
        const Ticks before = position_;
        Ticks target = std::max(start_, position_ + relative);
        if (end_) target = std::min(target, *end_);
        if (const auto length = input_->duration()) target = std::min(target, ticks_from_seconds(*length));
        if (target != position_) move_to(target, channels_);
        return position_ - before;
    }

    std::optional<double> duration() const noexcept override {
        const auto length = input_->duration();
        if (!end_) return length ? std::optional(std::max(0.0, *length - to_seconds(start_))) : std::nullopt;
        return to_seconds((length ? std::min(*end_, ticks_from_seconds(*length)) : *end_) - start_);
    }

private:
    void move_to(Ticks target, int channels) noexcept {
        ended_ = false;
        position_ = ticks_from_seconds(input_->seek(to_seconds(target), channels));
        available_ = input_->samples();
        offset_ = 0;
    }

    /// The chunk's [offset_, offset_ + count) to the block's [to, ...), with the block's channels.
    void copy(PcmBlock& block, int to, int count) noexcept {
        const int theirs = input_->channels(), ours = block.channels();
        const auto bytes = static_cast<std::size_t>(count) * sizeof(float);
        for (int c = 0; c < ours; ++c) {
            float* out = block.write(c).data() + to;
            if (theirs == ours || theirs == 1 || (c < theirs && ours > 2)) {
                std::memcpy(out, input_->plane(theirs == 1 ? 0 : c) + offset_, bytes);
            } else if (theirs == 2 && ours == 1) {
                const float* left = input_->plane(0) + offset_;
                const float* right = input_->plane(1) + offset_;
                for (int i = 0; i < count; ++i) out[i] = 0.5f * (left[i] + right[i]);
            } else {
                std::memset(out, 0, bytes);
            }
        }
    }

    std::unique_ptr<ffmpeg::AudioInput> input_;
    Ticks start_, position_;
    std::optional<Ticks> end_;
    int available_ = 0, offset_ = 0;   // of the input's current chunk
    bool ended_ = false;
    int channels_ = stream_parameters().channels;
};

}  // namespace

std::expected<std::unique_ptr<Decoder>, Failure> open_decoder(const std::string& path, const DecoderOptions& options) {
    auto input = ffmpeg::AudioInput::open(path, stream_parameters().samplerate);
    if (!input) return std::unexpected(std::move(input.error()));
    return std::make_unique<MediaDecoder>(std::move(*input), options);
}

Metadata read_file_metadata(const std::string& path) {
    Metadata metadata;
    std::size_t total = 0;
    for (auto& [found, value] : ffmpeg::read_info(path, true).tags) {
        std::string label = to_utf8(found, label_bytes);
        std::ranges::transform(label, label.begin(), [](unsigned char c) { return c < 0x80 ? static_cast<char>(std::tolower(c)) : static_cast<char>(c); });
        std::string text = to_utf8(value, value_bytes);
        total += label.size() + text.size();
        if (total > tag_bytes) break;
        if (label.empty() || metadata.find(label)) continue;
        // libav's name and the one that scripts know.
        if (label == "track" && !metadata.find("tracknumber")) metadata.set("tracknumber", text);
        if (label == "album_artist" && !metadata.find("albumartist")) metadata.set("albumartist", text);
        metadata.set(label, std::move(text));
    }
    return metadata;
}

std::optional<double> file_duration(const std::string& path) { return ffmpeg::read_info(path, true).duration; }

}  // namespace castile
