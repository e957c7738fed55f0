#pragma once
// Mix: the weighted sum of the sources that are ready.

#include <functional>

#include "source/source.h"

namespace castile::operators {

class Mix : public Source {
public:
    struct Input {
        SourcePtr source;
        std::function<double()> weight = {};   ///< null: 1
    };
    Mix(std::string name, std::vector<Input> inputs, std::function<bool()> normalize, std::function<bool()> power);

    bool fallible() const noexcept override;
    std::optional<Ticks> remaining() noexcept override;
    void skip() noexcept override;
    Source* effective_source() noexcept override;
    bool live() const noexcept override;

protected:
    bool can_generate() noexcept override;
    void generate(Frame& out, Ticks wanted) noexcept override;

private:
    struct Ready {
        const Frame* frame;
        double weight;
    };
    void add_metadata(Frame& out, Ticks length) noexcept;
    void add_track(Frame& out, Name field, Ticks length, double total) noexcept;

    std::vector<Input> sources_;
    std::function<bool()> normalize_, power_;
    std::vector<Ready> ready_;   ///< of this tick
};

}  // namespace castile::operators
