// Sockets: readiness from Asio, bytes by non-blocking calls, TLS by OpenSSL over a BIO that never raises SIGPIPE.

#include "net/stream.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <vector>

#include "base/log.h"
#include "net/stream_impl.h"
#include "sched/scheduler.h"

namespace castile {

namespace asio = boost::asio;

namespace {

const Logger logger("net");

std::string errno_text(int code) { return std::system_category().message(code); }

// --- A BIO over a descriptor: like OpenSSL's own, but send() with MSG_NOSIGNAL. --------------------------------------

int bio_descriptor(BIO* bio) { return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio))); }

int bio_write(BIO* bio, const char* data, int size) {
    BIO_clear_retry_flags(bio);
    const auto n = ::send(bio_descriptor(bio), data, static_cast<std::size_t>(size), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
    return static_cast<int>(n);
}

int bio_read(BIO* bio, char* data, int size) {
    BIO_clear_retry_flags(bio);
    const auto n = ::recv(bio_descriptor(bio), data, static_cast<std::size_t>(size), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
    return static_cast<int>(n);
}

long bio_control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH || command == BIO_CTRL_DUP ? 1 : 0; }

BIO* make_bio(int descriptor) {
    static BIO_METHOD* method = [] {
        BIO_METHOD* m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK | BIO_TYPE_DESCRIPTOR, "socket without signals");
        BIO_meth_set_write(m, bio_write);
        BIO_meth_set_read(m, bio_read);
        BIO_meth_set_ctrl(m, bio_control);
        return m;
    }();
    BIO* bio = BIO_new(method);
    BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor)));
    BIO_set_init(bio, 1);
    return bio;
}

}  // namespace

SocketStream::SocketStream(Socket socket) : strand_(socket.get_executor()), socket_(std::move(socket)), timer_(strand_) {}

SocketStream::~SocketStream() = default;

void SocketStream::prepare(Duration user_timeout) {
    boost::system::error_code ignored;
    socket_.non_blocking(true, ignored);
    const int descriptor = socket_.native_handle();
    const int on = 1, idle = 30, interval = 10, probes = 3;
    const int milliseconds = static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(user_timeout).count());
    ::setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    ::setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
    ::setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    if (milliseconds > 0) ::setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds);
    const auto endpoint = socket_.remote_endpoint(ignored);
    if (ignored) return;
    auto address = endpoint.address();
    if (address.is_v6() && address.to_v6().is_v4_mapped()) address = asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
    peer_ = address.to_string();
    peer_port_ = endpoint.port();
}

void SocketStream::start_tls(TlsContext& context, const std::string& server_name) {
    context_ = context.current();
    ssl_.reset(SSL_new(context_.get()));
    if (!ssl_) throw Error("OpenSSL cannot make a connection.");
    BIO* bio = make_bio(socket_.native_handle());
    SSL_set_bio(ssl_.get(), bio, bio);
    if (context.side() == TlsContext::Side::server) {
        SSL_set_accept_state(ssl_.get());
        return;
    }
    SSL_set_connect_state(ssl_.get());
    boost::system::error_code not_an_address;
    asio::ip::make_address(server_name, not_an_address);
    if (not_an_address) {
        SSL_set_tlsext_host_name(ssl_.get(), server_name.c_str());
        SSL_set1_host(ssl_.get(), server_name.c_str());
    } else {
        X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_.get()), server_name.c_str());
    }
}

NetStream::Result SocketStream::tls_result(int code, bool& wants_read) noexcept {
    wants_read = false;
    const int saved = errno;
    switch (SSL_get_error(ssl_.get(), code)) {
        case SSL_ERROR_WANT_READ: wants_read = true; return {State::again};
        case SSL_ERROR_WANT_WRITE: return {State::again};
        case SSL_ERROR_ZERO_RETURN: return {State::closed};
        case SSL_ERROR_SYSCALL:
            if (saved == 0 || code == 0) return {State::closed};
            error_ = errno_text(saved);
            return {State::failed};
        default: {
            char text[256] = "TLS error";
            if (const long verify = SSL_get_verify_result(ssl_.get()); verify != X509_V_OK) {
                error_ = std::string("certificate verification failed: ") + X509_verify_cert_error_string(verify);
            } else {
                if (const auto reason = ERR_peek_error()) ERR_error_string_n(reason, text, sizeof text);
                error_ = text;
            }
            ERR_clear_error();
            return {State::failed};
        }
    }
}

void SocketStream::handshake(std::function<void(bool)> done) {
    ERR_clear_error();
    const int code = SSL_do_handshake(ssl_.get());
    if (code == 1) return done(true);
    bool wants_read = false;
    const Result result = tls_result(code, wants_read);
    if (result.state != State::again) {
        if (error_.empty()) error_ = "the peer closed the connection during the TLS handshake";
        return done(false);
    }
    wait(!wants_read, [this, done = std::move(done)] { handshake(done); });
}

void SocketStream::guard(const Handler& f) noexcept {
    try {
        f();
    } catch (const std::exception& error) {
        logger.severe("Connection with {} closed by an error: {}", peer_, error.what());
        close();
    }
}

void SocketStream::run(Handler f) {
    asio::dispatch(strand_, [self = std::static_pointer_cast<SocketStream>(shared_from_this()), f = std::move(f)] { self->guard(f); });
}

NetStream::Result SocketStream::read(std::span<std::uint8_t> into) noexcept {
    if (closed_) return {State::closed};
    read_wants_write_ = false;
    if (ssl_) {
        ERR_clear_error();
        errno = 0;
        std::size_t count = 0;
        const int code = SSL_read_ex(ssl_.get(), into.data(), into.size(), &count);
        if (code == 1) return {State::ok, count};
        bool wants_read = false;
        const Result result = tls_result(code, wants_read);
        read_wants_write_ = result.state == State::again && !wants_read;
        return result;
    }
    for (;;) {
        const auto n = ::recv(socket_.native_handle(), into.data(), into.size(), MSG_DONTWAIT);
        if (n > 0) return {State::ok, static_cast<std::size_t>(n)};
        if (n == 0) return {State::closed};
        if (errno == EINTR) continue;
        if (errno == EAGAIN) return {State::again};
        error_ = errno_text(errno);
        return {State::failed};
    }
}

NetStream::Result SocketStream::write(ByteSpan data) noexcept {
    if (closed_) return {State::closed};
    write_wants_read_ = false;
    if (data.empty()) return {State::ok};
    if (ssl_) {
        ERR_clear_error();
        errno = 0;
        std::size_t count = 0;
        const int code = SSL_write_ex(ssl_.get(), data.data(), data.size(), &count);
        if (code == 1) return {State::ok, count};
        return tls_result(code, write_wants_read_);
    }
    for (;;) {
        const auto n = ::send(socket_.native_handle(), data.data(), data.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n >= 0) return {State::ok, static_cast<std::size_t>(n)};
        if (errno == EINTR) continue;
        if (errno == EAGAIN) return {State::again};
        error_ = errno_text(errno);
        return {State::failed};
    }
}

void SocketStream::wait(bool writable, Handler f) {
    if (closed_) return;
    socket_.async_wait(writable ? Socket::wait_write : Socket::wait_read,
                       [self = std::static_pointer_cast<SocketStream>(shared_from_this()), f = std::move(f)](boost::system::error_code error) {
                           if (error != asio::error::operation_aborted && !self->closed_) self->guard(f);
                       });
}

void SocketStream::wait_readable(Handler f) {
    if (ssl_ && !closed_ && SSL_pending(ssl_.get()) > 0) {  // already decrypted: the descriptor will not say so
        asio::post(strand_, [self = std::static_pointer_cast<SocketStream>(shared_from_this()), f = std::move(f)] {
            if (!self->closed_) self->guard(f);
        });
        return;
    }
    wait(read_wants_write_, std::move(f));
}

void SocketStream::wait_writable(Handler f) { wait(!write_wants_read_, std::move(f)); }

void SocketStream::after(Duration delay, Handler f) {
    if (closed_) return;
    timer_.expires_after(std::chrono::duration_cast<std::chrono::steady_clock::duration>(delay));
    timer_.async_wait([self = std::static_pointer_cast<SocketStream>(shared_from_this()), generation = ++timer_generation_,
                       f = std::move(f)](boost::system::error_code error) {
        if (!error && !self->closed_ && generation == self->timer_generation_) self->guard(f);
    });
}

void SocketStream::cancel_timer() noexcept {
    ++timer_generation_;
    try {
        timer_.cancel();
    } catch (...) {
    }
}

void SocketStream::shutdown_write() noexcept {
    if (closed_ || shut_) return;
    shut_ = true;
    if (ssl_) {
        ERR_clear_error();
        if (SSL_is_init_finished(ssl_.get())) SSL_shutdown(ssl_.get());
        ERR_clear_error();
    }
    ::shutdown(socket_.native_handle(), SHUT_WR);
}

void SocketStream::close() noexcept {
    if (closed_) return;
    shutdown_write();
    closed_ = true;
    cancel_timer();
    boost::system::error_code ignored;
    socket_.close(ignored);
}

// --- Connecting ------------------------------------------------------------------------------------------------------

namespace {

using asio::ip::tcp;

struct LookUp {
    std::vector<tcp::endpoint> endpoints;
    std::string error;
};

LookUp look_up(const ConnectOptions& options) {
    LookUp result;
    addrinfo hints{}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV;
    int code = ::getaddrinfo(options.host.c_str(), std::to_string(options.port).c_str(), &hints, &found);
    if (code != 0) {  // AI_ADDRCONFIG hides loopback names on a machine with no network
        hints.ai_flags = AI_NUMERICSERV;
        code = ::getaddrinfo(options.host.c_str(), std::to_string(options.port).c_str(), &hints, &found);
    }
    if (code != 0) {
        result.error = fmt::format("cannot find the address of {}: {}", options.host, ::gai_strerror(code));
        return result;
    }
    for (const addrinfo* entry = found; entry; entry = entry->ai_next) {
        if (entry->ai_addrlen > sizeof(sockaddr_storage)) continue;
        tcp::endpoint endpoint;
        std::memcpy(endpoint.data(), entry->ai_addr, entry->ai_addrlen);
        endpoint.resize(entry->ai_addrlen);
        result.endpoints.push_back(endpoint);
    }
    ::freeaddrinfo(found);
    if (options.prefer != ConnectOptions::Prefer::system) {
        const bool six = options.prefer == ConnectOptions::Prefer::ipv6;
        std::ranges::stable_partition(result.endpoints, [six](const tcp::endpoint& e) { return e.address().is_v6() == six; });
    }
    return result;
}

/// One attempt; kept alive by its handlers.
class Connector : public std::enable_shared_from_this<Connector> {
public:
    using Done = std::function<void(std::expected<NetStreamPtr, Failure>)>;
    Connector(ConnectOptions options, Done done)
        : options_(std::move(options)), done_(std::move(done)), io_(scheduler().io()), strand_(io_.get_executor()), timer_(strand_) {}

    void start() {
        timer_.expires_after(std::chrono::duration_cast<std::chrono::steady_clock::duration>(options_.timeout));
        timer_.async_wait([self = shared_from_this()](boost::system::error_code error) {
            if (!error) self->fail(Failure::Kind::timeout, fmt::format("no answer from {} within {:.1f} seconds", self->where(),
                                                                      std::chrono::duration<double>(self->options_.timeout).count()));
        });
        boost::system::error_code not_numeric;
        const auto address = asio::ip::make_address(options_.host, not_numeric);
        if (!not_numeric) {
            LookUp found;
            found.endpoints.emplace_back(address, options_.port);
            asio::post(strand_, [self = shared_from_this(), found = std::move(found)] { self->found(found); });
            return;
        }
        scheduler().blocking([self = shared_from_this()] {
            asio::post(self->strand_, [self, found = look_up(self->options_)] { self->found(found); });
        });
    }

    void cancel() {
        asio::post(strand_, [self = shared_from_this()] { self->end(); });
    }

private:
    std::string where() const { return fmt::format("{}:{}", options_.host, options_.port); }

    void end() {
        finished_ = true;
        done_ = nullptr;
        timer_.cancel();
        if (stream_) stream_->run([stream = std::move(stream_)] { stream->close(); });
        stream_.reset();
    }

    void fail(Failure::Kind kind, std::string message) {
        if (finished_) return;
        auto done = std::move(done_);
        end();
        done(std::unexpected(Failure{kind, std::move(message)}));
    }

    void found(const LookUp& result) {
        if (finished_) return;
        if (result.endpoints.empty()) return fail(Failure::Kind::not_found, result.error);
        endpoints_ = result.endpoints;
        try_next(Failure::Kind::other, "");
    }

    void try_next(Failure::Kind kind, const std::string& reason) {
        if (finished_) return;
        if (next_ == endpoints_.size()) return fail(kind, reason);
        stream_ = std::make_shared<SocketStream>(io_);
        // The handlers of the socket run on its own strand; results come back to ours.
        stream_->socket().async_connect(endpoints_[next_++], [self = shared_from_this(), stream = stream_](boost::system::error_code error) {
            asio::dispatch(self->strand_, [self, stream, error] { self->connected(stream, error); });
        });
    }

    void connected(const std::shared_ptr<SocketStream>& stream, boost::system::error_code error) {
        if (finished_) return;
        if (error) {
            const auto kind = error == asio::error::connection_refused ? Failure::Kind::refused : Failure::Kind::other;
            return try_next(kind, fmt::format("{} ({})", error.message(), where()));
        }
        stream->run([self = shared_from_this(), stream] {
            stream->prepare(self->options_.user_timeout);
            if (!self->options_.tls) return self->succeed(stream);
            stream->start_tls(*self->options_.tls, self->options_.host);
            stream->handshake([self, stream](bool ok) {
                if (ok) return self->succeed(stream);
                asio::dispatch(self->strand_, [self, reason = fmt::format("TLS with {}: {}", self->where(), stream->error())] {
                    self->fail(Failure::Kind::denied, reason);
                });
            });
        });
    }

    void succeed(const std::shared_ptr<SocketStream>& stream) {
        asio::dispatch(strand_, [self = shared_from_this(), stream] {
            if (self->finished_) return;
            auto done = std::move(self->done_);
            self->stream_.reset();
            self->end();
            stream->run([stream, done] { done(NetStreamPtr(stream)); });
        });
    }

    ConnectOptions options_;
    Done done_;
    asio::io_context& io_;
    SocketStream::Strand strand_;
    SocketStream::Timer timer_;
    std::vector<tcp::endpoint> endpoints_;
    std::size_t next_ = 0;
    std::shared_ptr<SocketStream> stream_;
    bool finished_ = false;
};

}  // namespace

std::function<void()> connect_stream(ConnectOptions options, std::function<void(std::expected<NetStreamPtr, Failure>)> done) {
    auto connector = std::make_shared<Connector>(std::move(options), std::move(done));
    connector->start();
    return [weak = std::weak_ptr(connector)] {
        if (const auto connector = weak.lock()) connector->cancel();
    };
}

}  // namespace castile
