#pragma once
// Requests: a URI on its way to becoming a decoder. Resolved, read for tags and opened off the clock, ahead of its turn.

#include <atomic>
#include <expected>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/error.h"
#include "codec/decoder.h"
#include "frame/metadata.h"

namespace castile {

class Request;
using RequestPtr = std::shared_ptr<Request>;

/// One request. Made with a URI (`annotate:a="b":http://...`, a path); `resolve` follows protocols until a local file or
/// a stream libav can open, reads its tags, opens its decoder. States as Liquidsoap names them.
class Request : public std::enable_shared_from_this<Request> {
public:
    enum class State { idle, resolving, ready, playing, failed, destroyed };

    static RequestPtr create(std::string uri, Metadata extra = {}, bool temporary = false);
    ~Request();   ///< Removes its temporary files.

    int id() const noexcept { return id_; }
    const std::string& initial_uri() const noexcept { return uri_; }
    State state() const noexcept { return state_; }
    std::string filename() const;                    ///< the resolved local file; empty before
    Metadata metadata() const;                       ///< annotations win over tags win over nothing
    void set_metadata(Metadata m);
    std::vector<std::string> log() const;            ///< request.trace

    /// Blocking (the blocking pool): everything up to an opened decoder. Idempotent.
    std::expected<void, Failure> resolve(double timeout_seconds);
    /// Starts resolve on the blocking pool; `done` runs as normal work.
    void resolve_async(double timeout_seconds, std::function<void(bool ok)> done);
    /// The opened decoder, once; null before resolve or when taken.
    std::unique_ptr<Decoder> take_decoder();

private:
    Request() = default;
    friend struct RequestAccess;
    int id_ = 0;
    std::string uri_;
    std::atomic<State> state_ = State::idle;
    struct Inner;
    std::shared_ptr<Inner> inner_;
};

/// A protocol: what resolves `name:rest`. Registered by protocols/ (file, http, annotate ...) or by a script
/// (protocol.add). Blocking; any thread. Returns the URIs to try next, or a file.
struct ProtocolResult {
    std::vector<std::string> uris;
    bool temporary = false;         ///< the file is ours to delete
    Metadata metadata;              ///< adds to the request's
};
using ProtocolFunction = std::function<std::expected<ProtocolResult, Failure>(const std::string& rest, double timeout_seconds)>;
class RegisterProtocol {
public:
    RegisterProtocol(std::string name, std::string doc, std::string syntax, ProtocolFunction function);
};

}  // namespace castile
