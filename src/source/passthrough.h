#pragma once
// Base of operators with one input that change what passes and nothing of its timing.

#include <optional>
#include <string>

#include "source/source.h"

namespace castile {

/// Takes up to `wanted` ticks of `input` into `out` (empty): PCM is shared, what is left stays with the input.
void pull(Source& input, Frame& out, Ticks wanted) noexcept;

/// Frames, marks and metadata of the input pass; `process` may change them. Clock's worker, like all of a source.
class Passthrough : public Source {
public:
    /// `same_content`: our tracks are the input's (false when `process` changes the number of channels, say).
    Passthrough(std::string operator_name, SourcePtr input, bool same_content = true);

    bool fallible() const noexcept override { return input_->fallible(); }
    std::optional<Ticks> remaining() noexcept override { return input_->remaining(); }
    void skip() noexcept override { input_->skip(); }
    Ticks seek(Ticks by) noexcept override { return input_->seek(by); }
    Source* effective_source() noexcept override { return input_->effective_source(); }

protected:
    Source& input() noexcept { return *input_; }
    const SourcePtr& input_pointer() const noexcept { return input_; }
    virtual void process(Frame& frame) noexcept = 0;

    bool can_generate() noexcept override { return input_->ready(); }
    void generate(Frame& out, Ticks wanted) noexcept override;

private:
    const SourcePtr input_;
};

}  // namespace castile
