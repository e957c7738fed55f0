#pragma once
// One listener: a position in its mount's log, and the socket that takes what comes after it.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "net/icy.h"
#include "net/mount_log.h"

namespace castile {

class Listener : public std::enable_shared_from_this<Listener> {
public:
    /// `icy`: titles are interleaved. `head`: what is sent first.
    Listener(NetStreamPtr stream, std::shared_ptr<Mount> mount, std::shared_ptr<MountLog> log, bool icy, std::string head);

    const std::string& id() const noexcept { return id_; }
    void join(std::uint64_t position, const Bytes& header);  ///< Where to begin: `burst` behind the end. log_mutex held.
    void more();        ///< Any thread: there is more in the log.
    void end();         ///< Any thread: sends what is left, then ends.
    void watch_peer();  ///< On the strand, from the start: notices that the peer went.

    std::function<void(const std::string& reason)> on_leave;

private:
    void pump();
    void append(ByteSpan data);
    std::string title_block();
    bool late();
    bool fetch();
    void watch_progress();
    void leave(const std::string& reason);

    const NetStreamPtr stream_;
    const std::shared_ptr<Mount> mount_;
    const std::shared_ptr<MountLog> log_;
    std::string id_, out_;
    std::size_t written_ = 0;
    std::uint64_t position_ = 0, block_position_ = 0, title_sent_at_ = 0;
    std::optional<IcyInterleaver> icy_;
    bool title_sent_ = false, waiting_ = false, ending_ = false, done_ = false, timed_ = false, progressed_ = false;
};

}  // namespace castile
