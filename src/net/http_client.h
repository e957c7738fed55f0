#pragma once
// HTTP client (libcurl): blocking calls for the blocking pool.

#include <expected>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace castile {

struct HttpRequest {
    std::string method = "GET", url, body;
    std::vector<std::pair<std::string, std::string>> headers;
    double timeout_seconds = 10;
    bool follow_redirects = true;
    std::string ca_file;                 ///< further authorities to trust; empty: the system's alone
    std::size_t max_bytes = 64u << 20;   ///< a larger body is an error
};
struct HttpResponse {
    int status = 0;
    std::string reason, body, final_url;
    std::vector<std::pair<std::string, std::string>> headers;   ///< names lower-case
};

/// "Castile/VERSION": what we call ourselves.
const std::string& http_user_agent();

/// Any http or https URL; redirects stay within these. Any status is a response: the caller judges it.
std::expected<HttpResponse, Failure> http_request(const HttpRequest& request);
/// Downloads to `path` (created); returns the response without its body. `max_bytes` bounds the file.
std::expected<HttpResponse, Failure> http_download(const HttpRequest& request, const std::string& path);

}  // namespace castile
