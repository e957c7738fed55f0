#pragma once
// sched_setattr(2) and sched_getattr(2), which C libraries have only lately.

#include <sched.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdint>

namespace castile {

constexpr int sched_ext_policy = 7;
constexpr std::uint64_t reset_on_fork = 1;

/// The kernel's struct sched_attr, first version; newer C libraries declare one of their own.
struct SchedAttributes {
    std::uint32_t size = sizeof(SchedAttributes);
    std::uint32_t policy = SCHED_OTHER;
    std::uint64_t flags = reset_on_fork;
    std::int32_t nice = 0;
    std::uint32_t priority = 0;
    std::uint64_t runtime = 0, deadline = 0, period = 0;
};

inline bool set_sched_attributes(pid_t id, SchedAttributes attributes) noexcept { return syscall(SYS_sched_setattr, id, &attributes, 0U) == 0; }

inline SchedAttributes get_sched_attributes(pid_t id) noexcept {
    SchedAttributes attributes;
    if (syscall(SYS_sched_getattr, id, &attributes, static_cast<unsigned>(sizeof attributes), 0U) != 0) return {};
    return attributes;
}

}  // namespace castile
