// Bodies and headers of HTTP: forms, content types, status codes.

#include <algorithm>
#include <cctype>
#include <deque>
#include <mutex>
#include <random>

#include "builtins/define.h"
#include "builtins/encodings.h"

namespace castile::builtins {

namespace {

std::string quoted(const std::string& s) {
    std::string out = "\"";
    for (char c : s) {
        if (c == '"' || c == '\\') out += '\\';
        if (c != '\r' && c != '\n') out += c;
    }
    return out + "\"";
}

std::string new_boundary() {
    static constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    std::random_device source;
    std::string boundary;
    for (int i = 0; i < 12; ++i) boundary += letters[source() % letters.size()];
    return boundary;
}

/// Texts and functions one after the other, as one function.
Value concatenated(std::vector<Value> parts) {
    struct Queue {
        std::mutex parts_mutex;
        std::deque<Value> parts;
    };
    auto queue = std::make_shared<Queue>();
    queue->parts.assign(parts.begin(), parts.end());
    return native([queue](std::span<const CallArgument>) {
        for (;;) {
            Value part;
            {
                std::lock_guard lock(queue->parts_mutex);
                if (queue->parts.empty()) return text("");
                part = queue->parts.front();
                if (part.kind() != Value::Kind::function) queue->parts.pop_front();
            }
            Value data = part.get();
            if (!data.as_string().empty()) return data;
            if (part.kind() != Value::Kind::function) continue;
            std::lock_guard lock(queue->parts_mutex);
            if (!queue->parts.empty()) queue->parts.pop_front();   // this function is done
        }
    });
}

Value form(const BuiltinArgs& a) {
    std::string boundary = a[0].is_null() ? new_boundary() : a[0].as_string();
    std::vector<Value> parts;
    bool constant = true;
    std::string before;
    for (const Value& entry : a[1].elements()) {
        before += "--" + boundary + "\r\nContent-Disposition: form-data; name=" + quoted(entry.find_method("name")->as_string());
        for (const auto& [name, value] : to_assoc(*entry.find_method("attributes"))) before += "; " + name + "=" + quoted(value);
        before += "\r\n";
        const Value headers = *entry.find_method("headers");
        for (const Value& header : headers.elements()) before += lang::to_string(header.elements()[0]) + ": " + lang::to_string(header.elements()[1]) + "\r\n";
        before += "\r\n";
        const Value contents = *entry.find_method("contents");
        if (contents.kind() == Value::Kind::function) {
            constant = false;
            parts.push_back(text(std::exchange(before, {})));
            parts.push_back(contents);
        } else {
            before += contents.as_string();
        }
        before += "\r\n";
    }
    before += "--" + boundary + "--\r\n";
    parts.push_back(text(std::move(before)));
    return Value::record({{"contents", constant ? parts.front() : concatenated(std::move(parts))}, {"boundary", text(boundary)}});
}

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
    while (!s.empty() && std::isspace(static_cast<unsigned char>(s.front()))) s.remove_prefix(1);
    while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back()))) s.remove_suffix(1);
    return s;
}

/// "text/html; charset=utf-8; name=\"a;b\"": what comes first, then names and values, without quotes.
std::pair<std::string, std::vector<std::pair<std::string, std::string>>> parameters(std::string_view rest) {
    auto next = [&rest] {
        bool inside = false;
        std::size_t end = 0;
        for (; end < rest.size() && (inside || rest[end] != ';'); ++end) {
            if (rest[end] == '\\' && inside && end + 1 < rest.size()) ++end;
            else if (rest[end] == '"') inside = !inside;
        }
        std::string_view part = trim(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
        return part;
    };
    std::pair<std::string, std::vector<std::pair<std::string, std::string>>> found;
    found.first = next();
    while (!rest.empty()) {
        std::string_view part = next();
        std::size_t equals = part.find('=');
        if (equals == part.npos) continue;
        std::string_view value = trim(part.substr(equals + 1));
        std::string plain;
        if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
            value = value.substr(1, value.size() - 2);
            for (std::size_t i = 0; i < value.size(); ++i) plain += value[i] == '\\' && i + 1 < value.size() ? value[++i] : value[i];
        } else {
            plain = value;
        }
        found.second.emplace_back(trim(part.substr(0, equals)), std::move(plain));
    }
    return found;
}

Value content_type(const BuiltinArgs& a) {
    auto value = header(a[0], "content-type");
    if (!value) return Value::null();
    auto [mime, args] = parameters(*value);
    return Value::record({{"mime", text(mime)}, {"args", assoc(args)}});
}

/// "UTF-8''na%C3%AFve" (RFC 5987).
std::string encoded_value(const std::string& s) {
    const std::size_t first = s.find('\''), second = first == s.npos ? s.npos : s.find('\'', first + 1);
    if (second == s.npos) return url_decode(s, false);
    std::string charset = s.substr(0, first), decoded = url_decode(s.substr(second + 1), false);
    std::ranges::transform(charset, charset.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (charset != "iso-8859-1") return decoded;
    std::string out;
    for (const unsigned char c : decoded) {
        if (c < 0x80) out += static_cast<char>(c);
        else (out += static_cast<char>(0xc0 | c >> 6)) += static_cast<char>(0x80 | (c & 0x3f));
    }
    return out;
}

Value content_disposition(const BuiltinArgs& a) {
    auto value = header(a[0], "content-disposition");
    if (!value) return Value::null();
    auto [type, args] = parameters(*value);
    std::optional<std::string> filename, name;
    std::vector<std::pair<std::string, std::string>> others;
    for (const auto& [key, v] : args) {
        if (key == "filename*") filename = encoded_value(v);
        else if (key == "filename") filename = filename ? filename : std::optional(url_decode(v, false));
        else if (key == "name") name = url_decode(v, false);
        else others.emplace_back(key, v);
    }
    Value record = Value::record({{"type", text(type)}, {"args", assoc(others)}});
    if (filename) record = record.with_method("filename", text(*filename));
    if (name) record = record.with_method("name", text(*name));
    return record;
}

constexpr std::pair<int, const char*> status_codes[] = {
    {100, "Continue"}, {101, "Switching Protocols"}, {102, "Processing"}, {103, "Early Hints"}, {122, "Request-URI too long"},
    {200, "OK"}, {201, "Created"}, {202, "Accepted"}, {203, "Non-Authoritative Information"}, {204, "No Content"}, {205, "Reset Content"}, {206, "Partial Content"},
    {207, "Multi-Status"}, {226, "IM Used"},
    {300, "Multiple Choices"}, {301, "Moved Permanently"}, {302, "Found"}, {303, "See Other"}, {304, "Not Modified"}, {305, "Use Proxy"}, {306, "Switch Proxy"},
    {307, "Temporary Redirect"}, {308, "Permanent Redirect"},
    {400, "Bad Request"}, {401, "Unauthorized"}, {402, "Payment Required"}, {403, "Forbidden"}, {404, "Not Found"}, {405, "Method Not Allowed"}, {406, "Not Acceptable"},
    {407, "Proxy Authentication Required"}, {408, "Request Timeout"}, {409, "Conflict"}, {410, "Gone"}, {411, "Length Required"}, {412, "Precondition Failed"},
    {413, "Request Entity Too Large"}, {414, "Request-URI Too Long"}, {415, "Unsupported Media Type"}, {416, "Requested Range Not Satisfiable"}, {417, "Expectation Failed"},
    {418, "I'm a teapot"}, {421, "Misdirected Request"}, {422, "Unprocessable Entity"}, {423, "Locked"}, {424, "Failed Dependency"}, {425, "Unordered Collection"},
    {426, "Upgrade Required"}, {428, "Precondition Required"}, {429, "Too Many Requests"}, {431, "Request Header Fields Too Large"}, {444, "No Response"},
    {449, "Retry With"}, {450, "Blocked by Windows Parental Controls"}, {451, "Unavailable For Legal Reasons"}, {499, "Client Closed Request"},
    {500, "Internal Server Error"}, {501, "Not Implemented"}, {502, "Bad Gateway"}, {503, "Service Unavailable"}, {504, "Gateway Timeout"}, {505, "HTTP Version Not Supported"},
    {506, "Variant Also Negotiates"}, {507, "Insufficient Storage"}, {509, "Bandwidth Limit Exceeded"}, {510, "Not Extended"}, {511, "Network Authentication Required"},
    {520, "Operation aborted"}, {522, "Connection timed out"}, {523, "Origin is unreachable"}, {525, "SSL handshake failed"}, {526, "Invalid SSL certificate"},
};

const Definitions definitions("Internet", {
    {"http.multipart_form_data", "The parts of a form as the body of a multipart/form-data request.",
     {opt("boundary", "string?", "null", "What separates the parts; null: one is made up."), pos("[{attributes : [string * string], contents : {string}, headers : ['a * 'b], name : string}]", "The parts.")},
     "unit", form, {{"contents", "{string}", "The body."}, {"boundary", "string", "What separates the parts."}}},
    {"http.headers.content_type", "The MIME type among headers, with its arguments.", {pos("[string * string?]")}, "{mime : string, args : [string * string]}?", content_type},
    {"http.headers.content_disposition", "What headers say of where a body belongs: its name in a form, the name of its file.", {pos("[string * string]")},
     "{type : string, filename? : string, name? : string, args : [string * string?]}?", content_disposition},
});

const Constants constants("Interaction", {
    {"http.codes", "Status codes of HTTP and what they are called.", "[int * string]", [] {
        std::vector<Value> all;
        for (const auto& [code, name] : status_codes) all.push_back(pair(integer(code), text(name)));
        return Value::list(std::move(all)); }},
});

}  // namespace

}  // namespace castile::builtins
