#include "control.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

namespace castile::iso {

namespace {

constexpr std::size_t longest_request = 256;
constexpr std::size_t longest_answer = 1 << 20;

bool address_of(const std::string& path, sockaddr_un& address) {
    address = {};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) return false;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    return true;
}

void limit_time(int descriptor, long milliseconds) {
    const timeval limit{.tv_sec = milliseconds / 1000, .tv_usec = milliseconds % 1000 * 1000};
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

bool send_all(int descriptor, std::string_view text) {
    while (!text.empty()) {
        const ssize_t sent = send(descriptor, text.data(), text.size(), MSG_NOSIGNAL);
        if (sent <= 0) return false;
        text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

}  // namespace

std::expected<ControlSocket, std::string> ControlSocket::open(const std::string& path) {
    const auto failed = [&](const std::string& what) { return std::unexpected(fmt::format("{}: {}", what, std::strerror(errno))); };
    sockaddr_un address{};
    if (!address_of(path, address)) return std::unexpected(fmt::format("the path of the control socket is too long: {:.60}...", path));
    const std::string folder = path.substr(0, path.rfind('/'));
    if (!folder.empty() && folder != path) mkdir(folder.c_str(), 0755);
    const std::string lock_path = path + ".lock";
    const int lock = ::open(lock_path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644);
    if (lock < 0) return failed(lock_path);
    if (flock(lock, LOCK_EX | LOCK_NB) != 0) {
        char other[32] = {};
        if (pread(lock, other, sizeof other - 1, 0) < 0) other[0] = '\0';
        close(lock);
        return std::unexpected(fmt::format("another castile-isod runs (process {})", std::string_view(other).substr(0, std::strcspn(other, "\n"))));
    }
    const std::string mine = fmt::format("{}\n", getpid());
    if (ftruncate(lock, 0) != 0 || pwrite(lock, mine.data(), mine.size(), 0) < 0) {
        close(lock);
        return failed(lock_path);
    }
    unlink(path.c_str());
    const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener < 0 || bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || chmod(path.c_str(), 0666) != 0 || listen(listener, 16) != 0) {
        auto error = failed(path);
        if (listener >= 0) close(listener);
        close(lock);
        return error;
    }
    return ControlSocket(listener, lock, path);
}

ControlSocket::ControlSocket(int socket, int lock, std::string path) noexcept : socket_(socket), lock_(lock), path_(std::move(path)) {}
ControlSocket::ControlSocket(ControlSocket&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), lock_(std::exchange(other.lock_, -1)), path_(std::move(other.path_)) {}

ControlSocket::~ControlSocket() {
    if (socket_ < 0) return;
    unlink(path_.c_str());
    close(socket_);
    close(lock_);
}

void ControlSocket::serve(const std::function<std::string(std::string_view, bool)>& answer) noexcept {
    const int client = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) return;
    limit_time(client, 200);
    char line[longest_request];
    std::size_t size = 0;
    const char* end = nullptr;
    while (!end && size < sizeof line) {
        const ssize_t n = recv(client, line + size, sizeof line - size, 0);
        if (n <= 0) break;
        size += static_cast<std::size_t>(n);
        end = static_cast<const char*>(std::memchr(line, '\n', size));
    }
    try {
        ucred peer{};
        socklen_t length = sizeof peer;
        const bool root = getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == 0;
        send_all(client, end ? answer(std::string_view(line, static_cast<std::size_t>(end - line)), root) : "error: expected a line of at most 256 bytes\n");
    } catch (const std::exception&) {
        // No memory for an answer: the client sees the end of the connection.
    }
    close(client);
}

std::expected<std::string, std::string> ask_daemon(const std::string& path, std::string_view line) {
    sockaddr_un address{};
    if (!address_of(path, address)) return std::unexpected("the path of the control socket is too long");
    const int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (server < 0) return std::unexpected(std::strerror(errno));
    limit_time(server, 5000);
    std::string answer;
    if (connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        const int error = errno;
        close(server);
        return std::unexpected(error == ENOENT || error == ECONNREFUSED ? "castile-isod does not run" : fmt::format("{}: {}", path, std::strerror(error)));
    }
    if (send_all(server, fmt::format("{}\n", line))) {
        char buffer[4096];
        ssize_t n = 0;
        while (answer.size() < longest_answer && (n = recv(server, buffer, sizeof buffer, 0)) > 0) answer.append(buffer, static_cast<std::size_t>(n));
    }
    close(server);
    if (answer.empty()) return std::unexpected("castile-isod does not answer");
    if (answer.starts_with("error: ")) {
        answer.erase(0, 7);
        while (!answer.empty() && answer.back() == '\n') answer.pop_back();
        return std::unexpected(answer);
    }
    return answer;
}

}  // namespace castile::iso
