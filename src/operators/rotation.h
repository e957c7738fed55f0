#pragma once
// What rotate and random choose, at each track.

#include <random>

#include "source/switcher.h"

namespace castile::operators {

/// As many tracks of each in turn as its weight says; who is not ready is left out. Never fails while one source is ready.
class Rotate : public Switcher {
public:
    explicit Rotate(std::vector<Child> children) : Switcher("rotate", std::move(children)) {}

protected:
    int choose(bool boundary) noexcept override;

private:
    int last_ = -1;
};

/// A ready source for each track, in proportion to the weights.
class Random : public Switcher {
public:
    explicit Random(std::vector<Child> children, unsigned seed = std::random_device{}()) : Switcher("random", std::move(children)), generator_(seed) {}

protected:
    int choose(bool boundary) noexcept override;

private:
    std::minstd_rand generator_;
};

/// One track (or, `single_track` false, all there is) of each, then the last for ever.
class Sequence : public Switcher {
public:
    Sequence(std::vector<Child> children, bool merge, bool single_track);
    bool fallible() const noexcept override;
    std::optional<Ticks> remaining() noexcept override;
    void skip() noexcept override;

protected:
    int choose(bool boundary) noexcept override;
    bool merges_tracks() const noexcept override { return merge_; }

private:
    std::size_t head_ = 0;
    bool merge_, single_track_, started_ = false;
};

}  // namespace castile::operators
