#include "machine.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>

#include "base/sched_attributes.h"
#include "iso_math.h"

namespace castile::iso {

namespace {

constexpr std::uint64_t short_slice = 100'000;  // ns, the least that EEVDF takes
constexpr int wanted_nice = -11;
constexpr long highest_realtime = 49;  // below the kernel's own threads: there is no limit then

std::string first_line(const char* path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

long limit(__rlimit_resource what) {
    rlimit value{};
    return getrlimit(what, &value) != 0 ? 0 : value.rlim_cur == RLIM_INFINITY ? 99 : static_cast<long>(value.rlim_cur);
}

}  // namespace

std::string loaded_scheduler() {
    if (first_line("/sys/kernel/sched_ext/state") != "enabled") return {};
    const std::string name = first_line("/sys/kernel/sched_ext/root/ops");
    return name.empty() ? "unknown" : name;
}

std::optional<std::string> kernel_lacks() {
    utsname system{};
    uname(&system);
    if (access("/sys/kernel/sched_ext/state", R_OK) != 0)
        return fmt::format("this kernel ({}) has no sched_ext: it takes Linux 6.16 or newer with CONFIG_SCHED_CLASS_EXT", system.release);
    if (access("/sys/kernel/btf/vmlinux", R_OK) != 0)
        return fmt::format("this kernel ({}) does not describe its types: it takes CONFIG_DEBUG_INFO_BTF (/sys/kernel/btf/vmlinux)", system.release);
    return std::nullopt;
}

std::optional<std::string> class_missing() {
    const std::string loaded = loaded_scheduler();
    if (loaded.starts_with(scheduler_name)) return std::nullopt;
    if (!loaded.empty()) return fmt::format("the scheduler \"{}\" is loaded in its place", loaded);
    if (auto lacks = kernel_lacks()) return lacks;
    return "castile-isod does not run";
}

Service serve(pid_t id, int priority, bool inherit) {
    const SchedAttributes before = get_sched_attributes(id);
    const int nice = iso_nice_of_priority(priority);
    SchedAttributes a{.policy = sched_ext_policy, .flags = inherit ? 0 : reset_on_fork, .nice = nice};
    const bool missing = class_missing().has_value();
    if (!missing) {
        // By way of another policy: who has this one from its maker is not in the class until it asks.
        if (before.policy == sched_ext_policy) set_sched_attributes(id, {.flags = a.flags, .nice = before.nice});
        // A nice value cannot be lowered without a privilege: then the level is what it has.
        for (const int level : {nice, std::max(nice, static_cast<int>(before.nice))}) {
            a.nice = level;
            if (set_sched_attributes(id, a)) return {true, fmt::format("isochronous, level {} of {}", iso_level_of_nice(level), ISO_LEVELS)};
        }
    }
    const long realtime = geteuid() == 0 ? 99 : limit(RLIMIT_RTPRIO);
    if (realtime > 0) {
        const SchedAttributes rr{.policy = SCHED_RR, .flags = a.flags, .priority = static_cast<std::uint32_t>(std::clamp<long>(priority, 1, std::min(realtime, highest_realtime)))};
        if (set_sched_attributes(id, rr)) return {false, fmt::format("SCHED_RR, priority {}, without a limit", rr.priority)};
    }
    // The policy is taken even when no scheduler is loaded, and one that comes later finds it. Under the kernel's own the slice counts.
    a.nice = std::max(wanted_nice, 20 - static_cast<int>(limit(RLIMIT_NICE)));
    if (a.nice >= before.nice) a.nice = before.nice;
    a.runtime = short_slice;
    for (const std::uint32_t policy : {static_cast<std::uint32_t>(sched_ext_policy), static_cast<std::uint32_t>(SCHED_OTHER)}) {
        a.policy = policy;
        if (!set_sched_attributes(id, a)) continue;
        std::string text;
        if (get_sched_attributes(id).runtime == short_slice) text = "a slice of 0.1 ms";
        if (a.nice < before.nice) text += fmt::format("{}nice {}", text.empty() ? "" : " and ", a.nice);
        if (!text.empty() || policy == SCHED_OTHER) return {false, text};
    }
    return {};
}

std::string better_advice() {
    std::string text = "better: allow real time by RLIMIT_RTPRIO (a line \"@audio - rtprio 95\" in /etc/security/limits.d)";
    if (access("/usr/libexec/rtkit-daemon", X_OK) == 0) return text + " or ask rtkit, which is installed";
    return text + " or install rtkit";
}

}  // namespace castile::iso
