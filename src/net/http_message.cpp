// Requests and answers as values: what a header says, what a status is called.

#include <algorithm>

#include "net/http_client.h"
#include "net/http_server.h"

namespace castile {

namespace {

const std::string* find_pair(const std::vector<std::pair<std::string, std::string>>& list, std::string_view name) noexcept {
    const auto found = std::ranges::find_if(list, [name](const auto& entry) { return entry.first == name; });
    return found == list.end() ? nullptr : &found->second;
}

}  // namespace

const std::string* HttpServerRequest::header(std::string_view name) const noexcept { return find_pair(headers, name); }
const std::string* HttpServerRequest::argument(std::string_view name) const noexcept { return find_pair(query, name); }

std::optional<std::pair<std::string, std::string>> HttpServerRequest::credentials() const {
    const auto* value = header("authorization");
    if (!value || value->size() < 6 || (value->substr(0, 6) != "Basic " && value->substr(0, 6) != "basic ")) return std::nullopt;
    const auto decoded = base64_decode(std::string_view(*value).substr(6));
    if (!decoded) return std::nullopt;
    const auto colon = decoded->find(':');
    if (colon == decoded->npos) return std::nullopt;
    return std::pair{decoded->substr(0, colon), decoded->substr(colon + 1)};
}

std::string http_reason(int status) {
    switch (status) {
        case 100: return "Continue";
        case 200: return "OK";
        case 201: return "Created";
        case 204: return "No Content";
        case 301: return "Moved Permanently";
        case 302: return "Found";
        case 303: return "See Other";
        case 304: return "Not Modified";
        case 307: return "Temporary Redirect";
        case 308: return "Permanent Redirect";
        case 400: return "Bad Request";
        case 401: return "Unauthorized";
        case 403: return "Forbidden";
        case 404: return "Not Found";
        case 405: return "Method Not Allowed";
        case 408: return "Request Timeout";
        case 409: return "Conflict";
        case 413: return "Payload Too Large";
        case 415: return "Unsupported Media Type";
        case 429: return "Too Many Requests";
        case 431: return "Request Header Fields Too Large";
        case 500: return "Internal Server Error";
        case 501: return "Not Implemented";
        case 503: return "Service Unavailable";
        case 505: return "HTTP Version Not Supported";
        default: return status < 400 ? "OK" : "Error";
    }
}

}  // namespace castile
