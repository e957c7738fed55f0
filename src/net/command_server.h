#pragma once
// The command server ("telnet"): one line in, an answer and END out, over TCP and a Unix socket.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "sched/time.h"

namespace castile {

struct CommandReply {
    std::string text;
    bool ends_session = false;   ///< the client asked to leave: its text is the last that is sent
};

/// Runs a line and gives `done` the reply, once, from any thread, at once or later. Called on a worker: it must not block.
using CommandRunner = std::function<void(std::string line, std::function<void(CommandReply)> done)>;

struct CommandServerOptions {
    struct Tcp {
        std::string address = "127.0.0.1";
        unsigned short port = 1234;
    };
    std::optional<Tcp> tcp;
    std::optional<std::string> socket_path;
    unsigned permissions = 0600;                               ///< of the socket
    std::optional<Duration> timeout = std::chrono::seconds(30);  ///< without a byte from or to the client; nullopt: none
    int max_clients = 256;
    bool reverse_dns = false;                                  ///< names of clients in the log
    int log_level = 3;
};

/// Closes, and removes its socket, with the last reference. Any thread.
class CommandServer {
public:
    /// Throws Error: "port 1234 is already in use".
    static std::shared_ptr<CommandServer> open(CommandServerOptions options, CommandRunner run);
    virtual ~CommandServer() = default;
    virtual void close() noexcept = 0;   ///< Sessions too.
};

}  // namespace castile
