#include "tools/isolated.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace castile::tools {

namespace {

constexpr std::size_t max_answer = 256U << 20U;
[[maybe_unused]] constexpr rlim_t max_memory = rlim_t(3) << 30U;

[[noreturn]] void child(int out, const std::function<std::string()>& work, std::chrono::milliseconds limit) {
    rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    const auto seconds = static_cast<rlim_t>(limit.count() / 1000 + 1);
    rlimit processor{seconds, seconds};
    setrlimit(RLIMIT_CPU, &processor);
#ifndef __SANITIZE_ADDRESS__   // which maps more than any limit
    rlimit memory{max_memory, max_memory};
    setrlimit(RLIMIT_DATA, &memory);
#endif
    // What is printed must not reach the editor.
    const int nowhere = open("/dev/null", O_RDWR);
    if (nowhere >= 0) {
        dup2(nowhere, STDIN_FILENO);
        dup2(nowhere, STDOUT_FILENO);
    }
    int code = 1;
    try {
        const std::string answer = work();
        std::size_t done = 0;
        while (done < answer.size()) {
            const ssize_t written = write(out, answer.data() + done, answer.size() - done);
            if (written < 0 && errno == EINTR) continue;
            if (written <= 0) break;
            done += static_cast<std::size_t>(written);
        }
        code = done == answer.size() ? 0 : 1;
    } catch (...) {
    }
    _exit(code);
}

}  // namespace

std::optional<std::string> isolated(const std::function<std::string()>& work, std::chrono::milliseconds limit) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
    const pid_t pid = fork();
    if (pid < 0) {
        close(ends[0]);
        close(ends[1]);
        return std::nullopt;
    }
    if (pid == 0) {
        close(ends[0]);
        child(ends[1], work, limit);
    }
    close(ends[1]);
    std::string answer;
    bool whole = false;
    const auto end = std::chrono::steady_clock::now() + limit;
    char chunk[65536];
    for (;;) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
        if (left <= 0 || answer.size() > max_answer) break;
        pollfd descriptor{ends[0], POLLIN, 0};
        const int ready = poll(&descriptor, 1, static_cast<int>(left));
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) break;
        const ssize_t got = read(ends[0], chunk, sizeof chunk);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) {
            whole = got == 0;
            break;
        }
        answer.append(chunk, static_cast<std::size_t>(got));
    }
    close(ends[0]);
    if (!whole) kill(pid, SIGKILL);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    if (!whole || !WIFEXITED(status) || WEXITSTATUS(status) != 0) return std::nullopt;
    return answer;
}

}  // namespace castile::tools
