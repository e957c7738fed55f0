// Ports: who listens where, and with which routes.

#include "net/http_server.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/ip/v6_only.hpp>
#include <list>
#include <map>
#include <mutex>

#include "base/error.h"
#include "base/settings.h"
#include "net/http_connection.h"
#include "sched/scheduler.h"

namespace castile {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

Setting<std::vector<std::string>> bind_addresses{"harbor.bind_addrs", {"0.0.0.0"}, "Addresses that the HTTP server listens on."};
Setting<int> backlog{"harbor.max_connections", 128, "Connections that may wait to be accepted, per port."};
Setting<int> max_clients{"harbor.max_clients", 4096, "Connections that a port serves at once; more are refused."};
Setting<bool> reverse_dns{"harbor.reverse_dns", false, "Kept for scripts that set it: clients are known by their address."};
Setting<bool> map_song{"harbor.map_song_metadata", true, "Kept for scripts that set it."};
Setting<std::vector<std::string>> icy_formats{
    "harbor.icy_formats",
    {"audio/mpeg", "audio/aacp", "audio/aac", "audio/x-aac", "audio/wav", "audio/wave", "audio/flac", "audio/x-flac"},
    "Content types whose streams may carry ICY metadata."};

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

    HttpRoutes& routes() noexcept { return *routes_; }

private:
    using Acceptor = tcp::acceptor;
    void accept(std::size_t index);
    void accepted(SocketStream::Socket socket);

    const unsigned short port_;
    const TransportPtr transport_;
    std::shared_ptr<TlsContext> tls_;
    const std::shared_ptr<HttpRoutes> routes_ = std::make_shared<HttpRoutes>();
    std::mutex acceptors_mutex_, connections_mutex_;
    std::vector<Acceptor> acceptors_;
    std::vector<std::unique_ptr<asio::steady_timer>> pauses_;
    std::list<std::weak_ptr<HttpConnection>> connections_;  // those that still speak HTTP: a taken stream is its taker's
    std::shared_ptr<std::atomic<int>> count_ = std::make_shared<std::atomic<int>>(0);
    bool closed_ = false;
};

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
                harbor_logger.severe("Port {}: a connection could not be served: {}", self->port_, e.what());
            }
            return self->accept(index);
        }
        // Out of descriptors or memory: waiting is the only cure, spinning would make it worse.
        harbor_logger.severe("Port {} cannot accept connections: {}.", self->port_, error.message());
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
    stream->prepare(http_io_timeout());
    static const auto all = std::make_shared<std::atomic<int>>(0);
    if (count_->load() >= max_clients.get() || all->load() >= connection_limit()) {
        harbor_logger.severe("Port {} serves {} connections already (all ports: {}): more are refused.", port_, count_->load(), all->load());
        return stream->close();
    }
    count_->fetch_add(1);
    all->fetch_add(1);
    stream->slot = std::shared_ptr<void>(nullptr, [count = count_, total = all](void*) {
        count->fetch_sub(1);
        total->fetch_sub(1);
    });
    auto connection = std::make_shared<HttpConnection>(routes_, tls_, stream);
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
    auto route = std::make_shared<const RegisteredRoute>(RegisteredRoute{std::move(rule), std::move(handler)});
    server->routes().add(route);
    const auto forget = [weak = std::weak_ptr(server), port, raw = route.get()](void*) {
        const auto server = weak.lock();
        if (!server) return;
        std::lock_guard lock(ports().ports_mutex);
        if (!server->routes().remove(raw)) return;
        server->close();
        if (const auto found = ports().by_number.find(port); found != ports().by_number.end() && found->second == server) ports().by_number.erase(found);
    };
    return std::shared_ptr<void>(const_cast<RegisteredRoute*>(route.get()), forget);  // not null: tokens are tested
}

void remove_http(unsigned short port, const std::string& method, const std::string& path) {
    std::lock_guard lock(ports().ports_mutex);
    if (const auto found = ports().by_number.find(port); found != ports().by_number.end()) found->second->routes().remove(method, path);
}

void stop_http_servers() noexcept {
    std::map<unsigned short, std::shared_ptr<Server>> all;
    {
        std::lock_guard lock(ports().ports_mutex);
        all.swap(ports().by_number);
    }
    for (const auto& [port, server] : all) server->close();
}

}  // namespace castile
