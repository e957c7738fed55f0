// switch, fallback: the first source that may play.

#include "operators/composition.h"

namespace castile::operators {

namespace {

using script::Args;
using script::Category;
using script::RegisterOperator;

std::vector<lang::BuiltinParam> with(std::vector<lang::BuiltinParam> params, lang::BuiltinParam last) {
    params.push_back(std::move(last));
    return params;
}

OldSpelling old_spelling(const Args& args, unsigned first) {
    return {.track_sensitive = args.value(first), .replay_metadata = args.value(first + 1), .transitions = args.value(first + 2),
            .transition_length = args.value(first + 3), .override_metadata = args.value(first + 4)};
}

SourcePtr build_fallback(Args& args) {
    enum : unsigned { old_first, sources = 5 };
    const OldSpelling old = old_spelling(args, old_first);
    std::vector<Switcher::Child> children;
    const auto values = args.value(sources).elements();
    for (const lang::Value& value : values) children.push_back(child_of(value, children.size(), values.size(), old));
    auto switcher = std::make_shared<Switcher>("fallback", std::move(children));
    apply_old(old, *switcher);
    return switcher;
}

SourcePtr build_switch(Args& args) {
    enum : unsigned { all_predicates, single, old_first, sources = 7 };
    OldSpelling old = old_spelling(args, old_first);
    old.single = args.value(single);
    std::vector<Switcher::Child> children;
    const auto pairs = args.value(sources).elements();
    for (const lang::Value& pair : pairs) {
        const lang::Value& predicate = pair.elements()[0];
        Switcher::Child child = child_of(pair.elements()[1], children.size(), pairs.size(), old);
        if (!lang::always_true(predicate)) child.available = bool_getter(predicate, false);
        children.push_back(std::move(child));
    }
    auto switcher = std::make_shared<Switcher>("switch", std::move(children));
    switcher->evaluate_all = args.boolean(all_predicates);
    apply_old(old, *switcher);
    return switcher;
}

std::vector<lang::BuiltinParam> switch_parameters() {
    std::vector<lang::BuiltinParam> params = {
        {"all_predicates", "bool", "false", "Ask all predicates at each choice, not only those up to the first that is true."},
        {"single", "[bool]", "[]", "Forbid two tracks in a row of a source; one for each, `false` for the rest."}};
    for (auto& param : old_parameters(true, false)) params.push_back(std::move(param));
    return with(std::move(params), {"", "[(() -> bool) * " + child_type + "]", nullptr, "Each source with the predicate that says when it may play."});
}

const RegisterOperator fallback{{
    .name = "fallback",
    .category = Category::track,
    .doc = "Play the first source that is ready. A source of higher rank comes in at the end of the track, or at once when it or the one that "
           "plays is not track sensitive.",
    .params = with(old_parameters(true, false), {"", "[" + child_type + "]", nullptr, "The sources, the preferred one first."}),
    .result = "source('a)",
    .build = build_fallback,
    .methods = {selected_method()},
}};

const RegisterOperator switch_{{
    .name = "switch",
    .category = Category::track,
    .doc = "Play the first source that is ready and whose predicate is true; chosen again at each track, or at once when a source is not track "
           "sensitive.",
    .params = switch_parameters(),
    .result = "source('a)",
    .build = build_switch,
    .methods = {selected_method()},
}};

}  // namespace

}  // namespace castile::operators
