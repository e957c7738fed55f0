#pragma once
// The kernel's scheduling classes by words, for a thread of the caller's user: what bench programs run under.
// normal, nice:-20, slice:0.1 (milliseconds), iso:LEVEL (SCHED_EXT; the level is a nice value), fifo:10, rr:10.

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

namespace bench {

struct Attributes {   // the kernel's struct sched_attr, first version
    std::uint32_t size = sizeof(Attributes), policy = SCHED_OTHER;
    std::uint64_t flags = 0;
    std::int32_t nice = 0;
    std::uint32_t priority = 0;
    std::uint64_t runtime = 0, deadline = 0, period = 0;
};

inline bool get_attributes(pid_t thread, Attributes& a) { return syscall(SYS_sched_getattr, thread, &a, static_cast<unsigned>(sizeof a), 0U) == 0; }

/// Empty when it was done, else why not. 0: the calling thread.
inline std::string set_class(pid_t thread, const std::string& word) {
    const auto colon = word.find(':');
    const std::string name = word.substr(0, colon);
    const double value = colon == std::string::npos ? 0. : std::atof(word.c_str() + colon + 1);
    Attributes a;
    if (name == "normal") {
    } else if (name == "nice") {
        a.nice = static_cast<std::int32_t>(value);
    } else if (name == "slice") {
        a.runtime = static_cast<std::uint64_t>(value * 1e6);
    } else if (name == "iso") {
        std::string loaded;
        std::ifstream("/sys/kernel/sched_ext/root/ops") >> loaded;
        if (loaded.empty()) return "no sched_ext scheduler is loaded";
        a.policy = 7;
        a.nice = static_cast<std::int32_t>(value);
    } else if (name == "fifo" || name == "rr") {
        a.policy = name == "rr" ? SCHED_RR : SCHED_FIFO;
        a.priority = static_cast<std::uint32_t>(value);
    } else {
        return "there is no such class";
    }
    if (syscall(SYS_sched_setattr, thread, &a, 0U) != 0) return std::strerror(errno);
    Attributes got;
    if (name == "slice" && (!get_attributes(thread, got) || got.runtime != a.runtime)) return "this kernel has no slices";
    return {};
}

}  // namespace bench
