#pragma once
// The one NetStream: an Asio socket with readiness waits, and OpenSSL straight on its descriptor. For net/*.cpp only.

#include <openssl/ssl.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>

#include "net/stream.h"

namespace castile {

class SocketStream final : public NetStream {
public:
    using Strand = boost::asio::strand<boost::asio::io_context::executor_type>;
    using Socket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, Strand>;
    using Timer = boost::asio::basic_waitable_timer<std::chrono::steady_clock, boost::asio::wait_traits<std::chrono::steady_clock>, Strand>;

    explicit SocketStream(boost::asio::io_context& io) : strand_(io.get_executor()), socket_(strand_), timer_(strand_) {}
    explicit SocketStream(Socket socket);   ///< accepted, on a strand of its own
    ~SocketStream() override;

    Socket& socket() noexcept { return socket_; }
    std::shared_ptr<void> slot;             ///< Let go with the stream: counts a server's connections.
    void prepare(Duration user_timeout);    ///< non-blocking, keepalive, no delay; remembers the peer
    /// TLS from here on. `server_name` is checked against the certificate and sent (client side only).
    void start_tls(TlsContext& context, const std::string& server_name);
    void handshake(std::function<void(bool ok)> done);  ///< on the strand; error() says why not

    void run(Handler f) override;
    Result read(std::span<std::uint8_t> into) noexcept override;
    Result write(ByteSpan data) noexcept override;
    void wait_readable(Handler f) override;
    void wait_writable(Handler f) override;
    void after(Duration delay, Handler f) override;
    void cancel_timer() noexcept override;
    void shutdown_write() noexcept override;
    void close() noexcept override;
    bool is_open() const noexcept override { return !closed_; }
    const std::string& error() const noexcept override { return error_; }
    const std::string& peer() const noexcept override { return peer_; }
    unsigned short peer_port() const noexcept override { return peer_port_; }
    bool tls() const noexcept override { return ssl_ != nullptr; }

private:
    struct FreeSsl {
        void operator()(SSL* ssl) const noexcept { SSL_free(ssl); }
    };
    void wait(bool writable, Handler f);
    void guard(const Handler& f) noexcept;
    Result tls_result(int code, bool& wants_read) noexcept;

    Strand strand_;
    Socket socket_;
    Timer timer_;
    std::unique_ptr<SSL, FreeSsl> ssl_;
    std::shared_ptr<ssl_ctx_st> context_;
    bool read_wants_write_ = false, write_wants_read_ = false, closed_ = false, shut_ = false;
    unsigned timer_generation_ = 0;
    std::string error_, peer_;
    unsigned short peer_port_ = 0;
};

}  // namespace castile
