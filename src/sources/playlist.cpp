// playlist: plays a list or a folder. playlist.list: plays the URIs given.

#include "request/playlist.h"

#include "script/operator.h"
#include "script/source_methods.h"
#include "sources/playlist_feed.h"
#include "sources/request_methods.h"

namespace castile {

namespace {

using lang::Value;
using script::Args;
using script::method_function;

std::shared_ptr<PlaylistFeed> list_of(const SourcePtr& source) {
    return std::static_pointer_cast<PlaylistFeed>(script::as_request_source(source)->shared_feed());
}
PlaylistFeed& list_of(RequestSource& source) { return static_cast<PlaylistFeed&>(source.feed()); }

PlaylistMode mode_named(const std::string& name) {
    if (name == "normal") return PlaylistMode::normal;
    if (name == "random") return PlaylistMode::random;
    if (name != "randomize") Logger("playlist").severe("Invalid mode: {}. Using \"randomize\".", name);
    return PlaylistMode::randomize;
}

ReloadMode reload_mode_named(const std::string& name) {
    if (name == "never") return ReloadMode::never;
    if (name == "rounds") return ReloadMode::rounds;
    if (name == "watch") return ReloadMode::watch;
    if (name != "seconds") Logger("playlist").severe("Invalid reload mode: {}. Using \"seconds\".", name);
    return ReloadMode::seconds;
}

// What `playlist` and `playlist.list` share. Their own parameters come after these.
enum : unsigned { check_next, prefetch, loop, max_fail, mode, native, on_done, on_fail, timeout, cue_in, cue_out, shared_params };

std::vector<lang::BuiltinParam> params(const char* default_mode, std::vector<lang::BuiltinParam> own) {
    std::vector<lang::BuiltinParam> all = {
        {"check_next", "((request) -> bool)?", "null", "Says of each request, before it is resolved, whether it may play."},
        {"prefetch", "int?", "null", "How many requests to prepare ahead; `settings.request.prefetch` when `null`."},
        {"loop", "bool", "true", "Begin again at the end of the list?"},
        {"max_fail", "int", "10", "After that many failures in a row, the list counts as failed and `on_fail` is called."},
        {"mode", "string", default_mode,
         "\"normal\": in the order of the list; \"randomize\": shuffled for each round; \"random\": any, each time."},
        {"native", "bool", "false", "Kept for older scripts: has no effect."},
        {"on_done", "() -> unit", "fun () -> ()", "Called when a list that does not loop has ended."},
        {"on_fail", "(() -> [string])?", "null", "Gives other URIs to play when the list failed."},
        {"timeout", "float?", "null", "Seconds that resolving may take; `settings.request.timeout` when `null`."},
        {"cue_in_metadata", "string?", "\"liq_cue_in\"", "Metadata with the start, in seconds; `null` for none."},
        {"cue_out_metadata", "string?", "\"liq_cue_out\"", "Metadata with the end, in seconds; `null` for none."},
    };
    all.insert(all.end(), own.begin(), own.end());
    return all;
}

std::vector<std::string> strings_of(const Value& list) {
    std::vector<std::string> strings;
    for (const Value& element : list.elements()) strings.push_back(element.as_string());
    return strings;
}

PlaylistOptions options_of(const Args& args) {
    PlaylistOptions options;
    options.mode = mode_named(args.string(mode));
    options.loop = args.boolean(loop);
    options.max_fail = std::max(1, args.integer(max_fail));
    options.request.cue_in_metadata = args.optional_string(cue_in);
    options.request.cue_out_metadata = args.optional_string(cue_out);
    options.on_done = args.callback(on_done);
    if (!args.is_null(check_next))
        options.check_next = [f = args.value(check_next)](const RequestPtr& request) {
            try {
                return f.call({script::to_value(request)}).as_bool();
            } catch (...) {
                script::log_script_error("check_next");
                return false;
            }
        };
    if (!args.is_null(on_fail))
        options.on_fail = [f = args.value(on_fail)]() -> std::vector<std::string> {
            try {
                return strings_of(f.call());
            } catch (...) {
                script::log_script_error("on_fail");
                return {};
            }
        };
    return options;
}

FeedOptions feed_options_of(const Args& args) {
    FeedOptions options;
    options.prefetch = std::max(1, args.optional_integer(prefetch).value_or(default_request_prefetch()));
    options.timeout = args.optional_floating(timeout);
    return options;
}

std::vector<script::OperatorMethod> shared_methods() {
    std::vector<script::OperatorMethod> methods = script::request_methods();
    methods.push_back({"remaining_files", "() -> [string]", "What is left of this round.", [](const SourcePtr& source) {
                           return method_function([list = list_of(source)] {
                               std::vector<Value> files;
                               for (std::string& file : list->remaining_files()) files.push_back(Value::string(std::move(file)));
                               return Value::list(std::move(files));
                           });
                       }});
    methods.push_back({"length", "() -> int", "How many entries the list has.", [](const SourcePtr& source) {
                           return method_function([list = list_of(source)] { return Value::integer(static_cast<std::int64_t>(list->length())); });
                       }});
    return methods;
}

bool flag(std::span<const lang::CallArgument> arguments, Name label, bool otherwise) {
    for (const lang::CallArgument& a : arguments)
        if (a.label == label) return a.value.as_bool();
    return otherwise;
}

// --- playlist ------------------------------------------------------------------------------------------------------------

void add_commands(const SourcePtr& source) {
    using script::add_request_command;
    add_request_command(source, "skip", "skip", "End what plays.", [](RequestSource& s, const std::string&) {
        script::order(s.shared_from_this(), [](Source& source) { source.skip(); });
        return std::string("OK");
    });
    add_request_command(source, "next", "next", "The next ten entries to play.", [](RequestSource& s, const std::string&) {
        std::vector<std::string> lines;
        for (const RequestPtr& request : s.feed().prepared()) lines.push_back("[ready] " + request->initial_uri());
        for (const std::string& file : list_of(s).remaining_files()) {
            if (lines.size() >= 10) break;
            lines.push_back(file);
        }
        std::string text;
        for (const std::string& line : lines) text += (text.empty() ? "" : "\n") + line;
        return text;
    });
    add_request_command(source, "reload", "reload", "Read the playlist again.", [](RequestSource& s, const std::string&) {
        list_of(s).reload();
        return std::string("OK");
    });
    add_request_command(source, "uri", "uri [<uri>]", "The playlist's URI, or another to read instead.",
                        [](RequestSource& s, const std::string& uri) {
                            if (uri.empty()) return list_of(s).uri();
                            list_of(s).reload(true, uri);
                            return std::string("OK");
                        });
}

// "music" for "/srv/music/" and for "/srv/music", "day.m3u" for "http://host/day.m3u".
std::string id_of(std::string uri) {
    while (uri.ends_with('/')) uri.pop_back();
    const std::size_t slash = uri.rfind('/');
    std::string name = slash == std::string::npos ? uri : uri.substr(slash + 1);
    return name.empty() || name == "." ? "playlist" : name;
}

SourcePtr build_playlist(Args& args) {
    enum : unsigned { mime_type = shared_params, on_reload, prefix, reload, reload_mode, register_commands, uri };
    PlaylistOptions options = options_of(args);
    options.prefix = args.string(prefix);
    options.reload = std::max(0, args.integer(reload));
    options.reload_mode = reload_mode_named(args.string(reload_mode));
    options.on_reload = [callback = script::Callback(args.value(on_reload), false, "on_reload")](const std::string& from) {
        callback({{Name(), Value::string(from)}});
    };
    const FeedOptions feed = feed_options_of(args);
    options.load = [mime = args.optional_string(mime_type).value_or(""), limit = feed.timeout.value_or(default_request_timeout())](
                       const std::string& from) { return read_playlist(from, mime, limit); };
    const std::string from = args.string(uri);
    auto source = std::make_shared<RequestSource>("playlist", std::make_shared<PlaylistFeed>(feed, std::move(options), from));
    source->set_id(id_of(from));
    if (args.boolean(register_commands)) add_commands(source);
    return source;
}

std::vector<script::OperatorMethod> playlist_methods() {
    std::vector<script::OperatorMethod> methods = shared_methods();
    methods.push_back({"reload", "(?empty_queue : bool, ?uri : string?) -> unit", "Read the list again, or another one.",
                       [](const SourcePtr& source) {
                           return Value::function([list = list_of(source)](std::span<const lang::CallArgument> arguments) {
                               std::optional<std::string> from;
                               for (const lang::CallArgument& a : arguments)
                                   if (a.label == Name("uri") && !a.value.is_null()) from = a.value.as_string();
                               list->reload(flag(arguments, "empty_queue", true), std::move(from));
                               return Value::unit();
                           });
                       }});
    return methods;
}

const script::RegisterOperator playlist{{
    .name = "playlist",
    .category = script::Category::input,
    .doc = "Play the files of a list (m3u, pls, cue sheet, XSPF, plain text; local or fetched) or of a folder.",
    .params = params("\"randomize\"",
                     {
                         {"mime_type", "string?", "null", "Kind of the list; found out when `null`."},
                         {"on_reload", "(string) -> unit", "fun (_) -> ()", "Called with the URI after the list was read again."},
                         {"prefix", "string", "\"\"", "Put before each entry: a protocol, say."},
                         {"reload", "int", "0", "After how many seconds, or rounds, to read the list again; 0 for never."},
                         {"reload_mode", "string", "\"seconds\"",
                          "\"never\", \"rounds\", \"seconds\", or \"watch\" to read the list again whenever it changes."},
                         {"register_server_commands", "bool", "true", "Give it commands on the server?"},
                         {"", "string", nullptr, "Where the list is."},
                     }),
    .result = "source('a)",
    .build = build_playlist,
    .methods = playlist_methods(),
}};

// --- playlist.list -------------------------------------------------------------------------------------------------------

SourcePtr build_list(Args& args) {
    enum : unsigned { on_loop = shared_params, files };
    PlaylistOptions options = options_of(args);
    options.on_loop = args.callback(on_loop);
    options.load = [list = args.strings(files)](const std::string&) -> std::expected<std::vector<std::string>, Failure> { return list; };
    return std::make_shared<RequestSource>("playlist.list",
                                           std::make_shared<PlaylistFeed>(feed_options_of(args), std::move(options), "(list)"));
}

std::vector<script::OperatorMethod> list_methods() {
    std::vector<script::OperatorMethod> methods = shared_methods();
    methods.push_back({"reload", "(?empty_queue : bool, [string]) -> unit", "Play this list instead.", [](const SourcePtr& source) {
                           return Value::function([list = list_of(source)](std::span<const lang::CallArgument> arguments) {
                               for (const lang::CallArgument& a : arguments)
                                   if (a.label == Name()) list->replace(strings_of(a.value), flag(arguments, "empty_queue", true));
                               return Value::unit();
                           });
                       }});
    return methods;
}

const script::RegisterOperator playlist_list{{
    .name = "playlist.list",
    .category = script::Category::input,
    .doc = "Play the URIs of a list.",
    .params = params("\"normal\"",
                     {
                         {"on_loop", "() -> unit", "fun () -> ()", "Called when the list begins again."},
                         {"", "[string]", nullptr, "The URIs."},
                     }),
    .result = "source('a)",
    .build = build_list,
    .methods = list_methods(),
}};

}  // namespace

}  // namespace castile
