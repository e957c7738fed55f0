// The methods of sources as functions (`source.skip(s)`), and the older names of some.

#include <algorithm>
#include <string>

#include "lang/old_arguments.h"
#include "script/callback.h"
#include "script/source_methods.h"
#include "script/values.h"
#include "script/watchers.h"

namespace castile {

namespace {

using lang::Builtin;
using lang::BuiltinArgs;
using lang::ForeignMethod;
using lang::RegisterBuiltin;
using lang::Value;

const char* const category = "Source / Liquidsoap";

// source.NAME(s, ...): the method with the source as first positional argument.
void add_function_form(const char* name) {
    const auto methods = script::source_methods();
    const auto method = std::ranges::find(methods, std::string(name), &ForeignMethod::name);
    if (method == methods.end()) return;
    Builtin builtin{.name = "source." + method->name, .category = category, .doc = method->doc};
    builtin.params.push_back({"", "source('a)", nullptr, "The source."});
    builtin.params.insert(builtin.params.end(), method->params.begin(), method->params.end());
    builtin.result = method->constant_type.empty() ? method->result : method->constant_type;
    builtin.closure = [call = method->call](const BuiltinArgs& args) {
        const auto rest = args.size() > 1 ? std::span(&args[1], args.size() - 1) : std::span<const Value>();
        return call(args[0], BuiltinArgs(rest, args.call_site()));
    };
    RegisterBuiltin registration(std::move(builtin));
}

const bool forms = [] {
    for (const char* name : {"duration", "elapsed", "fallible", "id", "is_ready", "is_up", "last_metadata", "on_frame", "on_metadata",
                             "on_shutdown", "on_track", "remaining", "seek", "skip", "time"})
        add_function_form(name);
    return true;
}();

const RegisterBuiltin methods{Builtin{
    .name = "source.methods",
    .category = category,
    .doc = "The source with all the methods of sources.",
    .params = {{"", "source('a)", nullptr, "The source."}},
    .result = "source('a)",
    .call = [](const BuiltinArgs& args) { return args[0]; },
}};

const RegisterBuiltin set_id{Builtin{
    .name = "source.set_id",
    .category = category,
    .doc = "Change the source's identifier. Before it streams.",
    .params = {{"", "source('a)", nullptr, "The source."}, {"", "string", nullptr, "The identifier."}},
    .result = "unit",
    .call = [](const BuiltinArgs& args) {
        script::source_from_value(args[0])->set_id(args[1].as_string());
        return Value::unit();
    },
}};

// on_metadata(s, f), on_track(s, f): give the source back, so that they can stand in a chain.
template <Value (*watch)(const SourcePtr&, script::Callback)> Builtin chained(const char* name) {
    return {
        .name = name,
        .category = "Source / Track processing",
        .doc = "Call a function with the metadata; the source is given back.",
        .params = {
            {"id", "string?", "null", "Has no effect."},
            {"", "source('a)", nullptr, "The source."},
            {"", "([string * string]) -> unit", nullptr, "What to call."},
        },
        .result = "source('a)",
        .deprecated = std::string("Use the method `") + name + "` of the source instead.",
        .call = [](const BuiltinArgs& args) {
            watch(script::source_from_value(args[1]), script::Callback(args[2], false, "a callback of a source"));
            return args[1];
        },
    };
}

const lang::RegisterOldArgument orders[] = {
    {"on_metadata", "", "the source comes first, as in on_metadata(s, f)."},
    {"on_track", "", "the source comes first, as in on_track(s, f)."},
};

const RegisterBuiltin on_metadata{chained<script::watch_metadata>("on_metadata")};
const RegisterBuiltin on_track{chained<script::watch_tracks>("on_track")};

}  // namespace

}  // namespace castile
