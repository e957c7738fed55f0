#include "base/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <tuple>
#include <utility>

#include "base/error.h"

extern char** environ;

namespace castile {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t max_output = 256u << 20;   // bytes kept of a process's output

struct Pipe {
    int read = -1, write = -1;
    Pipe() {
        int fds[2];
        if (pipe2(fds, O_CLOEXEC) != 0) throw Error(std::string("No pipe for a process: ") + std::strerror(errno) + ".");
        read = fds[0];
        write = fds[1];
    }
    ~Pipe() {
        close_read();
        close_write();
    }
    Pipe(const Pipe&) = delete;
    void close_read() { if (read >= 0) ::close(std::exchange(read, -1)); }
    void close_write() { if (write >= 0) ::close(std::exchange(write, -1)); }
};

/// Moves bytes between us and the child until it closed its ends or time is over; true in time.
bool exchange(Pipe& in, Pipe& out, Pipe& err, const std::string& input, ProcessEnd& result, double timeout) {
    auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(timeout, 1e9)));
    std::size_t written = 0;
    if (input.empty()) in.close_write();
    fcntl(in.write, F_SETFL, O_NONBLOCK);
    char buffer[65536];
    while (out.read >= 0 || err.read >= 0) {
        int wait = -1;
        if (timeout >= 0) {
            auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
            if (left <= 0) return false;
            wait = static_cast<int>(std::min<long>(left + 1, 60000));
        }
        pollfd fds[3] = {{out.read, POLLIN, 0}, {err.read, POLLIN, 0}, {in.write, POLLOUT, 0}};
        if (poll(fds, 3, wait) < 0 && errno != EINTR) break;
        if (fds[2].revents) {
            ssize_t n = ::write(in.write, input.data() + written, input.size() - written);
            if (n > 0) written += static_cast<std::size_t>(n);
            if (written == input.size() || (n < 0 && errno != EAGAIN)) in.close_write();
        }
        for (auto [fd, pipe, text] : {std::tuple(&fds[0], &out, &result.out), std::tuple(&fds[1], &err, &result.err)}) {
            if (!fd->revents) continue;
            ssize_t n = ::read(pipe->read, buffer, sizeof buffer);
            if (n <= 0) pipe->close_read();
            else if (text->size() < max_output) text->append(buffer, static_cast<std::size_t>(n));
        }
    }
    return true;
}

/// It may have closed its ends and go on.
bool ends_within(pid_t pid, double seconds, bool whenever) {
    if (whenever) return true;
    const int fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    if (fd < 0) return true;
    pollfd descriptor{fd, POLLIN, 0};
    const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::clamp(seconds, 0., 1e9)));
    int ready = 0;
    do {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
        ready = poll(&descriptor, 1, static_cast<int>(std::clamp<long>(left, 0, 60000)));
    } while (ready <= 0 && (ready == 0 || errno == EINTR) && Clock::now() < end);
    ::close(fd);
    return ready != 0;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
    std::vector<char*> all;
    for (const std::string& text : texts) all.push_back(const_cast<char*>(text.c_str()));
    all.push_back(nullptr);
    return all;
}

}  // namespace

ProcessEnd run_process(const ChildProcess& process) {
    Pipe in, out, err;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in.read, 0);
    posix_spawn_file_actions_adddup2(&actions, out.write, 1);
    posix_spawn_file_actions_adddup2(&actions, err.write, 2);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    // A group of its own, so that a time-out ends the whole command; default signals.
    sigset_t defaults, none;
    sigfillset(&defaults);
    sigemptyset(&none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setsigmask(&attributes, &none);
    std::vector<char*> argv = pointers(process.words), environment = pointers(process.environment);
    pid_t pid = 0;
    int error = posix_spawn(&pid, argv[0], &actions, &attributes, argv.data(), environment.data());
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    ProcessEnd result;
    if (error != 0) {
        result.how = ProcessEnd::How::not_started;
        result.code = -1;
        result.description = std::strerror(error);
        return result;
    }
    in.close_read();
    out.close_write();
    err.close_write();
    const auto begin = Clock::now();
    const bool in_time = exchange(in, out, err, process.input, result, process.timeout_seconds) &&
                         ends_within(pid, process.timeout_seconds - std::chrono::duration<double>(Clock::now() - begin).count(), process.timeout_seconds < 0);
    if (!in_time) kill(-pid, SIGKILL);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    if (!in_time) {
        result.how = ProcessEnd::How::timeout;
        result.code = -1;
    } else if (WIFEXITED(status)) {
        result.code = WEXITSTATUS(status);
    } else if (WIFSIGNALED(status)) {
        result.how = ProcessEnd::How::killed;
        result.code = WTERMSIG(status);
    }
    return result;
}

std::vector<std::string> shell_words(const std::string& command) { return {"/bin/sh", "-c", command}; }

std::string shell_quoted(const std::string& text) {
    std::string out = "'";
    for (char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
}

std::vector<std::string> own_environment() {
    std::vector<std::string> all;
    for (char** e = environ; *e; ++e) all.emplace_back(*e);
    return all;
}

}  // namespace castile
