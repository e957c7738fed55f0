#include "adopt.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

#include "base/sched_attributes.h"
#include "machine.h"

namespace castile::iso {

namespace {

enum class Call { set_scheduler, set_parameters, set_attributes, get_scheduler, get_parameters };

struct Watched {
    std::uint32_t architecture;
    std::uint32_t number;
    Call call;
};

// What a program can ask with, by any C library or none. The 32-bit calls of an x86-64 kernel have numbers of their own.
constexpr std::array watched{
#if defined(__x86_64__)
    Watched{AUDIT_ARCH_X86_64, SYS_sched_setscheduler, Call::set_scheduler}, Watched{AUDIT_ARCH_X86_64, SYS_sched_setparam, Call::set_parameters},
    Watched{AUDIT_ARCH_X86_64, SYS_sched_setattr, Call::set_attributes},     Watched{AUDIT_ARCH_X86_64, SYS_sched_getscheduler, Call::get_scheduler},
    Watched{AUDIT_ARCH_X86_64, SYS_sched_getparam, Call::get_parameters},    Watched{AUDIT_ARCH_I386, 156, Call::set_scheduler},
    Watched{AUDIT_ARCH_I386, 154, Call::set_parameters},                     Watched{AUDIT_ARCH_I386, 351, Call::set_attributes},
    Watched{AUDIT_ARCH_I386, 157, Call::get_scheduler},                      Watched{AUDIT_ARCH_I386, 155, Call::get_parameters},
#elif defined(__aarch64__)
    Watched{AUDIT_ARCH_AARCH64, SYS_sched_setscheduler, Call::set_scheduler}, Watched{AUDIT_ARCH_AARCH64, SYS_sched_setparam, Call::set_parameters},
    Watched{AUDIT_ARCH_AARCH64, SYS_sched_setattr, Call::set_attributes},     Watched{AUDIT_ARCH_AARCH64, SYS_sched_getscheduler, Call::get_scheduler},
    Watched{AUDIT_ARCH_AARCH64, SYS_sched_getparam, Call::get_parameters},
#endif
};

constexpr std::uint32_t x32_bit = 0x40000000;

std::vector<sock_filter> filter() {
    std::vector<sock_filter> code;
    for (const Watched& w : watched) {
        code.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)));
        code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, w.architecture, 0, 4));
        code.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
        code.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, ~x32_bit));
        code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, w.number, 0, 1));
        code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF));
    }
    code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    return code;
}

/// A byte, and room for a descriptor beside it.
struct DescriptorMessage {
    DescriptorMessage() = default;
    DescriptorMessage(const DescriptorMessage&) = delete;
    char byte = 0;
    iovec data{&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{.msg_iov = &data, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
};

bool send_descriptor(int channel, int descriptor) {
    DescriptorMessage of_one;
    msghdr& message = of_one.message;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    return sendmsg(channel, &message, 0) == 1;
}

int receive_descriptor(int channel) {
    DescriptorMessage of_one;
    msghdr& message = of_one.message;
    if (recvmsg(channel, &message, MSG_CMSG_CLOEXEC) != 1) return -1;
    const cmsghdr* header = CMSG_FIRSTHDR(&message);
    if (!header || header->cmsg_type != SCM_RIGHTS) return -1;
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
    return descriptor;
}

[[noreturn]] void start(char** command, int channel) {
    std::vector<sock_filter> code = filter();
    const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        fmt::print(stderr, "castile-iso: no_new_privs: {}.\n", std::strerror(errno));
        std::_Exit(126);
    }
    // A program that a signal finds in such a call would otherwise ask twice; older kernels cannot wait.
    long listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &program);
    if (listener < 0) listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
    if (listener < 0 || !send_descriptor(channel, static_cast<int>(listener))) {
        fmt::print(stderr, "castile-iso: --adopt needs seccomp user notification: {}{}.\n", std::strerror(errno),
                   errno == EBUSY ? " (the program that started this one uses it already)" : "");
        std::_Exit(126);
    }
    close(static_cast<int>(listener));
    close(channel);
    execvp(command[0], command);
    fmt::print(stderr, "castile-iso: {}: {}.\n", command[0], std::strerror(errno));
    std::_Exit(errno == ENOENT ? 127 : 126);
}

class Supervisor {
  public:
    Supervisor(int listener, bool verbose) : listener_(listener), verbose_(verbose) {
        seccomp_notif_sizes sizes{};
        syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes);
        request_.resize(std::max<std::size_t>(sizes.seccomp_notif, sizeof(seccomp_notif)));
        response_.resize(std::max<std::size_t>(sizes.seccomp_notif_resp, sizeof(seccomp_notif_resp)));
    }

    /// One request.
    void serve() {
        std::fill(request_.begin(), request_.end(), 0);
        std::fill(response_.begin(), response_.end(), 0);
        auto& request = *reinterpret_cast<seccomp_notif*>(request_.data());
        auto& response = *reinterpret_cast<seccomp_notif_resp*>(response_.data());
        if (ioctl(listener_, SECCOMP_IOCTL_NOTIF_RECV, &request) != 0) return;
        response.id = request.id;
        decide(request, response);
        ioctl(listener_, SECCOMP_IOCTL_NOTIF_SEND, &response);
    }

  private:
    struct Asked {
        int policy, priority;
    };

    static void go_on(seccomp_notif_resp& response) { response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE; }

    /// Reads the asker's memory; false when it cannot or the asker is gone, whose number may be another's by now.
    bool read(const seccomp_notif& request, std::uint64_t address, void* to, std::size_t size) const {
        const iovec local{to, size};
        const iovec remote{reinterpret_cast<void*>(address), size};
        return process_vm_readv(static_cast<pid_t>(request.pid), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size) && valid(request);
    }
    bool valid(const seccomp_notif& request) const { return ioctl(listener_, SECCOMP_IOCTL_NOTIF_ID_VALID, &request.id) == 0; }

    void decide(const seccomp_notif& request, seccomp_notif_resp& response) {
        const seccomp_data& data = request.data;
        const auto number = static_cast<std::uint32_t>(data.nr) & ~x32_bit;
        const auto asked = static_cast<pid_t>(data.args[0]);
        const pid_t thread = asked == 0 ? static_cast<pid_t>(request.pid) : asked;
        for (const Watched& w : watched) {
            if (w.architecture != data.arch || w.number != number) continue;
            std::int32_t priority = 0;
            switch (w.call) {
                case Call::set_scheduler:
                    if (!read(request, data.args[2], &priority, sizeof priority)) return go_on(response);
                    return set(thread, static_cast<int>(data.args[1]) & ~SCHED_RESET_ON_FORK, priority, response);
                case Call::set_parameters: {
                    // A new priority for who is in the class already.
                    const auto known = adopted_.find(thread);
                    if (known == adopted_.end() || !read(request, data.args[1], &priority, sizeof priority)) return go_on(response);
                    return set(thread, known->second.policy, priority, response);
                }
                case Call::set_attributes: {
                    struct {
                        std::uint32_t size, policy;
                        std::uint64_t flags;
                        std::int32_t nice;
                        std::uint32_t priority;
                    } attributes{};
                    if (!read(request, data.args[1], &attributes, sizeof attributes)) return go_on(response);
                    return set(thread, static_cast<int>(attributes.policy), static_cast<int>(attributes.priority), response);
                }
                case Call::get_scheduler:
                case Call::get_parameters: {
                    // Whoever looks whether it was granted sees what it asked for, as long as that is so.
                    const auto known = adopted_.find(thread);
                    if (known == adopted_.end() || (sched_getscheduler(thread) & ~SCHED_RESET_ON_FORK) != sched_ext_policy) return go_on(response);
                    if (w.call == Call::get_scheduler) {
                        response.val = known->second.policy;
                        return;
                    }
                    const std::int32_t value = known->second.priority;
                    const iovec local{const_cast<std::int32_t*>(&value), sizeof value};
                    const iovec remote{reinterpret_cast<void*>(data.args[1]), sizeof value};
                    if (!valid(request) || process_vm_writev(static_cast<pid_t>(request.pid), &local, 1, &remote, 1, 0) != sizeof value) go_on(response);
                    return;
                }
            }
        }
        go_on(response);
    }

    void set(pid_t thread, int policy, int priority, seccomp_notif_resp& response) {
        if (policy != SCHED_FIFO && policy != SCHED_RR) {
            adopted_.erase(thread);
            return go_on(response);
        }
        if (priority < 1 || priority > 99) {
            response.error = -EINVAL;
            return;
        }
        const Service service = serve_thread(thread, priority);
        if (verbose_ || (!service.isochronous && !told_)) {
            fmt::print(stderr, "castile-iso: thread {} asked for SCHED_{}, priority {}: {}.\n", thread, policy == SCHED_FIFO ? "FIFO" : "RR", priority,
                       service.description.empty() ? "refused" : service.description);
            told_ = true;
        }
        if (service.description.empty()) return go_on(response);
        if (adopted_.size() >= most_threads) adopted_.clear();
        adopted_[thread] = {policy, priority};
    }

    static Service serve_thread(pid_t thread, int priority) { return castile::iso::serve(thread, priority, false); }

    static constexpr std::size_t most_threads = 10'000;  // numbers of threads that ended stay until then
    int listener_;
    bool verbose_, told_ = false;
    std::vector<char> request_, response_;
    std::map<pid_t, Asked> adopted_;
};

int status_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

}  // namespace

int run_adopted(char** command, bool verbose) {
    int channel[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel) != 0) {
        fmt::print(stderr, "castile-iso: socketpair: {}.\n", std::strerror(errno));
        return 126;
    }
    // What is sent to us is meant for the command. Stops (SIGTSTP) reach both, as all signals of a terminal do.
    sigset_t forwarded, before;
    sigemptyset(&forwarded);
    for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH, SIGCHLD}) sigaddset(&forwarded, signal);
    sigprocmask(SIG_BLOCK, &forwarded, &before);
    const pid_t child = fork();
    if (child < 0) {
        fmt::print(stderr, "castile-iso: fork: {}.\n", std::strerror(errno));
        return 126;
    }
    if (child == 0) {
        sigprocmask(SIG_SETMASK, &before, nullptr);
        close(channel[0]);
        start(command, channel[1]);
    }
    close(channel[1]);
    const int listener = receive_descriptor(channel[0]);
    close(channel[0]);
    int status = 0;
    if (listener < 0) {
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
        return status_of(status);
    }
    const int signals = signalfd(-1, &forwarded, SFD_CLOEXEC | SFD_NONBLOCK);
    Supervisor supervisor(listener, verbose);
    bool gone = false;
    for (;;) {
        pollfd polled[] = {{listener, POLLIN, 0}, {signals, POLLIN, 0}};
        if (poll(polled, gone ? 1 : 2, -1) < 0 && errno != EINTR) break;
        if (!gone && polled[1].revents != 0) {
            signalfd_siginfo info{};
            while (read(signals, &info, sizeof info) == static_cast<ssize_t>(sizeof info))
                if (info.ssi_signo != SIGCHLD && info.ssi_code <= 0) kill(child, static_cast<int>(info.ssi_signo));
            if (waitpid(child, &status, WNOHANG) == child) {
                // What it left running goes on being served, by a copy; who waits for the command has its answer.
                gone = true;
                pollfd left{listener, POLLIN, 0};
                if ((poll(&left, 1, 0) > 0 && (left.revents & POLLHUP)) || fork() != 0) break;
                setsid();
                if (const int null = open("/dev/null", O_RDWR | O_CLOEXEC); null >= 0)
                    for (int standard = 0; standard < 3; ++standard) dup2(null, standard);
            }
        }
        if (polled[0].revents & POLLIN) supervisor.serve();
        else if (polled[0].revents & (POLLHUP | POLLERR)) {
            if (gone) std::_Exit(0);
            polled[0].fd = -1;
            while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
            break;
        }
    }
    return status_of(status);
}

}  // namespace castile::iso
