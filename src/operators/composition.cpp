#include "operators/composition.h"

#include <atomic>

#include "base/error.h"
#include "lang/old_arguments.h"
#include "script/values.h"

namespace castile::operators {

using lang::Value;

namespace {

#define CASTILE_CHILD_METHODS                                                                                             \
    "on_select? : ({ending : source('a)?, replay_metadata : bool, starting : source('a)}) -> source('a), "                \
    "on_leave? : ({source : source('a), track_sensitive : bool}) -> unit, replay_metadata? : {bool}, single? : bool, "    \
    "track_sensitive? : {bool}"

bool given(const Value& value) noexcept { return !value.is_null() && !(value.kind() == Value::Kind::tuple && value.elements().empty()); }

std::optional<Value> method(const Value& source, const char* name) {
    if (const Value* own = source.own_method(name); own && given(*own)) return *own;
    return std::nullopt;
}

// The old form: one function a child, of the source that is left and the one that enters. It is not called at the first choice.
std::function<SourcePtr(const SourcePtr&, const SourcePtr&)> old_transition(const Value& function) {
    return [function](const SourcePtr& ending, const SourcePtr& starting) -> SourcePtr {
        if (!ending) return starting;
        return script::source_from_value(function.call({script::to_value(ending), script::to_value(starting)}));
    };
}

std::function<SourcePtr(const SourcePtr&, const SourcePtr&)> on_select(const Value& function, std::function<bool()> replay) {
    return [function, replay = std::move(replay)](const SourcePtr& ending, const SourcePtr& starting) -> SourcePtr {
        const Value record = Value::unit()
                                 .with_method("ending", ending ? script::to_value(ending) : Value::null())
                                 .with_method("replay_metadata", Value::boolean(!replay || replay()))
                                 .with_method("starting", script::to_value(starting));
        return script::source_from_value(function.call({record}));
    };
}

std::function<void(const SourcePtr&, bool)> on_leave(const Value& function) {
    return [function](const SourcePtr& source, bool at_boundary) {
        const Value record = Value::unit().with_method("source", script::to_value(source)).with_method("track_sensitive", Value::boolean(at_boundary));
        function.call({record});
    };
}

}  // namespace

constexpr const char* track_sensitive_advice = "set it on each source: s.{track_sensitive = false}.";
constexpr const char* replay_metadata_advice = "set it on each source: s.{replay_metadata = false}.";
constexpr const char* transitions_advice = "give the source that is entered a method `on_select`.";
constexpr const char* weights_advice = "set it on each source: s.{weight = 2}.";

const std::string child_type = "source('a).{" CASTILE_CHILD_METHODS "}";
const std::string weighted_child_type = "source('a).{" CASTILE_CHILD_METHODS ", weight? : {int}}";

const lang::RegisterOldArgument old_spellings[] = {
    {"fallback", "track_sensitive", track_sensitive_advice}, {"switch", "track_sensitive", track_sensitive_advice},
    {"fallback", "replay_metadata", replay_metadata_advice}, {"switch", "replay_metadata", replay_metadata_advice},
    {"rotate", "replay_metadata", replay_metadata_advice},   {"random", "replay_metadata", replay_metadata_advice},
    {"fallback", "transitions", transitions_advice},         {"switch", "transitions", transitions_advice},
    {"rotate", "transitions", transitions_advice},           {"random", "transitions", transitions_advice},
    {"rotate", "weights", weights_advice},                   {"random", "weights", weights_advice},
    {"switch", "single", "set it on each source: s.{single = true}."},
};

std::vector<lang::BuiltinParam> old_parameters(bool track_sensitive, bool weights) {
    std::vector<lang::BuiltinParam> params;
    if (track_sensitive)
        params.push_back({"track_sensitive", "{bool}?", "null",
                          "Switch at track boundaries only, for all sources. When `null` each source says so by its method of that name."});
    params.push_back({"replay_metadata", "bool", "true", "Give the metadata of a track again when it is resumed."});
    params.push_back({"transitions", "[(source('a), source('a)) -> source('a)]", "[]",
                      "One function a source: what to play when it is entered, from what is left and itself."});
    params.push_back({"transition_length", "float", "5.", "How long, in seconds, a transition may still hear what is left."});
    params.push_back({"override", "string", "\"liq_transition_length\"", "Metadata that changes `transition_length` for one transition."});
    if (weights) params.push_back({"weights", "[{int}]", "[]", "One weight a source; 1 for the rest. The same as the method `weight` of each source."});
    return params;
}

std::function<bool()> bool_getter(const Value& value, bool otherwise) {
    if (value.kind() == Value::Kind::boolean) return [constant = value.as_bool()] { return constant; };
    return [getter = std::make_shared<script::Getter<bool>>(value, otherwise)] { return getter->get(); };
}

std::function<int()> int_getter(const Value& value) {
    if (value.kind() == Value::Kind::integer) return [constant = static_cast<int>(value.as_int())] { return constant; };
    return [getter = std::make_shared<script::Getter<int>>(value, 1)] { return getter->get(); };
}

Switcher::Child child_of(const Value& value, std::size_t index, std::size_t count, const OldSpelling& old) {
    Switcher::Child child;
    child.source = script::source_from_value(value);
    const bool has_old_sensitive = given(old.track_sensitive);
    if (has_old_sensitive)
        child.track_sensitive = bool_getter(old.track_sensitive, true);
    else if (const auto own = method(value, "track_sensitive"))
        child.track_sensitive = bool_getter(*own, true);
    // The old spelling resumes what it cut into; the new one begins a new track afterwards.
    child.skip_interrupted = !has_old_sensitive && !child.source->live();
    if (const auto own = method(value, "replay_metadata"))
        child.replay_metadata = bool_getter(*own, true);
    else if (given(old.replay_metadata))
        child.replay_metadata = bool_getter(old.replay_metadata, true);
    if (const auto own = method(value, "single")) child.single = own->as_bool();
    if (given(old.single) && index < old.single.elements().size()) child.single = old.single.elements()[index].as_bool();
    if (const auto own = method(value, "on_select"))
        child.transition = on_select(*own, child.replay_metadata);
    else if (given(old.transitions) && index < old.transitions.elements().size())
        child.transition = old_transition(old.transitions.elements()[index]);
    if (const auto own = method(value, "on_leave")) {
        child.on_leave = on_leave(*own);
        child.skip_interrupted = false;  // what to do with it is the script's now
    }
    if (const auto own = method(value, "weight")) child.weight = int_getter(*own);
    if (given(old.weights) && index < old.weights.elements().size()) child.weight = int_getter(old.weights.elements()[index]);
    return child;
}

void apply_old(const OldSpelling& old, Switcher& switcher) {
    if (given(old.transition_length)) switcher.transition_length = old.transition_length.as_float();
    if (given(old.override_metadata)) switcher.transition_override = old.override_metadata.as_string();
}

script::OperatorMethod selected_method() {
    return {"selected", "() -> source('a)?", "The source that is played now.", [](const SourcePtr& source) {
                const std::weak_ptr<Source> weak = source;
                return Value::function([weak](std::span<const lang::CallArgument>) {
                    const SourcePtr self = weak.lock();
                    const auto* switcher = dynamic_cast<const Switcher*>(self.get());
                    const SourcePtr selected = switcher ? switcher->selected() : nullptr;
                    return selected ? script::to_value(selected) : Value::null();
                });
            }};
}

script::OperatorMethod queue_method() {
    return {"queue", "() -> [source('a)]", "The sources that are left to play.", [](const SourcePtr& source) {
                const std::weak_ptr<Source> weak = source;
                return Value::function([weak](std::span<const lang::CallArgument>) {
                    std::vector<Value> left;
                    const SourcePtr self = weak.lock();
                    if (const auto* switcher = dynamic_cast<const Switcher*>(self.get()))
                        for (const SourcePtr& next : switcher->queue()) left.push_back(script::to_value(next));
                    return Value::list(std::move(left));
                });
            }};
}

}  // namespace castile::operators
