#pragma once
// HTTP client (libcurl): blocking calls for the blocking pool.

#include <expected>
#include <functional>
#include <string>
#include <string_view>
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
    std::string http_version;            ///< "1.0", "1.1", "2"; empty: what the server likes
    std::function<std::string()> next_data;            ///< gives the body piece by piece, then ""; in place of `body`
    std::function<void(std::string_view)> on_data;     ///< takes the answer's body; that of the response stays empty
    bool failures_as_status = false;     ///< a network failure is a response too, with a status from 520 on
};
struct HttpResponse {
    int status = 0;
    std::string version, reason, body, final_url;
    std::vector<std::pair<std::string, std::string>> headers;   ///< names lower-case
};

/// "Castile/VERSION": what we call ourselves.
const std::string& http_user_agent();

/// What may not stand in a URL, such as spaces, as %20 and so on.
std::string normalized_url(const std::string& url);

/// Any http or https URL; redirects stay within these. What `next_data` and `on_data` throw comes through. Any status is a response: the caller judges it.
std::expected<HttpResponse, Failure> http_request(const HttpRequest& request);
/// Downloads to `path` (created); returns the response without its body. `max_bytes` bounds the file.
std::expected<HttpResponse, Failure> http_download(const HttpRequest& request, const std::string& path);

}  // namespace castile
