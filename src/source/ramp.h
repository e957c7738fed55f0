#pragma once
// For tests: a source whose every sample says which it is, and an output that keeps what it gets.

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "source/output.h"

namespace castile::test {

/// Sample n is value(n) in every channel. With `track`, tracks of that length, each titled "track K" (else one); with `end`,
/// unready after that many samples, until `refill`.
class Ramp : public Source {
public:
    explicit Ramp(Ticks track = {}, Ticks end = {}, std::int64_t first = 0, std::string name = "ramp")
        : Source(std::move(name)), first_(first), track_(track), end_(end) {
        require_content(content(), "audio", {ContentFormat::Kind::pcm, 0});
    }
    static float value(std::int64_t n) noexcept { return static_cast<float>(n) / (1 << 23); }  // exact below 2^24

    bool fallible() const noexcept override { return end_.count > 0; }
    std::optional<Ticks> remaining() noexcept override {
        if (track_.count > 0) return Ticks{track_.count - made % track_.count};
        return std::nullopt;
    }
    void skip() noexcept override { ++skips; }
    void refill(Ticks more) noexcept { end_ += more; mark_ = true; }
    bool available = true;

    std::int64_t made = 0;
    int skips = 0;

protected:
    bool can_generate() noexcept override { return available && (end_.count == 0 || made < end_.count); }
    void generate(Frame& out, Ticks wanted) noexcept override {
        if (end_.count > 0) wanted.count = std::min(wanted.count, end_.count - made);
        PcmBlock block(pcm_channels(), static_cast<std::size_t>(wanted.count));
        for (int c = 0; c < block.channels(); ++c) {
            auto samples = block.write(c);
            for (std::size_t i = 0; i < samples.size(); ++i) samples[i] = value(first_ + made + static_cast<std::int64_t>(i));
        }
        out.track(audio_) = std::move(block);
        for (std::int64_t i = 0; i < wanted.count; ++i)
            if (mark_ || made + i == 0 || (track_.count > 0 && (made + i) % track_.count == 0)) {
                mark_ = false;
                Metadata m;
                m.set("title", "track " + std::to_string(track_.count > 0 ? (made + i) / track_.count : 0));
                out.track_marks().push_back(Ticks{i});
                out.metadata().push_back({Ticks{i}, std::make_shared<const Metadata>(m)});
            }
        out.set_length(wanted);
        made += wanted.count;
    }

private:
    std::int64_t first_;
    Ticks track_, end_;
    bool mark_ = false;
    const Name audio_{"audio"};
};

class Collector : public Output {
public:
    Collector(SourcePtr input, bool fallible) : Output("collector", std::move(input), {.fallible = fallible}) {}

    std::vector<float> samples;        ///< of the first channel
    std::vector<std::int64_t> marks;   ///< sample positions
    std::vector<std::string> titles;
    std::vector<std::int64_t> title_positions;
    std::int64_t frames = 0;
    int started_count = 0, stopped_count = 0;
    bool refuse = false, keep = true;

    /// Are all samples, from `from` on, the ramp's, in order?
    bool is_ramp_from(std::int64_t first, std::size_t from = 0, std::size_t to = SIZE_MAX) const {
        for (std::size_t i = from; i < std::min(to, samples.size()); ++i)
            if (samples[i] != Ramp::value(first + static_cast<std::int64_t>(i - from))) return false;
        return from < samples.size();
    }

protected:
    void start() override {
        ++started_count;
        if (refuse) throw Error("refused on purpose");
    }
    void stop() noexcept override { ++stopped_count; }
    void send(const Frame& frame) noexcept override {
        ++frames;
        if (!keep) return;
        for (const Ticks mark : frame.track_marks()) marks.push_back(static_cast<std::int64_t>(samples.size()) + mark.count);
        for (const auto& m : frame.metadata()) {
            titles.push_back(m.metadata->get("title"));
            title_positions.push_back(static_cast<std::int64_t>(samples.size()) + m.position.count);
        }
        if (const PcmBlock* pcm = frame.pcm(audio_)) {
            const auto channel = pcm->channel(0);
            samples.insert(samples.end(), channel.begin(), channel.end());
        }
    }

private:
    const Name audio_{"audio"};
};

}  // namespace castile::test
