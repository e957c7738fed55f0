// playlist.parse, playlist.files: lists as values.

#include "lang/builtin.h"
#include "request/playlist.h"
#include "request/request.h"
#include "script/values.h"

namespace castile {

namespace {

using lang::Builtin;
using lang::BuiltinArgs;
using lang::RegisterBuiltin;
using lang::Value;
using script::value_as;

const RegisterBuiltin parse{Builtin{
    .name = "playlist.parse",
    .category = "Liquidsoap",
    .doc = "The entries of a playlist's file: metadata and URI of each.",
    .params = {
        {"path", "string", "\"\"", "Folder that relative entries are looked for in; that of the file when empty."},
        {"mime", "string?", "null", "Kind of the list; found out when `null` or empty."},
        {"", "string", nullptr, "The file."},
    },
    .result = "[[string * string] * string]",
    .call = [](const BuiltinArgs& args) {
        const auto list = parse_playlist_file(local_path(args[2].as_string()), value_as<std::optional<std::string>>(args[1]).value_or(""),
                                              args[0].as_string());
        if (!list) throw lang::RuntimeError(list.error().kind == Failure::Kind::not_found ? "not_found" : "invalid", list.error().message);
        std::vector<Value> entries;
        for (const PlaylistEntry& entry : *list) {
            std::vector<Value> metadata;
            for (const auto& [label, value] : entry.metadata) metadata.push_back(Value::tuple({Value::string(label), Value::string(value)}));
            entries.push_back(Value::tuple({Value::list(std::move(metadata)), Value::string(entry.uri)}));
        }
        return Value::list(std::move(entries));
    },
}};

const RegisterBuiltin files{Builtin{
    .name = "playlist.files",
    .category = "File",
    .doc = "The URIs of a playlist or folder. Waits for it to be read.",
    .params = {
        {"id", "string?", "null", "Label in the log."},
        {"mime_type", "string?", "null", "Kind of the list; found out when `null`."},
        {"timeout", "float?", "null", "Seconds that resolving may take; `settings.request.timeout` when `null`."},
        {"", "string", nullptr, "Where the list is."},
    },
    .result = "[string]",
    .call = [](const BuiltinArgs& args) {
        const double limit = value_as<std::optional<double>>(args[2]).value_or(default_request_timeout());
        const auto list = read_playlist(args[3].as_string(), value_as<std::optional<std::string>>(args[1]).value_or(""), limit);
        if (!list) throw lang::RuntimeError("invalid", list.error().message);
        std::vector<Value> values;
        for (const std::string& uri : *list) values.push_back(Value::string(uri));
        return Value::list(std::move(values));
    },
}};

}  // namespace

}  // namespace castile
