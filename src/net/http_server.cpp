// Ports, connections and routes. A connection is a small state machine on its stream's strand.

#include "net/http_server.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/ip/v6_only.hpp>
#include <cerrno>
#include <list>
#include <map>
#include <mutex>

#include "base/error.h"
#include "base/log.h"
#include "base/settings.h"
#include "net/http_client.h"
#include "net/stream_impl.h"
#include "sched/scheduler.h"

namespace castile {

namespace asio = boost::asio;
using asio::ip::tcp;
using std::chrono::seconds;

namespace {

const Logger logger("harbor");

Setting<std::vector<std::string>> bind_addresses{"harbor.bind_addrs", {"0.0.0.0"}, "Addresses that the HTTP server listens on."};
Setting<int> backlog{"harbor.max_connections", 128, "Connections that may wait to be accepted, per port."};
Setting<int> max_clients{"harbor.max_clients", 4096, "Connections that a port serves at once; more are refused."};
Setting<double> accept_timeout{"harbor.accept_timeout", 3.0, "Seconds within which a new connection shakes hands and sends its request's head."};
Setting<double> io_timeout{"harbor.timeout", 120.0, "Seconds without progress after which a connection is closed."};
Setting<bool> verbose{"harbor.verbose", false, "Log each request at level 4."};
Setting<bool> reverse_dns{"harbor.reverse_dns", false, "Kept for scripts that set it: clients are known by their address."};
Setting<bool> map_song{"harbor.map_song_metadata", true, "Kept for scripts that set it."};
Setting<std::vector<std::string>> icy_formats{
    "harbor.icy_formats",
    {"audio/mpeg", "audio/aacp", "audio/aac", "audio/x-aac", "audio/wav", "audio/wave", "audio/flac", "audio/x-flac"},
    "Content types whose streams may carry ICY metadata."};

constexpr auto idle_timeout = seconds(15), linger_timeout = seconds(2);
constexpr int requests_per_connection = 1000;

/// Connections that all ports together may hold: the rest of the process's descriptors is for music, recordings and outputs.
int connection_limit() {
    static const int limit = [] {
        rlimit descriptors{};
        if (::getrlimit(RLIMIT_NOFILE, &descriptors) != 0) return 768;
        const rlim_t most = std::min<rlim_t>(descriptors.rlim_cur, 1u << 20);
        return static_cast<int>(most - std::min<rlim_t>(256, most / 2));
    }();
    return limit;
}

Duration setting_duration(const Setting<double>& setting) {
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(std::clamp(setting.get(), 0.1, 86400.0)));
}

struct Route {
    HttpRoute rule;
    HttpHandler handler;

    bool accepts_path(const std::string& path) const {
        if (rule.matches) return rule.matches(path);
        if (rule.path.ends_with('*')) return std::string_view(path).starts_with(std::string_view(rule.path).substr(0, rule.path.size() - 1));
        return path == rule.path;
    }
    bool accepts_method(const std::string& method) const {
        return rule.method.empty() || rule.method == method || (rule.method == "GET" && method == "HEAD");
    }
};
using RoutePtr = std::shared_ptr<const Route>;

/// What follows a head in pieces.
struct Body {
    std::function<std::string()> next;
    std::optional<std::uint64_t> left;   ///< bytes to come; nullopt: until an empty piece
    bool chunked = false;
};

class Connection;

/// One port.
class Server : public std::enable_shared_from_this<Server> {
public:
    Server(unsigned short port, TransportPtr transport) : port_(port), transport_(std::move(transport)) {
        if (transport_->tls) tls_ = TlsContext::create(*transport_, TlsContext::Side::server);
    }

    void open();
    void close() noexcept;
    bool same_transport(const TransportPtr& other) const {
        return other == transport_ || (other->tls == transport_->tls && other->certificate == transport_->certificate && other->key == transport_->key);
    }

    void add(RoutePtr route) {
        std::lock_guard lock(routes_mutex_);
        routes_.push_back(std::move(route));
    }
    bool remove(const Route* route) {  // true: that was the last
        std::lock_guard lock(routes_mutex_);
        std::erase_if(routes_, [route](const RoutePtr& r) { return r.get() == route; });
        return routes_.empty();
    }
    void remove(const std::string& method, const std::string& path) {
        std::lock_guard lock(routes_mutex_);
        std::erase_if(routes_, [&](const RoutePtr& r) { return r->rule.method == method && r->rule.path == path; });
    }
    /// The route for a request; when only the method is wrong, `allow` lists what the path takes.
    RoutePtr find(const std::string& method, const std::string& path, std::string& allow) {
        std::lock_guard lock(routes_mutex_);
        for (const bool fallback : {false, true}) {
            for (auto route = routes_.rbegin(); route != routes_.rend(); ++route) {  // the newest wins
                if ((*route)->rule.fallback != fallback || !(*route)->accepts_path(path)) continue;
                if ((*route)->accepts_method(method)) return *route;
                if (allow.find((*route)->rule.method) == allow.npos) allow += (allow.empty() ? "" : ", ") + (*route)->rule.method;
            }
        }
        return nullptr;
    }

    const std::shared_ptr<TlsContext>& tls() const noexcept { return tls_; }
    unsigned short port() const noexcept { return port_; }

private:
    using Acceptor = tcp::acceptor;
    void accept(std::size_t index);
    void accepted(SocketStream::Socket socket);

    const unsigned short port_;
    const TransportPtr transport_;
    std::shared_ptr<TlsContext> tls_;
    std::mutex routes_mutex_, acceptors_mutex_, connections_mutex_;
    std::vector<RoutePtr> routes_;
    std::vector<Acceptor> acceptors_;
    std::vector<std::unique_ptr<asio::steady_timer>> pauses_;
    std::list<std::weak_ptr<Connection>> connections_;  // those that still speak HTTP: a taken stream is its taker's
    std::shared_ptr<std::atomic<int>> count_ = std::make_shared<std::atomic<int>>(0);
    bool closed_ = false;
};

class Exchange final : public HttpExchange {
public:
    Exchange(std::shared_ptr<Connection> connection, HttpServerRequest request) : connection_(std::move(connection)), request_(std::move(request)) {}
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
    static void send(std::shared_ptr<Connection> connection, const HttpServerRequest& request, HttpServerResponse response);
    std::shared_ptr<Connection> connection_;
    HttpServerRequest request_;
    std::atomic<bool> answered_ = false;
};

class Connection : public std::enable_shared_from_this<Connection> {
public:
    Connection(std::weak_ptr<Server> server, std::shared_ptr<SocketStream> stream) : server_(std::move(server)), stream_(std::move(stream)) {}

    void start() {
        stream_->after(setting_duration(accept_timeout), [self = shared_from_this()] { self->stream_->close(); });
        const auto server = server_.lock();
        if (!server) return stream_->close();
        if (!server->tls()) return receive();
        stream_->start_tls(*server->tls(), "");
        stream_->handshake([self = shared_from_this()](bool ok) {
            if (ok) return self->receive();
            logger.info("TLS handshake with {} failed: {}.", self->stream_->peer(), self->stream_->error());
            self->stream_->close();
        });
    }

    /// Any thread.
    void send(std::string bytes, bool keep_alive) {
        stream_->run([self = shared_from_this(), bytes = std::move(bytes), keep_alive]() mutable {
            self->out_ = std::move(bytes);
            self->written_ = 0;
            self->keep_alive_ = keep_alive && self->served_ < requests_per_connection;
            self->transmit();
        });
    }
    /// Any thread: closes when idle, after the answer otherwise.
    void end() {
        stream_->run([self = shared_from_this()] {
            self->served_ = requests_per_connection;
            if (self->out_.empty() && !self->body_ && !self->reader_.begun()) self->stream_->close();
        });
    }
    const std::shared_ptr<SocketStream>& stream() const noexcept { return stream_; }
    /// The same, and behind it a body in pieces.
    void send(std::string head, bool keep_alive, Body body) {
        stream_->run([self = shared_from_this(), head = std::move(head), keep_alive, body = std::move(body)]() mutable {
            self->body_ = std::make_unique<Body>(std::move(body));
            self->send(std::move(head), keep_alive);
        });
    }
    bool wants_keep_alive() const noexcept { return client_keeps_alive_; }

private:
    void receive() {
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

    bool head() {
        reader_.fill(request_);
        const auto server = server_.lock();
        if (!server) return stream_->close(), false;
        route_ = server->find(request_.method, request_.path, allow_);
        reader_.limit_body(route_ ? route_->rule.max_body : 64u << 10);
        if (const auto* expect = request_.header("expect"); expect && expect->starts_with("100")) {
            constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
            stream_->write({reinterpret_cast<const std::uint8_t*>(go_on.data()), go_on.size()});
        }
        stream_->after(setting_duration(io_timeout), [self = shared_from_this()] { self->stream_->close(); });  // for the body
        return true;
    }

    void refuse(int status) {
        client_keeps_alive_ = false;
        Exchange(shared_from_this(), {}).reply({status, "text/plain; charset=utf-8", http_reason(status) + "\n", {}, ""});
    }

    void handle() {
        ++served_;
        client_keeps_alive_ = reader_.keep_alive();
        reader_.fill(request_);
        request_.peer = stream_->peer();
        request_.peer_port = stream_->peer_port();
        stream_->cancel_timer();
        if (verbose.get()) logger.info("{} {} from {}", request_.method, request_.target, request_.peer);
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
            logger.severe("The handler of {} failed: {}", exchange->request().path, error.what());
            exchange->reply({500, "text/plain; charset=utf-8", "Internal Server Error\n", {}, ""});
        }
    }

    void transmit() {
        while (written_ < out_.size()) {
            const auto result = stream_->write({reinterpret_cast<const std::uint8_t*>(out_.data()) + written_, out_.size() - written_});
            if (result.state == NetStream::State::again) {
                stream_->after(setting_duration(io_timeout), [self = shared_from_this()] { self->stream_->close(); });
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
    void fetch_piece() {
        stream_->cancel_timer();
        scheduler().blocking([self = shared_from_this(), next = body_->next] {
            std::optional<std::string> piece;
            try {
                piece = next();
            } catch (const std::exception& error) {
                logger.severe("An answer to {} broke off: {}", self->stream_->peer(), error.what());
            }
            self->stream_->run([self, piece = std::move(piece)]() mutable { self->take_piece(std::move(piece)); });
        });
    }

    void take_piece(std::optional<std::string> piece) {
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

    void drain() {
        std::uint8_t block[4096];
        for (int rounds = 0; rounds < 64; ++rounds) {
            const auto result = stream_->read(block);
            if (result.state == NetStream::State::again) return stream_->wait_readable([self = shared_from_this()] { self->drain(); });
            if (result.state != NetStream::State::ok) break;
        }
        stream_->close();
    }

    std::weak_ptr<Server> server_;
    std::shared_ptr<SocketStream> stream_;
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

void Exchange::send(std::shared_ptr<Connection> connection, const HttpServerRequest& request, HttpServerResponse response) {
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

// --- Ports -----------------------------------------------------------------------------------------------------------

void Server::open() {
    auto& io = scheduler().io();
    for (const auto& text : bind_addresses.get()) {
        boost::system::error_code error;
        const auto address = asio::ip::make_address(text, error);
        if (error) throw Error(fmt::format("settings.harbor.bind_addrs: \"{}\" is not an address.", text));
        const tcp::endpoint endpoint(address, port_);
        Acceptor acceptor(io);
        acceptor.open(endpoint.protocol(), error);
        if (!error) acceptor.set_option(Acceptor::reuse_address(true), error);
        if (!error && address.is_v6()) acceptor.set_option(asio::ip::v6_only(bind_addresses.get().size() > 1), error);
        if (!error) acceptor.bind(endpoint, error);
        if (!error) acceptor.listen(std::max(1, backlog.get()), error);
        if (error == asio::error::address_in_use) throw Error(fmt::format("port {} is already in use", port_));
        if (error == asio::error::access_denied) throw Error(fmt::format("port {} cannot be opened: only root may use ports below 1024", port_));
        if (error) throw Error(fmt::format("port {} cannot be opened on {}: {}", port_, text, error.message()));
        acceptors_.push_back(std::move(acceptor));
        pauses_.push_back(std::make_unique<asio::steady_timer>(io));
    }
    for (std::size_t i = 0; i < acceptors_.size(); ++i) accept(i);
}

void Server::accept(std::size_t index) {
    std::lock_guard lock(acceptors_mutex_);
    if (closed_) return;
    acceptors_[index].async_accept(asio::make_strand(scheduler().io().get_executor()),
                                   [self = shared_from_this(), index](boost::system::error_code error, SocketStream::Socket socket) {
        if (error == asio::error::operation_aborted) return;
        if (!error) {
            try {
                self->accepted(std::move(socket));
            } catch (const std::exception& e) {
                logger.severe("Port {}: a connection could not be served: {}", self->port_, e.what());
            }
            return self->accept(index);
        }
        // Out of descriptors or memory: waiting is the only cure, spinning would make it worse.
        logger.severe("Port {} cannot accept connections: {}.", self->port_, error.message());
        std::lock_guard lock(self->acceptors_mutex_);
        if (self->closed_) return;
        self->pauses_[index]->expires_after(std::chrono::milliseconds(200));
        self->pauses_[index]->async_wait([self, index](boost::system::error_code e) {
            if (!e) self->accept(index);
        });
    });
}

void Server::accepted(SocketStream::Socket socket) {
    auto stream = std::make_shared<SocketStream>(std::move(socket));
    stream->prepare(setting_duration(io_timeout));
    static const auto all = std::make_shared<std::atomic<int>>(0);
    if (count_->load() >= max_clients.get() || all->load() >= connection_limit()) {
        logger.severe("Port {} serves {} connections already (all ports: {}): more are refused.", port_, count_->load(), all->load());
        return stream->close();
    }
    count_->fetch_add(1);
    all->fetch_add(1);
    stream->slot = std::shared_ptr<void>(nullptr, [count = count_, total = all](void*) {
        count->fetch_sub(1);
        total->fetch_sub(1);
    });
    auto connection = std::make_shared<Connection>(weak_from_this(), stream);
    {
        std::lock_guard lock(connections_mutex_);
        connections_.remove_if([](const auto& weak) { return weak.expired(); });
        connections_.push_back(connection);
    }
    stream->run([connection] { connection->start(); });
}

void Server::close() noexcept {
    {
        std::lock_guard lock(acceptors_mutex_);
        closed_ = true;
        for (auto& acceptor : acceptors_) {
            boost::system::error_code ignored;
            acceptor.close(ignored);
        }
        for (auto& pause : pauses_) pause->cancel();
    }
    std::lock_guard lock(connections_mutex_);
    for (const auto& weak : connections_) {
        if (const auto connection = weak.lock()) connection->end();
    }
    connections_.clear();
}

struct Ports {
    std::mutex ports_mutex;
    std::map<unsigned short, std::shared_ptr<Server>> by_number;
};

Ports& ports() {
    static auto* ports = new Ports;  // never destroyed: sockets in it may outlive the io_context
    return *ports;
}

}  // namespace

std::shared_ptr<void> register_http(unsigned short port, const TransportPtr& transport, HttpRoute rule, HttpHandler handler) {
    static const TransportPtr plain = std::make_shared<HttpTransport>();
    const TransportPtr& wanted = transport ? transport : plain;
    std::lock_guard lock(ports().ports_mutex);
    auto& server = ports().by_number[port];
    if (!server) {
        try {
            auto opened = std::make_shared<Server>(port, wanted);
            opened->open();
            server = std::move(opened);
        } catch (...) {
            ports().by_number.erase(port);
            throw;
        }
    } else if (!server->same_transport(wanted)) {
        throw Error(fmt::format("port {} is already served with another transport", port));
    }
    auto route = std::make_shared<const Route>(Route{std::move(rule), std::move(handler)});
    server->add(route);
    const auto forget = [weak = std::weak_ptr(server), port, raw = route.get()](void*) {
        const auto server = weak.lock();
        if (!server) return;
        std::lock_guard lock(ports().ports_mutex);
        if (!server->remove(raw)) return;
        server->close();
        if (const auto found = ports().by_number.find(port); found != ports().by_number.end() && found->second == server) ports().by_number.erase(found);
    };
    return std::shared_ptr<void>(const_cast<Route*>(route.get()), forget);  // not null: tokens are tested
}

void remove_http(unsigned short port, const std::string& method, const std::string& path) {
    std::lock_guard lock(ports().ports_mutex);
    if (const auto found = ports().by_number.find(port); found != ports().by_number.end()) found->second->remove(method, path);
}

void stop_http_servers() noexcept {
    std::map<unsigned short, std::shared_ptr<Server>> all;
    {
        std::lock_guard lock(ports().ports_mutex);
        all.swap(ports().by_number);
    }
    for (const auto& [port, server] : all) server->close();
}

// --- Requests --------------------------------------------------------------------------------------------------------

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
