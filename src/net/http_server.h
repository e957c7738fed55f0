#pragma once
// HTTP server: handlers by method and path on a port, shared by everything that wants that port.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/http_head.h"
#include "net/stream.h"

namespace castile {

struct HttpServerRequest {
    std::string method;        ///< upper case
    std::string target;        ///< as sent
    std::string path;          ///< decoded, without the query
    std::vector<std::pair<std::string, std::string>> query, headers;  ///< decoded; header names in lower case
    std::string http_version;  ///< "1.0" or "1.1"
    std::string body;
    std::string peer;          ///< numeric address
    unsigned short peer_port = 0;

    const std::string* header(std::string_view name) const noexcept;  ///< nullptr when absent; `name` in lower case
    const std::string* argument(std::string_view name) const noexcept;
    /// User and password of `Authorization: Basic`.
    std::optional<std::pair<std::string, std::string>> credentials() const;
};

struct HttpServerResponse {
    int status = 200;
    std::string content_type = "text/plain; charset=utf-8", body;
    std::vector<std::pair<std::string, std::string>> headers;
    std::string reason;  ///< empty: the status's usual one
};

/// One request and its answer.
class HttpExchange {
public:
    virtual ~HttpExchange() = default;
    virtual const HttpServerRequest& request() const noexcept = 0;
    virtual void reply(HttpServerResponse response) = 0;  ///< Once, from any thread; later calls are ignored.
    /// The head, then what `next` gives piece by piece, until it gives nothing or `length` bytes came. `next` is called on the
    /// blocking pool, once the client took what was before; when it throws, the connection is closed.
    virtual void reply_pieces(HttpServerResponse response, std::function<std::string()> next, std::optional<std::uint64_t> length) = 0;
    /// A whole answer, head included, written as it is; the connection closes after it.
    virtual void reply_raw(std::string bytes) = 0;
    /// The connection is the caller's from now on, nothing was answered yet. Only inside the handler or the stream's run().
    virtual NetStreamPtr take_stream() = 0;
    virtual NetStreamPtr stream() noexcept = 0;           ///< to come back to the strand: stream()->run(...)
};
using HttpExchangePtr = std::shared_ptr<HttpExchange>;

/// Runs on the connection's strand and must not block: long work goes to Scheduler::blocking and replies from there.
using HttpHandler = std::function<void(const HttpExchangePtr&)>;

struct HttpRoute {
    std::string method = "GET";  ///< "" = any; GET serves HEAD too
    std::string path;            ///< exact, or ending in '*': a prefix. Unused when `matches` is given.
    std::function<bool(const std::string& path)> matches;
    bool fallback = false;       ///< asked only when no other route matches (the station page)
    std::size_t max_body = 1u << 20;
};

/// Opens the port (settings.harbor.bind_addrs) when it is the first handler there. Throws Error: "port 8000 is already in
/// use", or another transport is already on it. The handler stays until the returned token is gone; with the last token
/// of a port the port closes. Any thread.
[[nodiscard]] std::shared_ptr<void> register_http(unsigned short port, const TransportPtr& transport, HttpRoute route,
                                                  HttpHandler handler);
/// Removes handlers whose route has exactly this method and path.
void remove_http(unsigned short port, const std::string& method, const std::string& path);

/// Closes every port and connection. Before the scheduler ends.
void stop_http_servers() noexcept;

/// "Not Found" for 404.
std::string http_reason(int status);

}  // namespace castile
