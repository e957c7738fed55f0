// HTTP calls.

#include "base/settings.h"
#include "builtins/define.h"
#include "net/http_client.h"

namespace castile::builtins {

namespace {

Setting<bool> normalize{"http.normalize_url", true, "Write what may not stand in a URL, such as spaces, as %20 and so on?"};

Value response_value(const HttpResponse& r, bool body) {
    Value base = body ? text(r.body) : Value();
    return base.with_method("http_version", text(r.version)).with_method("status_code", integer(r.status))
        .with_method("status_message", text(r.reason)).with_method("headers", assoc(r.headers));
}

std::string url_of(const std::string& url, const Value& wanted) {
    return (wanted.is_null() ? normalize.get() : wanted.as_bool()) ? normalized_url(url) : url;
}

/// What the functions of a method differ in.
struct Verb {
    const char* name;
    bool sends, gives;   // data, a body
};
constexpr Verb get_verb{"GET", false, true}, head_verb{"HEAD", false, false}, delete_verb{"DELETE", false, false}, post_verb{"POST", true, true}, put_verb{"PUT", true, true};

/// [data,] headers, http_version, redirect, timeout, normalize_url, url[, on_body_data]
template <const Verb& V, bool Streamed> Value call(const BuiltinArgs& a) {
    const std::size_t first = V.sends ? 1 : 0;
    HttpRequest r;
    r.method = V.name;
    r.headers = to_assoc(a[first]);
    r.http_version = optional_text(a[first + 1]).value_or("");
    r.follow_redirects = a[first + 2].as_bool();
    r.timeout_seconds = a[first + 3].is_null() ? 0 : a[first + 3].as_float();
    r.url = url_of(a[first + 5].as_string(), a[first + 4]);
    r.failures_as_status = true;
    if (V.sends && a[0].kind() == Value::Kind::function) r.next_data = [data = a[0]] { return data.get().as_string(); };
    else if (V.sends) r.body = a[0].as_string();
    Value take = Streamed ? a[first + 6] : Value();
    if (Streamed) {
        r.max_bytes = std::size_t{1} << 40;
        r.on_data = [&take](std::string_view part) { take.call({text(std::string(part))}); };
    }
    auto response = http_request(r);
    if (!response) raise("http", response.error().message);
    if (Streamed) take.call({Value::null()});
    return response_value(*response, V.gives && !Streamed);
}

std::vector<BuiltinParam> params(const Verb& verb, bool streamed) {
    std::vector<BuiltinParam> all;
    if (verb.sends) all.push_back(opt("data", "{string}", "\"\"", "What to send; of a function, until it gives an empty string."));
    all.push_back(opt("headers", "[string * string]", "[]", "Headers to send."));
    all.push_back(opt("http_version", "string?", "null", "Version of the protocol: \"1.0\", \"1.1\" or \"2\"; null: what both sides know."));
    all.push_back(opt("redirect", "bool", "true", "Follow redirections?"));
    all.push_back(opt("timeout", "float?", "10.", "Seconds that it may take; null: as long as it takes."));
    all.push_back(opt("normalize_url", "bool?", "null", "Write spaces and the like as %20? Null: as `settings.http.normalize_url` says."));
    all.push_back(pos("string", "URL."));
    if (streamed) all.push_back(arg("on_body_data", "(string?) -> unit", "Takes the answer piece by piece, then null."));
    return all;
}

const std::vector<BuiltinMethod> response_methods{
    {"http_version", "string", "Version of the protocol."}, {"status_code", "int", "Status; from 520 on when there is no answer."}, {"status_message", "string", "Status in words."},
    {"headers", "[string * string]", "Headers received."},
};

constexpr const char* old = "Use the function of `http` instead: it takes https URLs too.";

template <const Verb& V> void declare(const std::string& name, const char* doc) {
    auto declaration = [&](const std::string& full, bool streamed, const char* deprecated) {
        lang::RegisterBuiltin(Builtin{full, "Internet", streamed ? std::string(doc) + " The answer comes piece by piece." : doc, params(V, streamed), V.gives && !streamed ? "string" : "unit",
                                      response_methods, deprecated, false, streamed ? call<V, true> : call<V, false>, nullptr});
    };
    declaration("http." + name, false, "");
    declaration("http." + name + ".stream", true, "");
    declaration("https." + name, false, old);
}

const bool declared = [] {
    declare<get_verb>("get", "Get a URL.");
    declare<head_verb>("head", "Get the headers of a URL.");
    declare<delete_verb>("delete", "Delete what is at a URL.");
    declare<post_verb>("post", "Post data to a URL.");
    declare<put_verb>("put", "Put data at a URL.");
    return true;
}();

Value download(const BuiltinArgs& a) {
    HttpRequest r;
    r.url = url_of(a[2].as_string(), Value::null());
    r.timeout_seconds = a[1].as_float();
    r.max_bytes = std::size_t{4} << 30;
    auto response = http_download(r, a[0].as_string());
    return boolean(response && response->status < 400);
}

const Definitions definitions("File", {
    {"file.download", "Download a URL to a file; false when it fails.",
     {arg("filename", "string", "File to write."), opt("timeout", "float", "5.", "Seconds to wait."), pos("string", "URL.")}, "bool", download},
});

const Constants constants("Internet", {
    {"http.user_agent", "What we call ourselves.", "string", [] { return text(http_user_agent()); }},
});

}  // namespace

}  // namespace castile::builtins
