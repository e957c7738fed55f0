// request.*: requests in the hands of a script.

#include <cmath>
#include <cstdlib>
#include <map>
#include <string>

#include "lang/builtin.h"
#include "request/annotate.h"
#include "request/request.h"
#include "script/values.h"

namespace castile {

namespace {

using lang::Builtin;
using lang::BuiltinArgs;
using lang::BuiltinParam;
using lang::RegisterBuiltin;
using lang::Value;
using script::request_from_value;
using script::value_as;

const char* const category = "Liquidsoap";

Builtin query(const char* name, const char* doc, const char* result, Value (*call)(const BuiltinArgs&)) {
    return {.name = name, .category = category, .doc = doc, .params = {{"", "request", nullptr, "The request."}}, .result = result, .call = call};
}

double limit_of(const Value& timeout) { return value_as<std::optional<double>>(timeout).value_or(default_request_timeout()); }

const RegisterBuiltin create{Builtin{
    .name = "request.create",
    .category = category,
    .doc = "Make a request from a URI.",
    .params = {
        {"cue_in_metadata", "string?", "\"liq_cue_in\"", "Metadata with the start, in seconds; `null` for none."},
        {"cue_out_metadata", "string?", "\"liq_cue_out\"", "Metadata with the end, in seconds; `null` for none."},
        {"persistent", "bool", "false", "Keep it when a source is done with it."},
        {"resolve_metadata", "bool", "true", "Read the tags of its file?"},
        {"excluded_metadata_resolvers", "[string]", "[]", "Kept for older scripts: has no effect."},
        {"temporary", "bool", "false", "Is the URI a file to be deleted when the request is done with?"},
        {"", "string", nullptr, "The URI."},
    },
    .result = "request",
    .call = [](const BuiltinArgs& args) {
        enum : unsigned { cue_in, cue_out, persistent, resolve_metadata, excluded, temporary, uri };
        return script::to_value(Request::create(args[uri].as_string(), {.temporary = args[temporary].as_bool(),
                                                                        .persistent = args[persistent].as_bool(),
                                                                        .resolve_metadata = args[resolve_metadata].as_bool(),
                                                                        .cue_in_metadata = value_as<std::optional<std::string>>(args[cue_in]),
                                                                        .cue_out_metadata = value_as<std::optional<std::string>>(args[cue_out])}));
    },
}};

const RegisterBuiltin resolve{Builtin{
    .name = "request.resolve",
    .category = category,
    .doc = "Resolve a request up to a file that can be played. False when that fails. Waits for the answer.",
    .params = {
        {"timeout", "float?", "null", "Seconds that it may take; `settings.request.timeout` when `null`."},
        {"content_type", "source('a)?", "null", "Kept for older scripts: has no effect."},
        {"", "request", nullptr, "The request."},
    },
    .result = "bool",
    .call = [](const BuiltinArgs& args) { return Value::boolean(request_from_value(args[2])->resolve(limit_of(args[0])).has_value()); },
}};

bool is_ready(const Value& request) {
    const Request::State state = request_from_value(request)->state();
    return state == Request::State::ready || state == Request::State::playing;
}

const RegisterBuiltin resolved{query("request.resolved", "Is the request resolved, so that it can be played at once?", "bool",
                                     [](const BuiltinArgs& args) { return Value::boolean(is_ready(args[0])); })};
const RegisterBuiltin ready{query("request.ready", "Is the request resolved, so that it can be played at once?", "bool",
                                  [](const BuiltinArgs& args) { return Value::boolean(is_ready(args[0])); })};
const RegisterBuiltin metadata{query("request.metadata", "The metadata of a request.", "[string * string]",
                                     [](const BuiltinArgs& args) { return script::to_value(request_from_value(args[0])->metadata()); })};
const RegisterBuiltin filename{query("request.filename", "The file that a request led to; its URI before it is resolved.", "string",
                                     [](const BuiltinArgs& args) {
                                         const RequestPtr request = request_from_value(args[0]);
                                         const std::string file = request->filename();
                                         return Value::string(file.empty() ? request->initial_uri() : file);
                                     })};
const RegisterBuiltin id{query("request.id", "The number of a request.", "int",
                               [](const BuiltinArgs& args) { return Value::integer(request_from_value(args[0])->id()); })};
const RegisterBuiltin uri{query("request.uri", "The URI that a request was made with.", "string",
                                [](const BuiltinArgs& args) { return Value::string(request_from_value(args[0])->initial_uri()); })};
const RegisterBuiltin status{query("request.status", "\"idle\", \"resolving\", \"ready\", \"playing\", \"failed\" or \"destroyed\".", "string",
                                   [](const BuiltinArgs& args) { return Value::string(to_string(request_from_value(args[0])->state())); })};
const RegisterBuiltin log{query("request.log", "What happened to a request so far, line by line.", "string",
                                [](const BuiltinArgs& args) {
                                    std::string text;
                                    for (const std::string& line : request_from_value(args[0])->log()) text += (text.empty() ? "" : "\n") + line;
                                    return Value::string(std::move(text));
                                })};

const RegisterBuiltin destroy{Builtin{
    .name = "request.destroy",
    .category = category,
    .doc = "Be done with a request: its temporary files are deleted.",
    .params = {{"force", "bool", "false", "Even when it is persistent."}, {"", "request", nullptr, "The request."}},
    .result = "unit",
    .call = [](const BuiltinArgs& args) {
        request_from_value(args[1])->destroy(args[0].as_bool());
        return Value::unit();
    },
}};

const RegisterBuiltin all{Builtin{
    .name = "request.all",
    .category = category,
    .doc = "All requests alive.",
    .result = "[request]",
    .call = [](const BuiltinArgs&) {
        std::vector<Value> values;
        for (const RequestPtr& request : all_requests()) values.push_back(script::to_value(request));
        return Value::list(std::move(values));
    },
}};

const RegisterBuiltin is_static{Builtin{
    .name = "request.is_static",
    .category = category,
    .doc = "Does the URI always lead to the same file, so that it can be fetched once for all?",
    .params = {{"", "string", nullptr, "The URI."}},
    .result = "bool",
    .call = [](const BuiltinArgs& args) { return Value::boolean(is_static_uri(args[0].as_string())); },
}};

std::optional<double> number_in(const Metadata& metadata, const char* label) {
    const std::string* text = metadata.find(label);
    if (!text) return std::nullopt;
    char* end = nullptr;
    const double value = std::strtod(text->c_str(), &end);
    return end == text->c_str() || !std::isfinite(value) ? std::nullopt : std::optional(value);
}

// Cue points count, the `duration` of the tags or annotations comes before what the file says.
std::optional<double> duration_of(const Request& request) {
    const Metadata all = request.metadata();
    const double from = number_in(all, "cue_in").value_or(0);
    if (const auto to = number_in(all, "cue_out")) return *to - from;
    if (const auto told = number_in(all, "duration")) return told;
    const auto seconds = file_duration(request.filename());
    return seconds ? std::optional(*seconds - from) : std::nullopt;
}

const RegisterBuiltin duration{Builtin{
    .name = "request.duration",
    .category = category,
    .doc = "Length in seconds of what a URI stands for, `null` when it cannot be known. Waits for the answer.",
    .params = {
        {"resolvers", "[string]?", "null", "Kept for older scripts: has no effect."},
        {"resolve_metadata", "bool", "true", "Look at the tags too, `duration` and cue points?"},
        {"metadata", "[string * string]", "[]", "More metadata to look at."},
        {"timeout", "float?", "null", "Seconds that resolving may take; `settings.request.timeout` when `null`."},
        {"", "string", nullptr, "The URI."},
    },
    .result = "float?",
    .call = [](const BuiltinArgs& args) {
        enum : unsigned { resolvers, resolve_metadata, metadata, timeout, uri };
        const RequestPtr request = Request::create(args[uri].as_string(), {.metadata = script::metadata_from_value(args[metadata]),
                                                                           .resolve_metadata = args[resolve_metadata].as_bool(),
                                                                           .cue_in_metadata = std::nullopt,
                                                                           .cue_out_metadata = std::nullopt});
        std::optional<double> seconds;
        if (request->resolve(limit_of(args[timeout]))) seconds = duration_of(*request);
        request->destroy(true);
        return seconds ? Value::floating(*seconds) : Value::null();
    },
}};

const RegisterBuiltin annotate_parse{Builtin{
    .name = "string.annotate.parse",
    .category = "String",
    .doc = "Metadata and URI of what follows `annotate:`.",
    .params = {{"", "string", nullptr, "`key=\"value\",...:uri`"}},
    .result = "[string * string] * string",
    .call = [](const BuiltinArgs& args) {
        const auto annotated = parse_annotations(args[0].as_string());
        if (!annotated) throw lang::RuntimeError("string", annotated.error().message);
        std::map<std::string, std::string> metadata;   // the last of two equal labels counts
        for (const auto& [label, value] : annotated->entries) metadata[label] = value;
        std::vector<Value> entries;
        for (const auto& [label, value] : metadata) entries.push_back(Value::tuple({Value::string(label), Value::string(value)}));
        return Value::tuple({Value::list(std::move(entries)), Value::string(annotated->rest)});
    },
}};

}  // namespace

}  // namespace castile
