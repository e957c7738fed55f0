// HTTP calls.

#include <fmt/format.h>

#include "builtins/define.h"
#include "builtins/encodings.h"
#include "net/http_client.h"

namespace castile::builtins {

namespace {

constexpr double default_timeout = 10;   // seconds

std::string contents(const Value& getter) {
    if (getter.kind() != Value::Kind::function) return getter.as_string();
    std::string all;
    for (;;) {
        std::string part = getter.get().as_string();
        if (part.empty()) return all;
        all += part;
    }
}

Value response_value(const HttpResponse& r, bool body) {
    Value base = body ? text(r.body) : Value();
    return base.with_method("http_version", text("1.1")).with_method("status_code", integer(r.status))
        .with_method("status_message", text(r.reason)).with_method("headers", assoc(r.headers));
}

/// headers, http_version, redirect, timeout, normalize_url, url: the parameters all methods share, from `first` on.
HttpRequest request(const char* method, const BuiltinArgs& a, std::size_t first) {
    HttpRequest r;
    r.method = method;
    r.headers = to_assoc(a[first]);
    r.follow_redirects = a[first + 2].as_bool();
    r.timeout_seconds = a[first + 3].is_null() ? default_timeout : a[first + 3].as_float();
    r.url = a[first + 5].as_string();
    return r;
}

Value perform(const HttpRequest& r, bool body) {
    auto response = http_request(r);
    if (!response) raise("http", response.error().message);
    return response_value(*response, body);
}

template <const char* const& Method> Value without_data(const BuiltinArgs& a) { return perform(request(Method, a, 0), std::string_view(Method) == "GET"); }
template <const char* const& Method> Value with_data(const BuiltinArgs& a) {
    HttpRequest r = request(Method, a, 1);
    r.body = contents(a[0]);
    return perform(r, true);
}

constexpr const char* get_method = "GET";
constexpr const char* head_method = "HEAD";
constexpr const char* delete_method = "DELETE";
constexpr const char* post_method = "POST";
constexpr const char* put_method = "PUT";

const std::vector<BuiltinParam> shared{
    opt("headers", "[string * string]", "[]", "Headers to send."), opt("http_version", "string?", "null", "Kept for compatibility."),
    opt("redirect", "bool", "true", "Follow redirections?"), opt("timeout", "float?", "null", "Seconds to wait; null: the default."),
    opt("normalize_url", "bool?", "null", "Kept for compatibility."), pos("string", "URL."),
};
std::vector<BuiltinParam> and_data() {
    std::vector<BuiltinParam> params{opt("data", "{string}", "\"\"", "What to send; of a function, until it gives an empty string.")};
    params.insert(params.end(), shared.begin(), shared.end());
    return params;
}
const std::vector<BuiltinMethod> response_methods{
    {"http_version", "string", "Version of the protocol."}, {"status_code", "int", "Status."}, {"status_message", "string", "Status in words."},
    {"headers", "[string * string]", "Headers received."},
};

std::optional<std::string> header(const Value& headers, std::string_view name) {
    for (const Value& e : headers.elements()) {
        const Value& value = e.elements()[1];
        const std::string& key = e.elements()[0].as_string();
        bool same = key.size() == name.size() && std::equal(key.begin(), key.end(), name.begin(), [](char x, char y) { return std::tolower(static_cast<unsigned char>(x)) == y; });
        if (same && !value.is_null()) return value.as_string();
    }
    return std::nullopt;
}

std::string_view trim(std::string_view s) {
    while (s.starts_with(' ')) s.remove_prefix(1);
    while (s.ends_with(' ')) s.remove_suffix(1);
    return s;
}

/// "text/html; charset=utf-8"
Value content_type(const BuiltinArgs& a) {
    auto value = header(a[0], "content-type");
    if (!value) return Value::null();
    std::string_view rest = *value;
    auto next = [&rest] {
        std::size_t end = std::min(rest.find(';'), rest.size());
        std::string_view part = trim(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
        return part;
    };
    std::string mime(next());
    std::vector<std::pair<std::string, std::string>> args;
    while (!rest.empty()) {
        std::string_view part = next();
        std::size_t equals = part.find('=');
        if (equals != part.npos) args.emplace_back(part.substr(0, equals), part.substr(equals + 1));
    }
    return Value::record({{"mime", text(mime)}, {"args", assoc(args)}});
}

Value download(const BuiltinArgs& a) {
    HttpRequest r;
    r.url = a[2].as_string();
    r.timeout_seconds = a[1].as_float();
    r.max_bytes = std::size_t{4} << 30;
    auto response = http_download(r, a[0].as_string());
    return boolean(response && response->status >= 200 && response->status < 300);
}

constexpr const char* old = "Use the function of `http` instead: it takes https URLs too.";

const Definitions definitions("Internet", {
    {"http.get", "Get a URL.", shared, "string", without_data<get_method>, response_methods},
    {"http.head", "Get the headers of a URL.", shared, "unit", without_data<head_method>, response_methods},
    {"http.delete", "Delete what is at a URL.", shared, "unit", without_data<delete_method>, response_methods},
    {"http.post", "Post data to a URL.", and_data(), "string", with_data<post_method>, response_methods},
    {"http.put", "Put data at a URL.", and_data(), "string", with_data<put_method>, response_methods},
    {"https.get", "Get a URL.", shared, "string", without_data<get_method>, response_methods, old},
    {"https.head", "Get the headers of a URL.", shared, "unit", without_data<head_method>, response_methods, old},
    {"https.delete", "Delete what is at a URL.", shared, "unit", without_data<delete_method>, response_methods, old},
    {"https.post", "Post data to a URL.", and_data(), "string", with_data<post_method>, response_methods, old},
    {"https.put", "Put data at a URL.", and_data(), "string", with_data<put_method>, response_methods, old},
    {"http.headers.content_type", "The MIME type among headers, with its arguments.", {pos("[string * string?]")}, "{mime : string, args : [string * string]}?", content_type},
    {"file.download", "Download a URL to a file; false when it fails.",
     {arg("filename", "string", "File to write."), opt("timeout", "float", "5.", "Seconds to wait."), pos("string", "URL.")}, "bool", download},
});

const Constants constants("Internet", {
    {"http.user_agent", "What we call ourselves.", "string", [] { return text(http_user_agent()); }},
});

}  // namespace

}  // namespace castile::builtins
