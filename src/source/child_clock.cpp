#include "source/child_clock.h"

#include "clock/clock_error.h"

namespace castile {

ChildClockSource::ChildClockSource(std::string operator_name, SourcePtr input, bool same_content)
    : Source(std::move(operator_name)), input_(std::move(input)), child_clock_(Clock::create_child(clock(), "")) {
    if (input_->may_self_sync())
        throw ClockError(7, fmt::format("Invalid value: This source may control its own latency and cannot be used with this operator. Put a buffer before it: "
                                        "buffer(id=\"{}.buffer\", s)", input_->id()),
                         input_->position());
    join_clock(child_clock_, *input_);
    if (same_content) unify_content(content(), input_->content());
    pull_ = [this] {
        pulled_ = nullptr;
        if (input_->ready()) pulled_ = &input_->frame();
    };
}

ChildClockSource::~ChildClockSource() = default;

void ChildClockSource::on_wake_up() {
    if (child_clock_->tick_count() == 0) child_clock_->set_id(id());
    input_->wake_up(this);
    child_clock_->wake_child();
}

void ChildClockSource::on_sleep() noexcept {
    child_clock_->sleep_child();
    input_->sleep(this);
}

const Frame& ChildClockSource::pull() noexcept {
    static const Frame nothing;
    child_clock_->tick(pull_);
    if (pulled_ && pulled_->length().count > 0) return *pulled_;
    exhausted_tick_ = clock()->tick_count();
    return nothing;
}

}  // namespace castile
