#pragma once
// What the kernel gives to a thread that runs clocks: real-time, a short slice, a better nice value, or nothing.

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sched/time.h"

namespace castile {

enum class KernelService { none, nice, slice, ext, rtkit, rr, fifo };

/// Is Castile's own kernel scheduler (kernel/) the one that is loaded?
bool isochronous_class_loaded();

/// What settings.scheduler.kernel means: the services to try, best first. nullopt: no such word.
std::optional<std::vector<KernelService>> kernel_services(const std::string& setting, bool isochronous_class = isochronous_class_loaded());

/// The service of one thread, from construction to destruction. Threads and processes that it starts do not inherit it.
/// Real-time holds up to the isochronous limit: a thread that was awake for more than `limit` of its time (average over
/// `period`) runs as a normal one until it is under 90 % of that. One that never looks at the clock again loses it by
/// RLIMIT_RTTIME. So the machine is not starved, unless `limit` is 1.
class KernelThread {
public:
    struct Limits {
        double limit = 0.7;
        Duration period = std::chrono::seconds(5);
        Duration slice = std::chrono::milliseconds(2);   ///< asked of EEVDF
    };
    /// For the thread `id` (gettid) of this process; from any thread. Never fails: `none` is what is left.
    KernelThread(pid_t id, const std::vector<KernelService>& wanted, Limits limits);
    ~KernelThread();
    KernelThread(const KernelThread&) = delete;

    KernelService service() const noexcept;
    const std::string& description() const noexcept;   ///< "SCHED_RR, priority 5"
    const std::string& refusals() const noexcept;      ///< "rtkit: no such service; ...", of what was tried before
    bool lost() const noexcept;                        ///< for now, being over the limit. Any thread.

    /// The thread itself was awake for `busy` until `now`.
    void account(Duration busy, Instant now) noexcept;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// For a thread that runs no clock: it leaves the isochronous class if the thread that made it is in there. (The kernel resets
/// real-time and nice values itself, this policy not.)
void leave_kernel_service() noexcept;

/// Asks that no page of the process is swapped out. The reason when refused.
std::optional<std::string> lock_memory();

}  // namespace castile
