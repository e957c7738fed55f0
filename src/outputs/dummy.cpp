// output.dummy: pulls a source and throws everything away.

#include "script/operator.h"
#include "source/output.h"

namespace castile {

namespace {

using script::Args;

class Dummy final : public Output {
public:
    Dummy(SourcePtr input, Options options) : Output("output.dummy", std::move(input), std::move(options)) {}

protected:
    void send(const Frame&) noexcept override {}
    bool takes_early() const noexcept override { return true; }
};

const script::RegisterOperator output_dummy{{
    .name = "output.dummy",
    .category = script::Category::output,
    .doc = "Make a source stream, and throw the stream away.",
    .params = {
        {"fallible", "bool", "false", "Allow a source that may fail: the output then stops and starts with it."},
        {"on_start", "(() -> unit)?", "null", "Called when the output starts."},
        {"on_stop", "(() -> unit)?", "null", "Called when the output stops."},
        {"register_telnet", "bool", "true", "Give it commands on the server?"},
        {"start", "bool", "true", "Start at once? Else when asked to."},
        {"", "source('a)", nullptr, "The source."},
    },
    .result = "unit",
    .build = [](Args& args) -> SourcePtr {
        enum : unsigned { fallible, on_start, on_stop, register_telnet, start, input };
        return std::make_shared<Dummy>(args.source(input), Output::Options{.fallible = args.boolean(fallible),
                                                                           .start = args.boolean(start),
                                                                           .on_start = args.callback(on_start),
                                                                           .on_stop = args.callback(on_stop)});
    },
}};

}  // namespace

}  // namespace castile
