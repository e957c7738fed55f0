// harbor.http.*: HTTP handlers written in the script, and folders served as they are.

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "lang/builtin.h"
#include "net/http_server.h"
#include "sched/scheduler.h"
#include "script/args.h"
#include "script/transport.h"

namespace castile {

namespace {

using lang::BuiltinArgs;
using lang::CallArgument;
using lang::Value;
using Fields = std::vector<std::pair<std::string, std::string>>;

constexpr std::size_t max_body = 16u << 20, max_file = 256u << 20;

// --- Routes kept for the life of the process, until harbor.remove ------------------------------------------------------

struct Kept {
    std::mutex kept_mutex;
    std::map<std::tuple<unsigned short, std::string, std::string>, std::shared_ptr<void>> tokens;
};
Kept& kept() {
    static auto* kept = new Kept;
    return *kept;
}

unsigned short port_of(const BuiltinArgs& args, unsigned index) {
    const auto number = args[index].as_int();
    if (number < 1 || number > 65535) script::throw_invalid(args.call_site(), "harbor.http", fmt::format("{} is not a port.", number));
    return static_cast<unsigned short>(number);
}

std::string upper(std::string text) {
    for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
    return text;
}

void keep_route(const BuiltinArgs& args, unsigned port_index, unsigned transport_index, HttpRoute route, const std::string& key, HttpHandler handler) {
    const unsigned short port = port_of(args, port_index);
    const std::string method = route.method;
    route.max_body = max_body;
    try {
        auto token = register_http(port, script::transport_from_value(args[transport_index]), std::move(route), std::move(handler));
        std::lock_guard lock(kept().kept_mutex);
        kept().tokens[{port, method, key}] = std::move(token);
    } catch (const Error& error) {
        script::throw_invalid(args.call_site(), "harbor.http", error.what());
    }
}

// --- Requests and answers as values ------------------------------------------------------------------------------------

Value pairs(const Fields& fields) {
    std::vector<Value> list;
    for (const auto& [name, value] : fields) list.push_back(Value::tuple({Value::string(name), Value::string(value)}));
    return Value::list(std::move(list));
}

Fields fields_of(const Value& list) {
    Fields fields;
    for (const Value& entry : list.elements()) fields.emplace_back(entry.elements()[0].as_string(), entry.elements()[1].as_string());
    return fields;
}

Value request_value(const HttpServerRequest& request, const Fields& matched) {
    Fields query = matched;
    query.insert(query.end(), request.query.begin(), request.query.end());
    // The body is here already: reading it never waits, so its time-out is not looked at. `data` gives it once.
    const Value body = Value::function([text = request.body](std::span<const CallArgument>) { return Value::string(text); }, "body");
    const auto rest = std::make_shared<std::string>(request.body);
    const Value data = Value::function([rest](std::span<const CallArgument>) { return Value::string(std::exchange(*rest, {})); }, "data");
    return Value::unit().with_method("body", body).with_method("data", data).with_method("headers", pairs(request.headers))
        .with_method("http_version", Value::string(request.http_version)).with_method("method", Value::string(request.method))
        .with_method("path", Value::string(request.path)).with_method("query", pairs(query));
}

nlohmann::json to_json(const Value& value) {
    const auto methods = value.own_methods();
    if (value.kind() == Value::Kind::tuple && value.elements().empty() && !methods.empty()) {
        nlohmann::json object = nlohmann::json::object();
        for (const auto& [name, field] : methods) object[name.str()] = to_json(field);
        return object;
    }
    switch (value.kind()) {
        case Value::Kind::null: return nullptr;
        case Value::Kind::boolean: return value.as_bool();
        case Value::Kind::integer: return value.as_int();
        case Value::Kind::floating: return value.as_float();
        case Value::Kind::string: return value.as_string();
        case Value::Kind::list:
        case Value::Kind::tuple: {
            nlohmann::json array = nlohmann::json::array();
            for (const Value& element : value.elements()) array.push_back(to_json(element));
            return array;
        }
        case Value::Kind::function:
        case Value::Kind::foreign: break;
    }
    throw lang::RuntimeError("json", "This value has no JSON form.");
}

/// What a handler fills in.
struct Answer {
    std::mutex answer_mutex;
    std::string http_version = "1.1";
    int status = 200;
    std::optional<std::string> reason, content_type;
    Fields headers;
    Value data = Value::string("");

    HttpServerResponse response() {
        HttpServerResponse r;
        Value body;
        {
            std::lock_guard lock(answer_mutex);
            r.status = status;
            r.reason = reason.value_or("");
            r.content_type = content_type.value_or("");
            for (const auto& [name, value] : headers) {
                if (upper(name) == "CONTENT-TYPE") r.content_type = value;
                else if (upper(name) != "CONTENT-LENGTH") r.headers.emplace_back(name, value);
            }
            body = data;
        }
        // A getter may give its text in pieces, the last of them empty.
        if (body.kind() != Value::Kind::function) {
            r.body = body.as_string();
        } else {
            for (std::string piece = body.get().as_string(); !piece.empty() && r.body.size() < max_file; piece = body.get().as_string()) r.body += piece;
        }
        return r;
    }
    std::string text() {
        const HttpServerResponse r = response();
        std::string text = fmt::format("HTTP/{} {} {}\r\nContent-Length: {}\r\n", http_version, r.status, r.reason.empty() ? http_reason(r.status) : r.reason, r.body.size());
        if (!r.content_type.empty()) text += fmt::format("Content-Type: {}\r\n", r.content_type);
        for (const auto& [name, value] : r.headers) text += fmt::format("{}: {}\r\n", name, value);
        return text + "\r\n" + r.body;
    }
};
using AnswerPtr = std::shared_ptr<Answer>;

Value optional_text(const std::optional<std::string>& text) { return text ? Value::string(*text) : Value::null(); }
std::optional<std::string> text_or_null(const Value& value) { return value.is_null() ? std::nullopt : std::optional(value.as_string()); }

// A setter with a `current` method.
Value setter(const AnswerPtr& answer, void (*set)(Answer&, const Value&), Value (*get)(const Answer&)) {
    return Value::function([answer, set](std::span<const CallArgument> arguments) {
               std::lock_guard lock(answer->answer_mutex);
               set(*answer, arguments[0].value);
               return Value::unit();
           }).with_method("current", Value::function([answer, get](std::span<const CallArgument>) {
               std::lock_guard lock(answer->answer_mutex);
               return get(*answer);
           }));
}

Value answer_value(const AnswerPtr& answer) {
    const auto plain = [&answer](void (*set)(Answer&, std::span<const CallArgument>)) {
        return Value::function([answer, set](std::span<const CallArgument> arguments) {
            std::lock_guard lock(answer->answer_mutex);
            set(*answer, arguments);
            return Value::unit();
        });
    };
    return Value::function([answer](std::span<const CallArgument>) { return Value::string(answer->text()); }, "response")
        .with_method("content_type", setter(answer, [](Answer& a, const Value& v) { a.content_type = text_or_null(v); }, [](const Answer& a) { return optional_text(a.content_type); }))
        .with_method("data", setter(answer, [](Answer& a, const Value& v) { a.data = v; }, [](const Answer& a) { return a.data; }))
        .with_method("headers", setter(answer, [](Answer& a, const Value& v) { a.headers = fields_of(v); }, [](const Answer& a) { return pairs(a.headers); }))
        .with_method("http_version", setter(answer, [](Answer& a, const Value& v) { a.http_version = v.as_string(); }, [](const Answer& a) { return Value::string(a.http_version); }))
        .with_method("status_code", setter(answer, [](Answer& a, const Value& v) { a.status = static_cast<int>(v.as_int()); }, [](const Answer& a) { return Value::integer(a.status); }))
        .with_method("status_message", setter(answer, [](Answer& a, const Value& v) { a.reason = text_or_null(v); }, [](const Answer& a) { return optional_text(a.reason); }))
        .with_method("header", plain([](Answer& a, std::span<const CallArgument> v) {
            std::erase_if(a.headers, [&](const auto& h) { return upper(h.first) == upper(v[0].value.as_string()); });
            a.headers.emplace_back(v[0].value.as_string(), v[1].value.as_string());
        }))
        .with_method("html", plain([](Answer& a, std::span<const CallArgument> v) {
            a.content_type = "text/html; charset=utf-8";
            a.data = v[0].value;
        }))
        .with_method("json", plain([](Answer& a, std::span<const CallArgument> v) {
            bool compact = false;
            Value value;
            for (const auto& argument : v) {
                if (argument.label.empty()) value = argument.value;
                else if (!argument.value.is_null()) compact = argument.value.as_bool();
            }
            a.content_type = "application/json; charset=utf-8";
            a.data = Value::string(to_json(value).dump(compact ? -1 : 2, ' ', false, nlohmann::json::error_handler_t::replace));
        }))
        .with_method("redirect", plain([](Answer& a, std::span<const CallArgument> v) {
            a.status = 301;
            for (const auto& argument : v) {
                if (!argument.label.empty()) a.status = static_cast<int>(argument.value.as_int());
                else a.headers.emplace_back("Location", argument.value.as_string());
            }
        }))
        .with_method("status_sent", Value::function([](std::span<const CallArgument>) { return Value::boolean(false); }));
}

const std::string request_type = "{body : (?timeout : float) -> string, data : (?timeout : float) -> string, headers : [string * string], "
                                 "http_version : string, method : string, path : string, query : [string * string]}";
const std::string answer_type = "(() -> string).{content_type : ((string?) -> unit).{current : () -> string?}, data : (({string}) -> unit).{current : () -> {string}}, "
                                "header : (string, string) -> unit, headers : (([string * string]) -> unit).{current : () -> [string * string]}, "
                                "html : ({string}) -> unit, http_version : ((string) -> unit).{current : () -> string}, json : (?compact : bool, 'a) -> unit, "
                                "redirect : (?status_code : int, string) -> unit, status_code : ((int) -> unit).{current : () -> int}, "
                                "status_message : ((string?) -> unit).{current : () -> string?}, status_sent : () -> bool}";

// --- Paths -------------------------------------------------------------------------------------------------------------

// "/users/:id" matches "/users/7" and gives id = 7.
std::optional<Fields> match_path(const std::string& pattern, const std::string& path) {
    Fields found;
    std::size_t p = 0, q = 0;
    while (p < pattern.size()) {
        if (pattern[p] == ':' && p > 0 && pattern[p - 1] == '/') {
            const auto end = std::min(pattern.find('/', p), pattern.size()), stop = std::min(path.find('/', q), path.size());
            if (stop == q) return std::nullopt;
            found.emplace_back(pattern.substr(p + 1, end - p - 1), path.substr(q, stop - q));
            p = end;
            q = stop;
        } else {
            if (q >= path.size() || pattern[p] != path[q]) return std::nullopt;
            ++p;
            ++q;
        }
    }
    return q == path.size() ? std::optional(std::move(found)) : std::nullopt;
}

using Matcher = std::function<std::optional<Fields>(const std::string& path)>;

Matcher path_matcher(std::string pattern) {
    return [pattern = std::move(pattern)](const std::string& path) { return match_path(pattern, path); };
}

// A regexp value is asked by its own methods: this folder needs to know no more of it.
Matcher regexp_matcher(const Value& regexp) {
    return [regexp](const std::string& path) -> std::optional<Fields> {
        const auto test = regexp.find_method("test");
        if (!test || !test->call({Value::string(path)}).as_bool()) return std::nullopt;
        Fields found;
        if (const auto exec = regexp.find_method("exec")) {
            const Value match = exec->call({Value::string(path)});
            if (const auto groups = match.find_method("groups")) found = fields_of(*groups);
        }
        return found;
    };
}

// Runs the script's function off the network's threads: it may ask other services.
HttpHandler script_handler(Value function, Matcher matcher, bool simple) {
    return [function = std::move(function), matcher = std::move(matcher), simple](const HttpExchangePtr& exchange) {
        scheduler().blocking([=] {
            try {
                const Value request = request_value(exchange->request(), matcher(exchange->request().path).value_or(Fields{}));
                if (!simple) {
                    auto answer = std::make_shared<Answer>();
                    function.call({request, answer_value(answer)});
                    return exchange->reply(answer->response());
                }
                const Value result = function.call({request});
                if (result.is_null()) return exchange->reply({204, "", "", {}, ""});
                const std::string text = result.get().as_string();
                if (text.starts_with("HTTP/")) return exchange->reply_raw(text);
                exchange->reply({200, "text/html; charset=utf-8", text, {}, ""});
            } catch (...) {
                script::log_script_error("a handler of harbor.http");
                exchange->reply({500, "text/plain; charset=utf-8", "Internal Server Error\n", {}, ""});
            }
        });
    };
}

enum : unsigned { port, transport, method, where, handler };

Value register_handler(const BuiltinArgs& args, bool simple, bool regexp) {
    const Matcher matcher = regexp ? regexp_matcher(args[where]) : path_matcher(args[where].as_string());
    const std::string key = regexp ? lang::to_string(args[where]) : args[where].as_string();
    HttpRoute route;
    route.method = upper(args[method].as_string());
    route.path = key;
    route.matches = [matcher](const std::string& path) { return matcher(path).has_value(); };
    keep_route(args, port, transport, std::move(route), key, script_handler(args[handler], matcher, simple));
    return Value::unit();
}

lang::Builtin handler_builtin(std::string name, std::string doc, bool regexp, std::string handler_type, Value (*call)(const BuiltinArgs&)) {
    return {
        .name = std::move(name),
        .category = "Internet",
        .doc = std::move(doc),
        .params = {
            {"port", "int", "8000", "Port to serve on."},
            {"transport", "http_transport?", "null", "`http.transport.ssl(...)` for HTTPS."},
            {"method", "string", "\"GET\"", "HTTP method. GET answers HEAD too."},
            {"", regexp ? "regexp" : "string", nullptr, regexp ? "What the path must match; its named groups are added to the query." : "Path; a part `:name` matches anything up to a slash and is added to the query."},
            {"", std::move(handler_type), nullptr, "What to do with a request."},
        },
        .result = "unit",
        .call = call,
    };
}

const lang::RegisterBuiltin register_full{handler_builtin("harbor.http.register", "Answer HTTP requests by a function that fills in a response.", false,
    "(" + request_type + ", " + answer_type + ") -> unit", [](const BuiltinArgs& args) { return register_handler(args, false, false); })};
const lang::RegisterBuiltin register_full_regexp{handler_builtin("harbor.http.register.regexp", "The same, for every path that a regular expression matches.", true,
    "(" + request_type + ", " + answer_type + ") -> unit", [](const BuiltinArgs& args) { return register_handler(args, false, true); })};
const lang::RegisterBuiltin register_simple{handler_builtin("harbor.http.register.simple", "Answer HTTP requests by a function that returns the whole response, as `http.response` makes it. A text that is no HTTP response is sent as HTML; null sends nothing.", false,
    "(" + request_type + ") -> {string}?", [](const BuiltinArgs& args) { return register_handler(args, true, false); })};
const lang::RegisterBuiltin register_simple_regexp{handler_builtin("harbor.http.register.simple.regexp", "The same, for every path that a regular expression matches.", true,
    "(" + request_type + ") -> {string}?", [](const BuiltinArgs& args) { return register_handler(args, true, true); })};

const lang::RegisterBuiltin remove_builtin{lang::Builtin{
    .name = "harbor.remove",
    .category = "Internet",
    .doc = "Remove a handler.",
    .params = {{"port", "int", "8000", "Its port."}, {"method", "string", "\"GET\"", "Its method."}, {"", "regexp", nullptr, "The regular expression it was registered with."}},
    .result = "unit",
    .call = [](const BuiltinArgs& args) {
        std::shared_ptr<void> token;  // let go outside the lock
        std::lock_guard lock(kept().kept_mutex);
        const auto found = kept().tokens.find({port_of(args, 0), upper(args[1].as_string()), lang::to_string(args[2])});
        if (found == kept().tokens.end()) return Value::unit();
        token = std::move(found->second);
        kept().tokens.erase(found);
        return Value::unit();
    },
}};

const lang::RegisterBuiltin response_builtin{lang::Builtin{
    .name = "http.response",
    .category = "Internet",
    .doc = "A whole HTTP response, for `harbor.http.register.simple`.",
    .params = {
        {"http_version", "string", "\"1.1\"", "Version of HTTP."},
        {"status_code", "int?", "null", "Status: 200 when null."},
        {"status_message", "string?", "null", "Text of the status; the usual one when null."},
        {"headers", "[string * string]", "[]", "More headers."},
        {"content_type", "string?", "null", "Content type."},
        {"data", "{string}", "\"\"", "The body."},
    },
    .result = answer_type,
    .call = [](const BuiltinArgs& args) {
        auto answer = std::make_shared<Answer>();
        answer->http_version = args[0].as_string();
        if (!args[1].is_null()) answer->status = static_cast<int>(args[1].as_int());
        answer->reason = text_or_null(args[2]);
        answer->headers = fields_of(args[3]);
        answer->content_type = text_or_null(args[4]);
        answer->data = args[5];
        return answer_value(answer);
    },
}};

// --- Folders -----------------------------------------------------------------------------------------------------------

std::string content_type_of(const std::string& path) {
    static const std::map<std::string, std::string> types{
        {"html", "text/html; charset=utf-8"}, {"css", "text/css; charset=utf-8"}, {"js", "text/javascript; charset=utf-8"}, {"json", "application/json"},
        {"txt", "text/plain; charset=utf-8"}, {"svg", "image/svg+xml"}, {"png", "image/png"}, {"jpg", "image/jpeg"}, {"jpeg", "image/jpeg"},
        {"webp", "image/webp"}, {"ico", "image/x-icon"}, {"mp3", "audio/mpeg"}, {"ogg", "audio/ogg"}, {"opus", "audio/ogg"}, {"flac", "audio/flac"},
        {"wav", "audio/wav"}, {"aac", "audio/aac"}, {"m4a", "audio/mp4"}, {"mp4", "video/mp4"}, {"m4s", "video/iso.segment"}, {"ts", "video/mp2t"},
        {"m3u8", "application/vnd.apple.mpegurl"}, {"m3u", "audio/mpegurl"}, {"xml", "application/xml"}, {"pdf", "application/pdf"}};
    const auto dot = path.rfind('.');
    const auto found = dot == path.npos ? types.end() : types.find(path.substr(dot + 1));
    return found == types.end() ? "application/octet-stream" : found->second;
}

HttpServerResponse file_response(const std::string& folder, std::string rest) {
    const HttpServerResponse missing{404, "text/plain; charset=utf-8", "Not Found\n", {}, ""};
    while (rest.starts_with('/')) rest.erase(0, 1);
    // No part may lead out of the folder, by name; links inside it are its owner's business.
    for (std::size_t at = 0; at <= rest.size();) {
        const auto end = std::min(rest.find('/', at), rest.size());
        if (rest.substr(at, end - at) == "..") return missing;
        at = end + 1;
    }
    if (rest.find('\0') != rest.npos) return missing;
    std::string path = folder + "/" + rest;
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) return missing;
    if (S_ISDIR(info.st_mode)) {
        path += "/index.html";
        if (::stat(path.c_str(), &info) != 0) return missing;
    }
    if (!S_ISREG(info.st_mode) || static_cast<std::size_t>(info.st_size) > max_file) return missing;
    std::ifstream file(path, std::ios::binary);
    if (!file) return missing;
    HttpServerResponse response;
    response.body.assign(std::istreambuf_iterator<char>(file), {});
    response.content_type = content_type_of(path);
    return response;
}

enum : unsigned { static_transport, static_port, static_path, static_browse, static_type, static_headers, static_folder };

const lang::RegisterBuiltin static_builtin{lang::Builtin{
    .name = "harbor.http.static",
    .category = "Internet",
    .doc = "Serve the files of a folder.",
    .params = {
        {"transport", "http_transport?", "null", "`http.transport.ssl(...)` for HTTPS."},
        {"port", "int", "8000", "Port to serve on."},
        {"path", "string", "\"/\"", "Path that the folder stands for."},
        {"browse", "bool", "false", "Accepted for compatibility: folders are not listed."},
        {"content_type", "((string) -> string?)?", "null", "Content type of a file; guessed from its name when null."},
        {"headers", "[string * string]", "[]", "More headers of the answers."},
        {"", "string", nullptr, "The folder."},
    },
    .result = "unit",
    .call = [](const BuiltinArgs& args) {
        std::string prefix = args[static_path].as_string();
        if (!prefix.starts_with('/')) prefix.insert(0, "/");
        if (!prefix.ends_with('/')) prefix += '/';
        HttpRoute route;
        route.path = prefix + "*";
        const auto serve = [folder = args[static_folder].as_string(), headers = fields_of(args[static_headers]), type = args[static_type], prefix](const HttpExchangePtr& exchange) {
            scheduler().blocking([=] {
                try {
                    const std::string rest = exchange->request().path.substr(prefix.size());
                    HttpServerResponse response = file_response(folder, rest);
                    if (response.status == 200 && !type.is_null()) {
                        const Value chosen = type.call({Value::string(rest)});
                        if (!chosen.is_null()) response.content_type = chosen.as_string();
                    }
                    response.headers.insert(response.headers.end(), headers.begin(), headers.end());
                    exchange->reply(std::move(response));
                } catch (...) {
                    script::log_script_error("harbor.http.static");
                    exchange->reply({500, "text/plain; charset=utf-8", "Internal Server Error\n", {}, ""});
                }
            });
        };
        const std::string key = route.path;
        keep_route(args, static_port, static_transport, std::move(route), key, serve);
        return Value::unit();
    },
}};

}  // namespace

}  // namespace castile
