// OpenSSL contexts: made from a transport's files, remade when a certificate is renewed.

#include "net/transport.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/stat.h>

#include <chrono>
#include <mutex>

#include "base/error.h"
#include "base/log.h"

namespace castile {

namespace {

const Logger logger("tls");

std::string openssl_reason() {
    char text[256] = "unknown reason";
    if (const auto code = ERR_get_error()) ERR_error_string_n(code, text, sizeof text);
    ERR_clear_error();
    return text;
}

int protocol_number(const std::string& name) {
    if (name.empty()) return 0;
    if (name == "tls.1.2") return TLS1_2_VERSION;
    if (name == "tls.1.3") return TLS1_3_VERSION;
    if (name == "tls.1.1") return TLS1_1_VERSION;
    if (name == "tls.1" || name == "tls.1.0") return TLS1_VERSION;
    throw Error(fmt::format("\"{}\" is no TLS version; expected \"tls.1.2\" or \"tls.1.3\".", name));
}

int give_password(char* buffer, int size, int, void* user) {
    const auto& password = *static_cast<const std::string*>(user);
    const int length = std::min<int>(size, static_cast<int>(password.size()));
    password.copy(buffer, static_cast<std::size_t>(length));
    return length;
}

std::shared_ptr<ssl_ctx_st> make_context(const HttpTransport& transport, TlsContext::Side side) {
    const bool server = side == TlsContext::Side::server;
    std::shared_ptr<ssl_ctx_st> context(SSL_CTX_new(server ? TLS_server_method() : TLS_client_method()), SSL_CTX_free);
    if (!context) throw Error("OpenSSL cannot make a context: " + openssl_reason());
    SSL_CTX* ctx = context.get();
    SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
    if (const int version = protocol_number(transport.min_protocol)) SSL_CTX_set_min_proto_version(ctx, version);
    if (const int version = protocol_number(transport.max_protocol)) SSL_CTX_set_max_proto_version(ctx, version);
    if (!server) {
        SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, nullptr);
        SSL_CTX_set_default_verify_paths(ctx);
        if (!transport.certificate.empty() && SSL_CTX_load_verify_locations(ctx, transport.certificate.c_str(), nullptr) != 1) {
            throw Error(fmt::format("Cannot read certificates from {}: {}", transport.certificate, openssl_reason()));
        }
        return context;
    }
    if (transport.certificate.empty()) throw Error("A TLS server needs a certificate: http.transport.ssl(certificate=..., key=...).");
    SSL_CTX_set_default_passwd_cb(ctx, give_password);
    SSL_CTX_set_default_passwd_cb_userdata(ctx, const_cast<std::string*>(&transport.password));
    const auto& key = transport.key.empty() ? transport.certificate : transport.key;
    if (SSL_CTX_use_certificate_chain_file(ctx, transport.certificate.c_str()) != 1) {
        throw Error(fmt::format("Cannot use the certificate {}: {}", transport.certificate, openssl_reason()));
    }
    if (SSL_CTX_use_PrivateKey_file(ctx, key.c_str(), SSL_FILETYPE_PEM) != 1 || SSL_CTX_check_private_key(ctx) != 1) {
        throw Error(fmt::format("Cannot use the private key {}: {}", key, openssl_reason()));
    }
    return context;
}

class FileContext final : public TlsContext {
public:
    FileContext(HttpTransport transport, Side side) : transport_(std::move(transport)), side_(side), context_(make_context(transport_, side)) {
        changed_ = file_change();
        checked_ = std::chrono::steady_clock::now();
    }
    Side side() const noexcept override { return side_; }

    std::shared_ptr<ssl_ctx_st> current() noexcept override {
        std::lock_guard lock(context_mutex_);
        const auto now = std::chrono::steady_clock::now();
        if (side_ == Side::server && now - checked_ > std::chrono::seconds(1)) {
            checked_ = now;
            if (const auto change = file_change(); change != changed_) {
                try {
                    context_ = make_context(transport_, side_);
                    changed_ = change;
                    logger.important("Reloaded certificate {}.", transport_.certificate);
                } catch (const std::exception& error) {
                    changed_ = change;  // keep the old one until the file changes again
                    logger.severe("The renewed certificate is refused, the former one stays in use: {}", error.what());
                }
            }
        }
        return context_;
    }

private:
    std::int64_t file_change() const noexcept {
        struct stat certificate {}, key {};
        if (::stat(transport_.certificate.c_str(), &certificate) != 0) return changed_;
        if (!transport_.key.empty()) ::stat(transport_.key.c_str(), &key);
        const auto stamp = [](const struct stat& s) { return s.st_mtim.tv_sec * 1'000'000'000 + s.st_mtim.tv_nsec; };
        return stamp(certificate) ^ (stamp(key) << 1);
    }

    const HttpTransport transport_;
    const Side side_;
    std::mutex context_mutex_;
    std::shared_ptr<ssl_ctx_st> context_;
    std::int64_t changed_ = 0;
    std::chrono::steady_clock::time_point checked_;
};

}  // namespace

std::shared_ptr<TlsContext> TlsContext::create(const HttpTransport& transport, Side side) {
    return std::make_shared<FileContext>(transport, side);
}

}  // namespace castile
