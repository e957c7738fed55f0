// protocol.add: protocols written in the script; protocol.process and the like: those that there are, as functions.

#include <fmt/format.h>

#include "base/log.h"
#include "lang/builtin.h"
#include "request/annotate.h"
#include "request/protocol.h"
#include "sched/scheduler.h"
#include "script/callback.h"

namespace castile {

namespace {

using lang::BuiltinArgs;
using lang::Value;

/// As `time()` counts.
double wall_now() { return scheduler().time().wall(); }

std::expected<ProtocolResult, Failure> ask_script(const Value& function, bool temporary, const std::string& name, const std::string& rest,
                                                  double timeout) {
    const Value rlog = Value::function([label = "protocol." + name](std::span<const lang::CallArgument> arguments) {
        if (log_enabled(LogLevel::info)) log_line(LogLevel::info, label, arguments[0].value.as_string());
        return Value::unit();
    });
    const std::vector<lang::CallArgument> arguments = {
        {Name("rlog"), rlog}, {Name("maxtime"), Value::floating(wall_now() + timeout)}, {Name(), Value::string(rest)}};
    const Value uri = function.call(arguments);
    if (uri.is_null()) return std::unexpected(Failure{Failure::Kind::not_found, "The protocol `" + name + "` found nothing for \"" + rest + "\"."});
    return ProtocolResult{{uri.as_string()}, temporary, {}};
}

bool ask_static(const Value& function, const std::string& rest) {
    try {
        return function.call({Value::string(rest)}).as_bool();
    } catch (...) {
        script::log_script_error("protocol.add");
        return false;
    }
}

const lang::RegisterBuiltin protocol_add{lang::Builtin{
    .name = "protocol.add",
    .category = "Liquidsoap",
    .doc = "Add a protocol: what resolves the URIs that begin with `name:`.",
    .params = {
        {"temporary", "bool", "false", "Is what the function gives a file to be deleted when the request is done with?"},
        {"static", "(string) -> bool", "fun (_) -> false", "Says of a URI whether it always leads to the same file."},
        {"syntax", "string", "\"\"", "Syntax of the URIs."},
        {"doc", "string", "\"\"", "Description of the protocol."},
        {"", "string", nullptr, "Its name."},
        {"", "(rlog : ((string) -> unit), maxtime : float, string) -> string?", nullptr,
         "Gives the URI to go on with, or `null`. `rlog` writes to the log; `maxtime` is when an answer comes too late."},
    },
    .result = "unit",
    .call = [](const BuiltinArgs& args) {
        enum : unsigned { temporary, is_static, syntax, doc, name, function };
        add_protocol({args[name].as_string(), args[doc].as_string(), args[syntax].as_string(),
                      [f = args[function], temporary = args[temporary].as_bool(), name = args[name].as_string()](
                          const std::string& rest, double timeout) { return ask_script(f, temporary, name, rest, timeout); },
                      [f = args[is_static]](const std::string& rest) { return ask_static(f, rest); }});
        return Value::unit();
    },
}};

/// What a protocol makes of a URI, as a function: `protocol.process("wav,...")`.
struct Function {
    const char* name;        ///< in scripts
    const char* protocol;
    bool may_find_nothing;   ///< null then; otherwise that is an error
};

constexpr Function functions[] = {
    {"copy", "copy", false}, {"fallible", "fallible", false}, {"ffmpeg", "ffmpeg", true}, {"gtts", "gtts", false}, {"lufs_track_gain", "lufs_track_gain", false},
    {"macos_say", "macos_say", false}, {"pico2wave", "pico2wave", false}, {"process", "process", true}, {"replaygain", "replaygain", false}, {"say", "say", false},
    {"stereo", "stereo", true}, {"text2wave", "text2wave", false}, {"tmp", "tmp", true}, {"youtube_dl", "youtube-dl", false}, {"youtube_pl", "youtube-pl", false},
};

Value ask_protocol(const Function& function, const BuiltinArgs& args) {
    enum : unsigned { rlog, maxtime, rest };
    std::expected<ProtocolResult, Failure> result = std::unexpected(Failure{Failure::Kind::not_found, "There is no such protocol any more."});
    if (const auto protocol = find_protocol(function.protocol)) result = protocol->function(args[rest].as_string(), args[maxtime].as_float() - wall_now());
    if (result && !result->uris.empty()) {
        const Metadata& m = result->metadata;
        return Value::string(m.entries().empty() ? result->uris.front() : annotate_uri(m.entries(), result->uris.front()));
    }
    const std::string message = result ? "Nothing was found." : result.error().message;
    args[rlog].call({Value::string(message)});
    if (function.may_find_nothing) return Value::null();
    throw lang::RuntimeError("not_found", message);
}

const lang::RegisterBuiltin file_protocol{lang::Builtin{
    .name = "file_protocol",
    .category = "Liquidsoap",
    .doc = "The path that a `file:` URI means; null for another URI.",
    .params = {{"rlog", "'a", nullptr, "Has no effect."}, {"maxtime", "'b", nullptr, "Has no effect."}, {"", "string", nullptr, "The URI."}},
    .result = "string?",
    .call = [](const BuiltinArgs& args) {
        std::string_view uri = args[2].as_string();
        if (!uri.starts_with("file:")) return Value::null();
        uri.remove_prefix(uri.starts_with("file://") ? 7 : 5);
        return Value::string(percent_decoded(uri));
    },
}};

const bool functions_registered = [] {
    for (const Function& f : functions)
        lang::RegisterBuiltin(lang::Builtin{
            .name = std::string("protocol.") + f.name,
            .category = "Liquidsoap",
            .doc = fmt::format("What the protocol `{}:` makes of a URI: the URI to go on with.", f.protocol),
            .params = {
                {"rlog", "(string) -> unit", nullptr, "Is told what went wrong."},
                {"maxtime", "float", nullptr, "When an answer comes too late, as `time()` counts."},
                {"", "string", nullptr, "What follows the name of the protocol and its colon."},
            },
            .result = f.may_find_nothing ? "string?" : "string",
            .closure = [&f](const BuiltinArgs& args) { return ask_protocol(f, args); },
        });
    return true;
}();

}  // namespace

}  // namespace castile
