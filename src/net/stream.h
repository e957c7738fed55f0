#pragma once
// A connected byte stream (TCP, optionally under TLS) that never blocks, and how to get one.

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/error.h"
#include "net/transport.h"
#include "sched/time.h"

namespace castile {

/// One connection. read, write, wait_*, after and close belong to the stream's strand: call them from a handler given to
/// this stream (run, wait_readable, ...), or before any handler was given. `run` may be called from any thread. A
/// handler that throws closes the stream; the exception is logged.
class NetStream : public std::enable_shared_from_this<NetStream> {
public:
    using Handler = std::function<void()>;
    enum class State { ok, again, closed, failed };
    struct Result {
        State state;
        std::size_t bytes = 0;
    };

    virtual ~NetStream() = default;

    /// Runs `f` on the strand: at once when this is a network thread and the strand is free, else soon.
    virtual void run(Handler f) = 0;
    virtual Result read(std::span<std::uint8_t> into) noexcept = 0;
    virtual Result write(ByteSpan data) noexcept = 0;
    virtual void wait_readable(Handler f) = 0;  ///< Once. Also called at the peer's close. Not called after close().
    virtual void wait_writable(Handler f) = 0;
    /// The stream's one timer: `f` runs once after `delay`; a second call replaces the first.
    virtual void after(Duration delay, Handler f) = 0;
    virtual void cancel_timer() noexcept = 0;
    virtual void shutdown_write() noexcept = 0;  ///< The peer reads what was written, then end of file.
    virtual void close() noexcept = 0;           ///< Idempotent; drops all handlers.
    virtual bool is_open() const noexcept = 0;

    virtual const std::string& error() const noexcept = 0;  ///< Why the last read or write failed.
    virtual const std::string& peer() const noexcept = 0;   ///< Numeric address.
    virtual unsigned short peer_port() const noexcept = 0;
    virtual bool tls() const noexcept = 0;
};
using NetStreamPtr = std::shared_ptr<NetStream>;

struct ConnectOptions {
    std::string host;
    unsigned short port = 80;
    enum class Prefer { system, ipv4, ipv6 } prefer = Prefer::system;
    std::shared_ptr<TlsContext> tls;              ///< null: plain
    Duration timeout = std::chrono::seconds(5);   ///< for look-up, all addresses and the TLS handshake together
    Duration user_timeout = std::chrono::seconds(30);  ///< TCP gives up on unacknowledged data after this (keepalive is on)
};

/// Looks the name up on the blocking pool, tries its addresses in turn, shakes hands. `done` runs on the new stream's
/// strand (or any network thread on failure), exactly once unless cancelled. Returns a function that cancels.
std::function<void()> connect_stream(ConnectOptions options, std::function<void(std::expected<NetStreamPtr, Failure>)> done);

}  // namespace castile
