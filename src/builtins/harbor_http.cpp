// harbor.http.*: HTTP handlers written in the script.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "base/error.h"
#include "builtins/harbor_values.h"
#include "builtins/regexp.h"
#include "sched/scheduler.h"
#include "script/args.h"
#include "script/transport.h"

namespace castile::harbor {

using lang::BuiltinArgs;
using lang::CallArgument;
using lang::Value;

namespace {

constexpr std::size_t max_body = 16u << 20;

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

}  // namespace

void keep_route(const BuiltinArgs& args, unsigned port_index, unsigned transport_index, HttpRoute route, const std::string& key, HttpHandler handler) {
    const unsigned short port = port_of(args, port_index);
    const std::string method = route.method;
    route.max_body = max_body;
    try {
        auto token = register_http(port, script::transport_from_value(args[transport_index]), std::move(route), std::move(handler));
        std::lock_guard lock(kept().kept_mutex);
        std::swap(kept().tokens[{port, method, key}], token);   // the former one goes outside the lock
    } catch (const Error& error) {
        script::throw_invalid(args.call_site(), "harbor.http", error.what());
    }
}

namespace {

// --- Middleware ----------------------------------------------------------------------------------------------------------

struct Middleware {
    std::mutex middleware_mutex;
    std::vector<Value> functions;   // in the order of their registration
};
Middleware& middleware() {
    static auto* middleware = new Middleware;
    return *middleware;
}

using Chain = std::shared_ptr<const std::vector<Value>>;

// Each gets what comes next as a function: it may answer itself, or go on with a request and an answer of its choice.
void run_chain(const Chain& chain, std::size_t at, const Value& request, const Value& answer) {
    const Value& function = (*chain)[at];
    if (at + 1 == chain->size()) {
        function.call({request, answer});
        return;
    }
    function.call({request, answer, Value::function([chain, at](std::span<const CallArgument> arguments) {
                       run_chain(chain, at + 1, arguments[0].value, arguments[1].value);
                       return Value::unit();
                   }, "next")});
}

void run_handler(const Value& handler, const Value& request, const Value& answer) {
    auto chain = std::make_shared<std::vector<Value>>();
    {
        std::lock_guard lock(middleware().middleware_mutex);
        *chain = middleware().functions;
    }
    chain->push_back(handler);
    run_chain(chain, 0, request, answer);
}

// --- Paths -------------------------------------------------------------------------------------------------------------

using Matcher = std::function<std::optional<Fields>(const std::string& path)>;

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

// "/users/:id" as "^/users/(?<id>[^/]+)$".
std::string pattern_of_path(const std::string& path) {
    const auto word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
    std::string pattern = "^";
    for (std::size_t i = 0; i < path.size();) {
        std::size_t end = i + 1;
        while (path[i] == ':' && end < path.size() && word(path[end])) ++end;
        if (end == i + 1) pattern += path[i];
        else pattern += "(?<" + path.substr(i + 1, end - i - 1) + ">[^/]+)";
        i = end;
    }
    return pattern + "$";
}

// Paths may be regular expressions too; plain ones, nearly all, need none.
Matcher path_matcher(const std::string& path) {
    if (path.find_first_of("*+?()[]{}|^$\\") != path.npos) return regexp_matcher(builtins::make_regexp(pattern_of_path(path)));
    return [path](const std::string& asked) { return match_path(path, asked); };
}

// --- Handlers ------------------------------------------------------------------------------------------------------------

// Runs the script's function off the network's threads: it may ask other services.
HttpHandler script_handler(Value function, Matcher matcher, bool simple) {
    return [function = std::move(function), matcher = std::move(matcher), simple](const HttpExchangePtr& exchange) {
        scheduler().blocking([=] {
            try {
                const Value request = request_value(exchange->request(), matcher(exchange->request().path).value_or(Fields{}));
                if (!simple) {
                    const AnswerPtr answer = make_answer();
                    run_handler(function, request, answer_value(answer));
                    return send(exchange, answer);
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
    // One key for a path and for the regular expression that it stands for: harbor.remove takes the latter.
    const std::string key = lang::to_string(regexp ? args[where] : builtins::make_regexp(pattern_of_path(args[where].as_string())));
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
    "(" + request_type() + ", " + answer_type() + ") -> unit", [](const BuiltinArgs& args) { return register_handler(args, false, false); })};
const lang::RegisterBuiltin register_full_regexp{handler_builtin("harbor.http.register.regexp", "The same, for every path that a regular expression matches.", true,
    "(" + request_type() + ", " + answer_type() + ") -> unit", [](const BuiltinArgs& args) { return register_handler(args, false, true); })};
const lang::RegisterBuiltin register_simple{handler_builtin("harbor.http.register.simple", "Answer HTTP requests by a function that returns the whole response, as `http.response` makes it. A text that is no HTTP response is sent as HTML; null sends nothing.", false,
    "(" + request_type() + ") -> {string}?", [](const BuiltinArgs& args) { return register_handler(args, true, false); })};
const lang::RegisterBuiltin register_simple_regexp{handler_builtin("harbor.http.register.simple.regexp", "The same, for every path that a regular expression matches.", true,
    "(" + request_type() + ") -> {string}?", [](const BuiltinArgs& args) { return register_handler(args, true, true); })};

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

const lang::RegisterBuiltin middleware_register{lang::Builtin{
    .name = "harbor.http.middleware.register",
    .category = "Internet",
    .doc = "Put a function before every handler of `harbor.http.register`: it gets the request, the response, and what comes next. "
           "It calls that, or fills in the response itself. Functions registered first come first.",
    .params = {{"", "('a, 'b, (('a, 'b) -> 'c)) -> 'c", nullptr, "The function."}},
    .result = "unit",
    .call = [](const BuiltinArgs& args) {
        std::lock_guard lock(middleware().middleware_mutex);
        middleware().functions.push_back(args[0]);
        return Value::unit();
    },
}};

const lang::RegisterBuiltin middleware_builtin{lang::Builtin{
    .name = "harbor.http.middleware",
    .category = "Uncategorized",
    .doc = "A function for `harbor.http.middleware.register` that does nothing but go on.",
    .result = "('a, 'b, (('a, 'b) -> 'c)) -> 'c",
    .call = [](const BuiltinArgs&) {
        return Value::function([](std::span<const CallArgument> a) { return a[2].value.call({a[0].value, a[1].value}); });
    },
}};

const lang::RegisterBuiltin regexp_of_path{lang::Builtin{
    .name = "harbor.http.regexp_of_path",
    .category = "Uncategorized",
    .doc = "The regular expression that a path with parts like `:name` stands for.",
    .params = {{"", "string", nullptr, "The path."}},
    .result = "regexp",
    .call = [](const BuiltinArgs& args) { return builtins::make_regexp(pattern_of_path(args[0].as_string())); },
}};

}  // namespace

}  // namespace castile::harbor
