// Requests in, answers out.

#include "net/http_connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "base/settings.h"
#include "net/http_client.h"
#include "sched/scheduler.h"

namespace castile {

const Logger harbor_logger("harbor");

namespace {

using std::chrono::seconds;

Setting<double> accept_timeout{"harbor.accept_timeout", 3.0, "Seconds within which a new connection shakes hands and sends its request's head."};
Setting<double> io_timeout{"harbor.timeout", 120.0, "Seconds without progress after which a connection is closed."};
Setting<bool> verbose{"harbor.verbose", false, "Log each request at level 4."};

constexpr auto idle_timeout = seconds(15), linger_timeout = seconds(2);
constexpr int requests_per_connection = 1000;

Duration setting_duration(const Setting<double>& setting) {
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(std::clamp(setting.get(), 0.1, 86400.0)));
}

class Exchange final : public HttpExchange {
public:
    Exchange(std::shared_ptr<HttpConnection> connection, HttpServerRequest request) : connection_(std::move(connection)), request_(std::move(request)) {}
    ~Exchange() override {
        if (!answered_.exchange(true)) send(std::move(connection_), request_, {500, "text/plain; charset=utf-8", "The handler gave no answer.\n", {}, ""});
    }
    const HttpServerRequest& request() const noexcept override { return request_; }
    void reply(HttpServerResponse response) override {
        if (!answered_.exchange(true)) send(connection_, request_, std::move(response));
    }
    void reply_raw(std::string bytes) override;
    void reply_pieces(HttpServerResponse response, std::function<std::string()> next, std::optional<std::uint64_t> length) override;
    NetStreamPtr take_stream() override;
    NetStreamPtr stream() noexcept override;

private:
    static void send(std::shared_ptr<HttpConnection> connection, const HttpServerRequest& request, HttpServerResponse response);
    std::shared_ptr<HttpConnection> connection_;
    HttpServerRequest request_;
    std::atomic<bool> answered_ = false;
};

/// Without the blank line.
std::string head_of(const HttpServerResponse& response, bool keep_alive) {
    std::string head = fmt::format("HTTP/1.1 {} {}\r\nServer: {}\r\nConnection: {}\r\n", response.status,
                                   response.reason.empty() ? http_reason(response.status) : response.reason, http_user_agent(),
                                   keep_alive ? "keep-alive" : "close");
    if (!response.content_type.empty()) head += fmt::format("Content-Type: {}\r\n", response.content_type);
    for (const auto& [name, value] : response.headers) {
        if (name.find_first_of("\r\n:") == name.npos && value.find_first_of("\r\n") == value.npos) head += fmt::format("{}: {}\r\n", name, value);
    }
    return head;
}

bool has_no_body(int status) noexcept { return status == 204 || status == 304 || status < 200; }

void Exchange::send(std::shared_ptr<HttpConnection> connection, const HttpServerRequest& request, HttpServerResponse response) {
    const bool keep_alive = connection->wants_keep_alive(), no_body = has_no_body(response.status);
    std::string bytes = head_of(response, keep_alive);
    if (!no_body) bytes += fmt::format("Content-Length: {}\r\n", response.body.size());
    bytes += "\r\n";
    if (!no_body && request.method != "HEAD") bytes += response.body;
    connection->send(std::move(bytes), keep_alive);
}

void Exchange::reply_pieces(HttpServerResponse response, std::function<std::string()> next, std::optional<std::uint64_t> length) {
    if (answered_.exchange(true)) return;
    const bool chunked = !length && request_.http_version == "1.1";
    const bool keep_alive = connection_->wants_keep_alive() && (length || chunked);
    std::string head = head_of(response, keep_alive);
    if (has_no_body(response.status)) return connection_->send(head + "\r\n", keep_alive);
    if (length) head += fmt::format("Content-Length: {}\r\n", *length);
    else if (chunked) head += "Transfer-Encoding: chunked\r\n";
    head += "\r\n";
    if (request_.method == "HEAD" || length == 0u) return connection_->send(std::move(head), keep_alive);
    connection_->send(std::move(head), keep_alive, {std::move(next), length, chunked});
}

void Exchange::reply_raw(std::string bytes) {
    if (!answered_.exchange(true)) connection_->send(std::move(bytes), false);
}

NetStreamPtr Exchange::take_stream() {
    if (answered_.exchange(true)) return nullptr;
    return connection_->stream();
}

NetStreamPtr Exchange::stream() noexcept { return connection_->stream(); }

}  // namespace

Duration http_io_timeout() { return setting_duration(io_timeout); }

void HttpConnection::start() {
    stream_->after(setting_duration(accept_timeout), [self = shared_from_this()] { self->stream_->close(); });
    if (!tls_) return receive();
    stream_->start_tls(*tls_, "");
    stream_->handshake([self = shared_from_this()](bool ok) {
        if (ok) return self->receive();
        harbor_logger.info("TLS handshake with {} failed: {}.", self->stream_->peer(), self->stream_->error());
        self->stream_->close();
    });
}

void HttpConnection::send(std::string bytes, bool keep_alive) {
    stream_->run([self = shared_from_this(), bytes = std::move(bytes), keep_alive]() mutable {
        self->out_ = std::move(bytes);
        self->written_ = 0;
        self->keep_alive_ = keep_alive && self->served_ < requests_per_connection;
        self->transmit();
    });
}

void HttpConnection::end() {
    stream_->run([self = shared_from_this()] {
        self->served_ = requests_per_connection;
        if (self->out_.empty() && !self->body_ && !self->reader_.begun()) self->stream_->close();
    });
}

void HttpConnection::send(std::string head, bool keep_alive, Body body) {
    stream_->run([self = shared_from_this(), head = std::move(head), keep_alive, body = std::move(body)]() mutable {
        self->body_ = std::make_unique<Body>(std::move(body));
        self->send(std::move(head), keep_alive);
    });
}

void HttpConnection::receive() {
    for (;;) {
        std::size_t used = 0;
        const auto status = reader_.feed({in_.data(), in_.size()}, used);
        in_.erase(in_.begin(), in_.begin() + static_cast<std::ptrdiff_t>(used));
        switch (status) {
            case HttpRequestReader::Status::head_done:
                if (!head()) return;
                continue;
            case HttpRequestReader::Status::done: return handle();
            case HttpRequestReader::Status::failed: return refuse(reader_.error_status());
            case HttpRequestReader::Status::more: break;
        }
        std::uint8_t block[4096];
        const auto result = stream_->read(block);
        if (result.state == NetStream::State::again) {
            return stream_->wait_readable([self = shared_from_this()] { self->receive(); });
        }
        if (result.state != NetStream::State::ok) return stream_->close();
        if (!reader_.begun()) stream_->after(setting_duration(accept_timeout), [self = shared_from_this()] { self->stream_->close(); });
        in_.insert(in_.end(), block, block + result.bytes);
    }
}

bool HttpConnection::head() {
    reader_.fill(request_);
    const auto routes = routes_.lock();
    if (!routes) return stream_->close(), false;
    route_ = routes->find(request_.method, request_.path, allow_);
    reader_.limit_body(route_ ? route_->rule.max_body : 64u << 10);
    if (const auto* expect = request_.header("expect"); expect && expect->starts_with("100")) {
        constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
        stream_->write({reinterpret_cast<const std::uint8_t*>(go_on.data()), go_on.size()});
    }
    stream_->after(http_io_timeout(), [self = shared_from_this()] { self->stream_->close(); });  // for the body
    return true;
}

void HttpConnection::refuse(int status) {
    client_keeps_alive_ = false;
    Exchange(shared_from_this(), {}).reply({status, "text/plain; charset=utf-8", http_reason(status) + "\n", {}, ""});
}

void HttpConnection::handle() {
    ++served_;
    client_keeps_alive_ = reader_.keep_alive();
    reader_.fill(request_);
    request_.peer = stream_->peer();
    request_.peer_port = stream_->peer_port();
    stream_->cancel_timer();
    if (verbose.get()) harbor_logger.info("{} {} from {}", request_.method, request_.target, request_.peer);
    const auto route = std::move(route_);
    const auto allow = std::exchange(allow_, {});
    auto exchange = std::make_shared<Exchange>(shared_from_this(), std::exchange(request_, {}));
    reader_ = HttpRequestReader();
    if (!route && !allow.empty() && exchange->request().method == "OPTIONS") {
        return exchange->reply({204, "", "", {{"Allow", allow + ", HEAD, OPTIONS"}, {"Access-Control-Allow-Origin", "*"},
                                              {"Access-Control-Allow-Methods", allow + ", HEAD, OPTIONS"},
                                              {"Access-Control-Allow-Headers", "Icy-MetaData, Range, Content-Type, Authorization"}}, ""});
    }
    if (!route && !allow.empty()) return exchange->reply({405, "text/plain; charset=utf-8", "Method Not Allowed\n", {{"Allow", allow}}, ""});
    if (!route) return exchange->reply({404, "text/plain; charset=utf-8", "Not Found\n", {}, ""});
    try {
        route->handler(exchange);
    } catch (const std::exception& error) {
        harbor_logger.severe("The handler of {} failed: {}", exchange->request().path, error.what());
        exchange->reply({500, "text/plain; charset=utf-8", "Internal Server Error\n", {}, ""});
    }
}

void HttpConnection::transmit() {
    while (written_ < out_.size()) {
        const auto result = stream_->write({reinterpret_cast<const std::uint8_t*>(out_.data()) + written_, out_.size() - written_});
        if (result.state == NetStream::State::again) {
            stream_->after(http_io_timeout(), [self = shared_from_this()] { self->stream_->close(); });
            return stream_->wait_writable([self = shared_from_this()] { self->transmit(); });
        }
        if (result.state != NetStream::State::ok) return stream_->close();
        written_ += result.bytes;
    }
    out_ = {};
    if (body_) return fetch_piece();
    if (keep_alive_) {
        stream_->after(idle_timeout, [self = shared_from_this()] { self->stream_->close(); });
        return receive();
    }
    // Closing at once could reset the connection under the answer's last bytes: let the peer close first.
    stream_->shutdown_write();
    stream_->after(linger_timeout, [self = shared_from_this()] { self->stream_->close(); });
    drain();
}

// The next piece is made when the client took the last one: a slow client holds one piece.
void HttpConnection::fetch_piece() {
    stream_->cancel_timer();
    scheduler().blocking([self = shared_from_this(), next = body_->next] {
        std::optional<std::string> piece;
        try {
            piece = next();
        } catch (const std::exception& error) {
            harbor_logger.severe("An answer to {} broke off: {}", self->stream_->peer(), error.what());
        }
        self->stream_->run([self, piece = std::move(piece)]() mutable { self->take_piece(std::move(piece)); });
    });
}

void HttpConnection::take_piece(std::optional<std::string> piece) {
    if (!body_ || !piece || (body_->left && piece->empty())) return stream_->close();  // the client sees that it is cut
    written_ = 0;
    const bool last = piece->empty();
    if (body_->left) {
        piece->resize(std::min<std::uint64_t>(piece->size(), *body_->left));
        *body_->left -= piece->size();
        out_ = std::move(*piece);
        if (*body_->left == 0) body_.reset();
    } else {
        out_ = body_->chunked ? fmt::format("{:x}\r\n{}\r\n", piece->size(), *piece) : std::move(*piece);
        if (last) body_.reset();
    }
    transmit();
}

void HttpConnection::drain() {
    std::uint8_t block[4096];
    for (int rounds = 0; rounds < 64; ++rounds) {
        const auto result = stream_->read(block);
        if (result.state == NetStream::State::again) return stream_->wait_readable([self = shared_from_this()] { self->drain(); });
        if (result.state != NetStream::State::ok) break;
    }
    stream_->close();
}

}  // namespace castile
