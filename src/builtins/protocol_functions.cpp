// protocol.add: protocols written in the script.

#include <chrono>

#include "base/log.h"
#include "lang/builtin.h"
#include "request/protocol.h"
#include "script/callback.h"

namespace castile {

namespace {

using lang::BuiltinArgs;
using lang::Value;

double wall_now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

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

}  // namespace

}  // namespace castile
