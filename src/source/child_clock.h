#pragma once
// Base of operators that read their input at a pace of their own (stretch, cross): the input has a clock that they tick.

#include <optional>
#include <string>

#include "source/source.h"

namespace castile {

/// The input is driven by a passive clock, the child of ours, so it may be asked for more or for less than a frame a tick. It
/// must not be paced by anything itself. On our clock's worker, like all of a source; the clocks' ticks count apart.
class ChildClockSource : public Source {
public:
    /// Throws ClockError: the input may be paced by something of its own.
    ChildClockSource(std::string operator_name, SourcePtr input, bool same_content);
    ~ChildClockSource() override;

    const ClockPtr& child_clock() const noexcept { return child_clock_; }
    bool fallible() const noexcept override { return input_->fallible(); }
    void skip() noexcept override { input_->skip(); }
    bool live() const noexcept override { return input_->live(); }

protected:
    void on_wake_up() override;       ///< To be called by a subclass that has its own.
    void on_sleep() noexcept override;
    Source& input() noexcept { return *input_; }
    const SourcePtr& input_pointer() const noexcept { return input_; }
    /// Ticks the child's clock once and gives the input's frame of that tick: empty when the input is not ready.
    const Frame& pull() noexcept;
    /// At most once in a tick of ours after the input was not ready: asking again before would not help.
    bool exhausted() const noexcept { return exhausted_tick_ == clock()->tick_count(); }

private:
    const SourcePtr input_;
    const ClockPtr child_clock_;
    const Frame* pulled_ = nullptr;
    std::function<void()> pull_;
    std::int64_t exhausted_tick_ = -1;
};

}  // namespace castile
