#pragma once
// What an operator holds of JACK: the wish for a connection, and the session while there is one.

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "devices/jack_server.h"
#include "devices/jack_session.h"

namespace castile::devices {

class JackClient : public std::enable_shared_from_this<JackClient> {
public:
    JackClient(JackServer& server, JackKind kind) : server_(server), kind_(kind) {}
    ~JackClient();

    JackServer& server() const noexcept { return server_; }
    JackKind kind() const noexcept { return kind_; }

    // The clock's worker, or whoever starts the clock.
    void want(std::string name, int channels);       ///< From now on it is connected whenever the server is there.
    void wait_for_try();                             ///< Until it is connected or cannot be for now; two seconds at most.
    void release() noexcept;
    JackSession* session() noexcept;                 ///< The present one, or null; valid until the next call.

    // Any thread.
    std::vector<std::string> port_names() const;     ///< Full ones, by channel; empty: not connected.
    std::string name() const;
    bool connected() const;
    const JackCounters& counters() const noexcept { return *counters_; }
    JackSession::Shape shape() const;                ///< Of the session, when connected.

private:
    friend class JackKeeper;
    /// A connection of one of our ports, to be made again when it is lost with the server or the peer.
    struct Peer {
        std::size_t port;
        std::string name;
        bool present;       ///< it was connected when last looked at
    };

    // The keeper, one round at a time.
    bool wanted() const;
    bool opened() const;
    void open(const JackLibrary& library);            ///< Throws Error.
    void close(const JackLibrary& library) noexcept;
    void keep_peers(const JackLibrary& library);
    void tried() noexcept;

    JackServer& server_;
    const JackKind kind_;
    const std::shared_ptr<JackCounters> counters_ = std::make_shared<JackCounters>();
    std::vector<Peer> peers_;                         ///< the keeper's
    std::string told_;                                ///< the keeper's: the last failure, said once

    mutable std::mutex session_mutex_;  // guards the next six
    std::condition_variable tried_;
    std::string name_;
    int channels_ = 0;
    bool wanted_ = false, was_tried_ = false;
    std::shared_ptr<JackSession> session_;
    std::vector<std::string> port_names_;

    std::atomic<bool> changed_ = false;               ///< session_ is another one than the clock has seen
    std::shared_ptr<JackSession> seen_;               ///< the clock's
};

}  // namespace castile::devices
