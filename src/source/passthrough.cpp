#include "source/passthrough.h"

#include <utility>

namespace castile {

void pull(Source& input, Frame& out, Ticks wanted) noexcept {
    const Frame& frame = input.peek_frame();
    if (frame.length() <= wanted) {
        out = frame;  // vectors keep their capacity
        input.consume(frame.length());
        return;
    }
    out.append(frame, Ticks{}, wanted);
    input.consume(wanted);
}

Passthrough::Passthrough(std::string operator_name, SourcePtr input, bool same_content)
    : Source(std::move(operator_name)), input_(std::move(input)) {
    add_input(input_, same_content);
}

void Passthrough::generate(Frame& out, Ticks wanted) noexcept {
    pull(*input_, out, wanted);
    process(out);
}

}  // namespace castile
