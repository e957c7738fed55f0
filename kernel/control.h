#pragma once
// The control socket: one request line, one answer, closed. Anybody may read, only root may set. Single-threaded; a client that
// says nothing is given 200 ms, which delays statistics and nothing else.

#include <expected>
#include <functional>
#include <string>
#include <string_view>

namespace castile::iso {

class ControlSocket {
  public:
    /// Makes the folder, takes the lock file beside the socket, listens. The error is a sentence without its end.
    static std::expected<ControlSocket, std::string> open(const std::string& path);
    ControlSocket(ControlSocket&& other) noexcept;
    ControlSocket& operator=(ControlSocket&&) = delete;
    ~ControlSocket();

    int descriptor() const noexcept { return socket_; }
    /// Accepts one client. `answer` gets the line without its end and whether root asks.
    void serve(const std::function<std::string(std::string_view line, bool root)>& answer) noexcept;

  private:
    ControlSocket(int socket, int lock, std::string path) noexcept;
    int socket_, lock_;
    std::string path_;
};

/// What the daemon answers.
std::expected<std::string, std::string> ask_daemon(const std::string& path, std::string_view line);

}  // namespace castile::iso
