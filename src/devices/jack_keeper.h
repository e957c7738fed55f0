#pragma once
// Keeps JACK's clients connected: opens, closes, connects ports; in rounds on the blocking pool.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "devices/jack_client.h"
#include "devices/jack_links.h"

namespace castile::devices {

/// The process has one; it lives as long. libjack holds the memory of the server that it talks to in globals: hence one lock for
/// all calls that open, close or ask, one server at a time, and all clients of a dead server are closed before one is opened again.
class JackKeeper {
public:
    static JackKeeper& get();

    void add(const std::shared_ptr<JackClient>& client);
    void link(JackLink link);
    void soon() noexcept;                                        ///< A round, unless one is on its way. Any thread but JACK's process callback.
    std::vector<std::shared_ptr<JackClient>> clients() const;    ///< Those that are wanted or not closed yet.
    std::mutex& library_mutex() noexcept { return library_mutex_; }
    bool wait_closed(std::chrono::milliseconds longest);         ///< Until no client is open or wanted.
    void close_lost(const JackLibrary& library);                 ///< With library_mutex held.
    std::shared_ptr<JackSession> any_session(const JackServer& server) const;   ///< One that lives; with library_mutex held.
    const JackServer* other_server(const JackServer& server) const;   ///< That a client is open at; with library_mutex held.

private:
    void round();
    bool open_wanted();                                          ///< True: some are still to be opened.
    bool connect_links();                                        ///< True: some are still to be made.

    std::mutex round_mutex_;            // one round at a time; held while scripts are asked for ports
    std::mutex library_mutex_;          // held while libjack is called; guards each client's peers_ and told_
    mutable std::mutex clients_mutex_;  // guards the next three
    std::condition_variable closed_;
    std::vector<std::shared_ptr<JackClient>> clients_;
    std::vector<std::shared_ptr<JackLink>> links_;
    std::atomic<bool> scheduled_ = false, timer_set_ = false;
};

}  // namespace castile::devices
