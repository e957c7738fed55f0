#pragma once
// Requests: a URI on its way to becoming a decoder. Resolved, read for tags and opened off the clock, ahead of its turn.

#include <atomic>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "codec/decoder.h"
#include "frame/metadata.h"
#include "request/protocol.h"

namespace castile {

class Request;
using RequestPtr = std::shared_ptr<Request>;

struct RequestOptions {
    Metadata metadata;                  ///< as if annotated
    bool temporary = false;             ///< the URI is a file that is ours to delete
    bool persistent = false;            ///< destroy() without force does nothing
    bool resolve_metadata = true;       ///< read the file's tags
    bool open = true;                   ///< open a decoder (false: only find the file, a playlist say)
    std::optional<std::string> cue_in_metadata = "liq_cue_in", cue_out_metadata = "liq_cue_out";
};

/// One request. Made with a URI (`annotate:a="b":http://...`, a path); `resolve` follows protocols until a local file,
/// reads its tags, opens its decoder. States as Liquidsoap names them. Any thread.
class Request : public std::enable_shared_from_this<Request> {
public:
    enum class State { idle, resolving, ready, playing, failed, destroyed };

    static RequestPtr create(std::string uri, RequestOptions options = {});
    ~Request();   ///< Removes its temporary files.

    int id() const noexcept { return id_; }
    const std::string& initial_uri() const noexcept { return uri_; }
    State state() const noexcept { return state_; }
    std::string filename() const;                    ///< the resolved local file; empty before
    /// Annotations win over tags; then rid, initial_uri, temporary, filename and status of the request itself.
    Metadata metadata() const;
    void set_metadata(Metadata m);                   ///< Adds, as if annotated.
    std::vector<std::string> log() const;            ///< request.trace, "[date] line"; at most 200 lines are kept

    /// Blocking (the blocking pool): everything up to an opened decoder. Idempotent; a second caller waits for the first.
    std::expected<void, Failure> resolve(double timeout_seconds);
    /// Starts resolve on the blocking pool; `done` runs as normal work, once, at the latest a second after the time-out.
    void resolve_async(double timeout_seconds, std::function<void(bool ok)> done);
    /// The decoder that resolve opened, once; null before resolve or when taken.
    std::unique_ptr<Decoder> take_decoder();
    /// Opens the resolved file once more. Blocking.
    std::expected<std::unique_ptr<Decoder>, Failure> open_again() const;

    void on_air();                                   ///< A source begins to play it.
    void off_air();                                  ///< It ended there.
    /// Removes temporary files, drops the decoder. A persistent request only with force.
    void destroy(bool force = false);

private:
    Request() = default;
    friend struct RequestAccess;
    int id_ = 0;
    std::string uri_;
    std::atomic<State> state_ = State::idle;
    struct Inner;
    std::unique_ptr<Inner> inner_;
};

const char* to_string(Request::State state) noexcept;

/// Those alive, by id. Any thread.
std::vector<RequestPtr> all_requests();
RequestPtr find_request(int id);   ///< null when there is none

/// settings.request.timeout
double default_request_timeout();
/// settings.request.prefetch
int default_request_prefetch();

}  // namespace castile
