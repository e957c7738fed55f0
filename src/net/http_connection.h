#pragma once
// One connection of the HTTP server: a small state machine on its stream's strand.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "net/http_routes.h"
#include "net/stream_impl.h"

namespace castile {

extern const Logger harbor_logger;
/// settings.harbor.timeout: without progress for so long, a connection is closed.
Duration http_io_timeout();

class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
public:
    /// With the last owner of `routes` gone, the next request closes the connection. `tls`: nullptr for plain.
    HttpConnection(std::weak_ptr<HttpRoutes> routes, std::shared_ptr<TlsContext> tls, std::shared_ptr<SocketStream> stream)
        : routes_(std::move(routes)), tls_(std::move(tls)), stream_(std::move(stream)) {}

    void start();
    void end();  ///< Any thread: closes when idle, after the answer otherwise.

    /// What follows a head in pieces.
    struct Body {
        std::function<std::string()> next;
        std::optional<std::uint64_t> left;   ///< bytes to come; nullopt: until an empty piece
        bool chunked = false;
    };
    // For the exchange; any thread.
    void send(std::string bytes, bool keep_alive);
    void send(std::string head, bool keep_alive, Body body);  ///< The same, and behind it a body in pieces.
    const std::shared_ptr<SocketStream>& stream() const noexcept { return stream_; }
    bool wants_keep_alive() const noexcept { return client_keeps_alive_; }

private:
    void receive();
    bool head();
    void refuse(int status);
    void handle();
    void transmit();
    void fetch_piece();
    void take_piece(std::optional<std::string> piece);
    void drain();

    const std::weak_ptr<HttpRoutes> routes_;
    const std::shared_ptr<TlsContext> tls_;
    const std::shared_ptr<SocketStream> stream_;
    HttpRequestReader reader_;
    HttpServerRequest request_;
    RoutePtr route_;
    std::string allow_, out_;
    std::unique_ptr<Body> body_;
    std::vector<std::uint8_t> in_;
    std::size_t written_ = 0;
    int served_ = 0;
    bool keep_alive_ = false, client_keeps_alive_ = false;
};

}  // namespace castile
