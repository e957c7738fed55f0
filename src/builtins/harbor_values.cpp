// HTTP requests and answers as values; http.response.

#include "builtins/harbor_values.h"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>

#include "base/error.h"
#include "sched/scheduler.h"

namespace castile::harbor {

using lang::BuiltinArgs;
using lang::CallArgument;
using lang::Value;

namespace {

constexpr std::size_t max_text = 256u << 20;   // of an answer that is wanted as one text

}  // namespace

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

std::string upper(std::string text) {
    for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
    return text;
}

// --- Requests ------------------------------------------------------------------------------------------------------------

const std::string& request_type() {
    static const std::string type = "{body : (?timeout : float) -> string, data : (?timeout : float) -> string, headers : [string * string], "
                                 "http_version : string, method : string, path : string, query : [string * string]}";
    return type;
}

Value request_value(const HttpServerRequest& request, const Fields& matched) {
    Fields query = matched;
    query.insert(query.end(), request.query.begin(), request.query.end());
    // The body is here already: reading it never waits, so its time-out is not looked at. `data` gives it once.
    const Value body = Value::function([text = request.body](std::span<const CallArgument>) { return Value::string(text); }, "body");
    struct Rest {
        std::mutex rest_mutex;
        std::string text;
    };
    const auto rest = std::make_shared<Rest>();
    rest->text = request.body;
    const Value data = Value::function([rest](std::span<const CallArgument>) {
        std::lock_guard lock(rest->rest_mutex);
        return Value::string(std::exchange(rest->text, {}));
    }, "data");
    return Value::unit().with_method("body", body).with_method("data", data).with_method("headers", pairs(request.headers))
        .with_method("http_version", Value::string(request.http_version)).with_method("method", Value::string(request.method))
        .with_method("path", Value::string(request.path)).with_method("query", pairs(query));
}

// --- Answers -------------------------------------------------------------------------------------------------------------

struct Answer {
    std::mutex answer_mutex;   // guards all
    std::string http_version = "1.1";
    int status = 200;
    std::optional<std::string> reason, content_type;
    Fields headers;
    Value data = Value::string("");
    bool status_sent = false;

    /// All but the body.
    HttpServerResponse head(Value& body) {
        HttpServerResponse r;
        std::lock_guard lock(answer_mutex);
        r.status = status;
        r.reason = reason.value_or("");
        r.content_type = content_type.value_or("");
        for (const auto& [name, value] : headers) {
            const std::string key = upper(name);
            if (key == "CONTENT-TYPE") r.content_type = value;
            else if (key != "CONTENT-LENGTH" && key != "TRANSFER-ENCODING" && key != "CONNECTION") r.headers.emplace_back(name, value);
        }
        body = data;
        return r;
    }
};

AnswerPtr make_answer() { return std::make_shared<Answer>(); }

namespace {

// A getter gives its text in pieces, the last of them empty.
std::string next_piece(const Value& getter) { return getter.get().as_string(); }

std::string whole_text(Answer& answer) {
    Value body;
    HttpServerResponse r = answer.head(body);
    if (body.kind() != Value::Kind::function) r.body = body.as_string();
    else for (std::string piece = next_piece(body); !piece.empty() && r.body.size() < max_text; piece = next_piece(body)) r.body += piece;
    std::string text = fmt::format("HTTP/{} {} {}\r\nContent-Length: {}\r\n", answer.http_version, r.status, r.reason.empty() ? http_reason(r.status) : r.reason, r.body.size());
    if (!r.content_type.empty()) text += fmt::format("Content-Type: {}\r\n", r.content_type);
    for (const auto& [name, value] : r.headers) text += fmt::format("{}: {}\r\n", name, value);
    return text + "\r\n" + r.body;
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

// multipart/form-data: each part's contents are asked for now.
std::string form_text(const Value& parts, const std::string& boundary) {
    std::string text;
    for (const Value& part : parts.elements()) {
        text += "--" + boundary + "\r\nContent-Disposition: form-data; name=\"" + part.find_method("name")->as_string() + "\"";
        for (const auto& [name, value] : fields_of(*part.find_method("attributes"))) text += "; " + name + "=\"" + value + "\"";
        text += "\r\n";
        for (const auto& [name, value] : fields_of(*part.find_method("headers"))) text += name + ": " + value + "\r\n";
        text += "\r\n";
        const Value contents = *part.find_method("contents");
        if (contents.kind() != Value::Kind::function) text += contents.as_string();
        else for (std::string piece = next_piece(contents); !piece.empty() && text.size() < max_text; piece = next_piece(contents)) text += piece;
        text += "\r\n";
    }
    return text + "--" + boundary + "--\r\n";
}

std::string random_boundary() {
    std::random_device random;
    return fmt::format("----castile{:08x}{:08x}", random(), random());
}

Value optional_text(const std::optional<std::string>& text) { return text ? Value::string(*text) : Value::null(); }
std::optional<std::string> text_or_null(const Value& value) { return value.is_null() ? std::nullopt : std::optional(value.as_string()); }

void set_header(Answer& a, const std::string& name, const std::string& value) {
    std::erase_if(a.headers, [&](const auto& h) { return upper(h.first) == upper(name); });
    a.headers.emplace_back(name, value);
}

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

const Value* labelled(std::span<const CallArgument> arguments, std::string_view label) {
    for (const CallArgument& a : arguments)
        if (a.label.str() == label) return &a.value;
    return nullptr;
}

void redirect(Answer& a, std::span<const CallArgument> arguments) {
    const Value* status = labelled(arguments, "status_code");
    a.status = status ? static_cast<int>(status->as_int()) : 301;
    set_header(a, "Location", labelled(arguments, "")->as_string());
}

void json(Answer& a, std::span<const CallArgument> arguments) {
    const Value* compact = labelled(arguments, "compact");
    const bool dense = !compact || compact->is_null() || compact->as_bool();
    a.content_type = "application/json; charset=utf-8";
    a.data = Value::string(to_json(*labelled(arguments, "")).dump(dense ? -1 : 2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

void multipart_form(Answer& a, std::span<const CallArgument> arguments) {
    const Value* wanted = labelled(arguments, "boundary");
    const std::string boundary = wanted && !wanted->is_null() ? wanted->as_string() : random_boundary();
    a.content_type = "multipart/form-data; boundary=" + boundary;
    a.data = Value::string(form_text(*labelled(arguments, ""), boundary));
}

// "100 Continue" and the like, ahead of the answer: to whatever has a `write`.
void send_status(const AnswerPtr& answer, const Value& socket) {
    std::string line;
    {
        std::lock_guard lock(answer->answer_mutex);
        if (std::exchange(answer->status_sent, true)) return;
        line = fmt::format("HTTP/{} {} {}\r\n\r\n", answer->http_version, answer->status, answer->reason.value_or(http_reason(answer->status)));
    }
    socket.find_method("write")->call({Value::string(std::move(line))});
}

}  // namespace

const std::string& answer_type() {
    static const std::string type = "(() -> string).{content_type : ((string?) -> unit).{current : () -> string?}, data : (({string}) -> unit).{current : () -> {string}}, "
                                "header : (string, string) -> unit, headers : (([string * string]) -> unit).{current : () -> [string * string]}, "
                                "html : ({string}) -> unit, http_version : ((string) -> unit).{current : () -> string}, json : (?compact : bool, 'a) -> unit, "
                                "multipart_form : (?boundary : string?, [{attributes : [string * string], contents : {string}, headers : [string * string], name : string}]) -> unit, "
                                "redirect : (?status_code : int, string) -> unit, send_status : ('d.{write : (string) -> unit}) -> unit, "
                                "status_code : ((int) -> unit).{current : () -> int}, "
                                "status_message : ((string?) -> unit).{current : () -> string?}, status_sent : () -> bool}";
    return type;
}

Value answer_value(const AnswerPtr& answer) {
    const auto plain = [&answer](void (*set)(Answer&, std::span<const CallArgument>)) {
        return Value::function([answer, set](std::span<const CallArgument> arguments) {
            std::lock_guard lock(answer->answer_mutex);
            set(*answer, arguments);
            return Value::unit();
        });
    };
    return Value::function([answer](std::span<const CallArgument>) { return Value::string(whole_text(*answer)); }, "response")
        .with_method("content_type", setter(answer, [](Answer& a, const Value& v) { a.content_type = text_or_null(v); }, [](const Answer& a) { return optional_text(a.content_type); }))
        .with_method("data", setter(answer, [](Answer& a, const Value& v) { a.data = v; }, [](const Answer& a) { return a.data; }))
        .with_method("headers", setter(answer, [](Answer& a, const Value& v) { a.headers = fields_of(v); }, [](const Answer& a) { return pairs(a.headers); }))
        .with_method("http_version", setter(answer, [](Answer& a, const Value& v) { a.http_version = v.as_string(); }, [](const Answer& a) { return Value::string(a.http_version); }))
        .with_method("status_code", setter(answer, [](Answer& a, const Value& v) { a.status = static_cast<int>(v.as_int()); }, [](const Answer& a) { return Value::integer(a.status); }))
        .with_method("status_message", setter(answer, [](Answer& a, const Value& v) { a.reason = text_or_null(v); }, [](const Answer& a) { return optional_text(a.reason); }))
        .with_method("header", plain([](Answer& a, std::span<const CallArgument> v) { set_header(a, v[0].value.as_string(), v[1].value.as_string()); }))
        .with_method("html", plain([](Answer& a, std::span<const CallArgument> v) {
            a.content_type = "text/html; charset=utf-8";
            a.data = v[0].value;
        }))
        .with_method("json", plain(json))
        .with_method("multipart_form", plain(multipart_form))
        .with_method("redirect", plain(redirect))
        .with_method("send_status", Value::function([answer](std::span<const CallArgument> v) {
            send_status(answer, v[0].value);
            return Value::unit();
        }))
        .with_method("status_sent", Value::function([answer](std::span<const CallArgument>) {
            std::lock_guard lock(answer->answer_mutex);
            return Value::boolean(answer->status_sent);
        }));
}

void send(const HttpExchangePtr& exchange, const AnswerPtr& answer) {
    Value body;
    HttpServerResponse r = answer->head(body);
    if (body.kind() != Value::Kind::function) {
        r.body = body.as_string();
        return exchange->reply(std::move(r));
    }
    // The first piece before the head: a getter that fails at once makes an error of the whole.
    auto first = std::make_shared<std::optional<std::string>>(next_piece(body));
    exchange->reply_pieces(std::move(r), [body, first] {
        if (*first) return *std::exchange(*first, std::nullopt);
        return next_piece(body);
    }, std::nullopt);
}

namespace {

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
    .result = answer_type(),
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

}  // namespace

}  // namespace castile::harbor
