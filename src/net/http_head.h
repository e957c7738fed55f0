#pragma once
// Reading HTTP requests, bounded: 16 KiB of head, a body limit, no trust in any byte. Also URL and base64 text.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"

namespace castile {

struct HttpServerRequest;

inline constexpr std::size_t max_http_head = 16u << 10;

/// One request, fed as bytes arrive.
class HttpRequestReader {
public:
    HttpRequestReader();
    HttpRequestReader(HttpRequestReader&&) noexcept;
    HttpRequestReader& operator=(HttpRequestReader&&) noexcept;
    ~HttpRequestReader();
    enum class Status { more, head_done, done, failed };
    /// Takes what it can from `data`; `used` says how much. head_done is told once, before the body is read: call
    /// `limit_body`, then feed again. After done, the rest of `data` belongs to the next request.
    Status feed(ByteSpan data, std::size_t& used);
    void limit_body(std::size_t bytes);
    int error_status() const noexcept;             ///< 400, 413, 431, 505: what to answer when feed() failed
    bool keep_alive() const noexcept;
    bool begun() const noexcept;                   ///< A byte of the request has come.
    void fill(HttpServerRequest& request) const;   ///< After head_done; the body after done.

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// The head of an answer ("HTTP/1.0 200 OK\r\n..."), for clients that speak on a raw stream.
struct HttpStatusLine {
    int status = 0;
    std::string reason;
    std::size_t length = 0;  ///< bytes of the head, blank line included
};
/// nullopt: more bytes are needed. status 0: this is not HTTP, or the head is larger than max_http_head.
std::optional<HttpStatusLine> parse_http_answer(std::string_view bytes);

std::string url_decode(std::string_view text, bool plus_is_space);
std::string url_encode(std::string_view text);   ///< everything but unreserved characters
std::vector<std::pair<std::string, std::string>> parse_query(std::string_view text);
std::optional<std::string> base64_decode(std::string_view text);
std::string base64_encode(std::string_view bytes);

}  // namespace castile
