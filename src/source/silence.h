#pragma once
// Silence: nothing to hear, in whatever tracks its readers agree on, for ever or in tracks of a given length.

#include <functional>

#include "source/source.h"

namespace castile {

class Silence : public Source {
public:
    /// `duration`: seconds of a track, asked at the start of each; null or negative: one endless track.
    explicit Silence(std::string operator_name, std::function<double()> duration = {});
    bool fallible() const noexcept override { return false; }
    std::optional<Ticks> remaining() noexcept override;
    void skip() noexcept override { left_ = {}; }

protected:
    bool can_generate() noexcept override { return true; }
    void generate(Frame& out, Ticks wanted) noexcept override;
    void on_wake_up() override;

private:
    struct Track {
        Name field;
        PcmBlock silence;  ///< shared by all frames; empty for a track of packets
    };
    std::function<double()> duration_;
    std::vector<Track> tracks_;
    std::optional<Ticks> left_ = Ticks{};  ///< of the track; nullopt: endless
};

}  // namespace castile
