#pragma once
// How bytes travel: plain TCP or TLS. What `http.transport.unix` and `http.transport.ssl(...)` are in a script.

#include <memory>
#include <string>

struct ssl_ctx_st;

namespace castile {

struct HttpTransport {
    bool tls = false;
    std::string certificate;   ///< PEM file: a server's own chain; for a client, further authorities to trust
    std::string key, password; ///< the server's private key and its pass phrase; an empty key: in the certificate file
    std::string min_protocol, max_protocol;  ///< "tls.1.2", "tls.1.3"; empty: OpenSSL's default

    const char* name() const noexcept { return tls ? "ssl" : "unix"; }
    const char* protocol() const noexcept { return tls ? "https" : "http"; }
    int default_port() const noexcept { return tls ? 443 : 80; }
};
using TransportPtr = std::shared_ptr<const HttpTransport>;

/// An OpenSSL context for one transport and one side. A server's is made anew when its certificate's file changes, for
/// the handshakes that follow. Any thread.
class TlsContext {
public:
    enum class Side { server, client };
    /// Throws Error when the certificate or key cannot be used.
    static std::shared_ptr<TlsContext> create(const HttpTransport& transport, Side side);
    virtual ~TlsContext() = default;
    virtual Side side() const noexcept = 0;
    virtual std::shared_ptr<ssl_ctx_st> current() noexcept = 0;
};

}  // namespace castile
