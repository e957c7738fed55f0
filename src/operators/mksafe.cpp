// mksafe, once, source.fail: sources made safe, short, or absent.

#include "operators/composition.h"
#include "operators/rotation.h"
#include "source/silence.h"

namespace castile::operators {

namespace {

using script::Args;
using script::Category;
using script::RegisterOperator;

/// Never ready.
class Fail final : public Source {
public:
    Fail() : Source("source.fail") {}

protected:
    bool can_generate() noexcept override { return false; }
    void generate(Frame&, Ticks) noexcept override {}
};

SourcePtr build_mksafe(Args& args) {
    enum : unsigned { source };
    auto silence = std::make_shared<Silence>("safe_blank");
    Switcher::Child safe{.source = args.source(source), .track_sensitive = [] { return false; }};
    return std::make_shared<Switcher>("mksafe", std::vector<Switcher::Child>{std::move(safe), {.source = std::move(silence)}});
}

const RegisterOperator mksafe{{
    .name = "mksafe",
    .category = Category::track,
    .doc = "The source, and silence while it is not ready: a source that never fails.",
    .params = {{"", "source('a)", nullptr, "The source that may fail."}},
    .result = "source('a)",
    .build = build_mksafe,
    .methods = {selected_method()},
}};

SourcePtr build_once(Args& args) {
    enum : unsigned { source };
    return std::make_shared<Sequence>(std::vector<Switcher::Child>{{.source = args.source(source)}, {.source = std::make_shared<Fail>()}}, false, true);
}

const RegisterOperator once{{
    .name = "once",
    .category = Category::track,
    .doc = "One track of the source, then nothing.",
    .params = {{"", "source('a)", nullptr, "The source."}},
    .result = "source('a)",
    .build = build_once,
    .methods = {queue_method()},
}};

const RegisterOperator fail{{
    .name = "source.fail",
    .category = Category::input,
    .doc = "A source that is never ready.",
    .params = {},
    .result = "source('a)",
    .build = [](Args&) -> SourcePtr { return std::make_shared<Fail>(); },
}};

}  // namespace

}  // namespace castile::operators
