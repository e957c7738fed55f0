#pragma once
// What this machine has: the scheduler, or what is missing for it and what serves best instead.

#include <sys/types.h>

#include <optional>
#include <string>

namespace castile::iso {

inline constexpr const char* scheduler_name = "castile_iso";
inline constexpr const char* socket_path = "/run/castile/isod.sock";

/// The sched_ext scheduler that is loaded; empty: none is.
std::string loaded_scheduler();
/// Why this kernel cannot have it, in one sentence without its end.
std::optional<std::string> kernel_lacks();
/// Why the class is not to be had now: the kernel, nobody started it, another scheduler. Empty: it is there.
std::optional<std::string> class_missing();

struct Service {
    bool isochronous = false;
    std::string description;  ///< "isochronous, level 17", "a slice of 0.1 ms", ...; empty when all was refused
};

/// Gives thread `id` (0: the caller) the class with the level of a real-time priority (1 to 99), or the best substitute it
/// may have. `inherit`: so do its children and the threads it makes.
Service serve(pid_t id, int priority, bool inherit);
/// What an administrator could allow, where the class is missing.
std::string better_advice();

}  // namespace castile::iso
