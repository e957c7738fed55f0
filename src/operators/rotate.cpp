// rotate, random, sequence: one source after another, track by track.

#include "operators/composition.h"
#include "operators/rotation.h"

namespace castile::operators {

namespace {

using script::Args;
using script::Category;
using script::RegisterOperator;

template <class T>
SourcePtr build(Args& args) {
    enum : unsigned { replay_metadata, transitions, transition_length, override_metadata, weights, sources };
    const OldSpelling old{.replay_metadata = args.value(replay_metadata), .transitions = args.value(transitions),
                          .transition_length = args.value(transition_length), .override_metadata = args.value(override_metadata),
                          .weights = args.value(weights)};
    std::vector<Switcher::Child> children;
    const auto values = args.value(sources).elements();
    for (const lang::Value& value : values) children.push_back(child_of(value, children.size(), values.size(), old));
    auto switcher = std::make_shared<T>(std::move(children));
    apply_old(old, *switcher);
    return switcher;
}

std::vector<lang::BuiltinParam> parameters() {
    std::vector<lang::BuiltinParam> params = old_parameters(false, true);
    params.push_back({"", "[" + weighted_child_type + "]", nullptr, "The sources."});
    return params;
}

const RegisterOperator rotate{{
    .name = "rotate",
    .category = Category::track,
    .doc = "Play some tracks of each source in turn, as many as its weight; a source that is not ready is left out.",
    .params = parameters(),
    .result = "source('a)",
    .build = build<Rotate>,
    .methods = {selected_method()},
}};

const RegisterOperator random{{
    .name = "random",
    .category = Category::track,
    .doc = "Play each track of a source drawn by lot among those that are ready, in proportion to the weights.",
    .params = parameters(),
    .result = "source('a)",
    .build = build<Random>,
    .methods = {selected_method()},
}};

SourcePtr build_sequence(Args& args) {
    enum : unsigned { merge, single_track, sources };
    std::vector<Switcher::Child> children;
    for (const SourcePtr& source : args.sources(sources)) children.push_back({.source = source});
    return std::make_shared<Sequence>(std::move(children), args.boolean(merge), args.boolean(single_track));
}

const RegisterOperator sequence{{
    .name = "sequence",
    .category = Category::track,
    .doc = "Play one track of each source, then all of the last one.",
    .params = {
        {"merge", "bool", "false", "Make one track of what comes from the different sources. Tracks of the last one stay apart."},
        {"single_track", "bool", "true", "Go on to the next source at a new track; `false`: when the source is not ready any more."},
        {"", "[source('a)]", nullptr, "The sources, in order."},
    },
    .result = "source('a)",
    .build = build_sequence,
    .methods = {queue_method()},
}};

}  // namespace

}  // namespace castile::operators
