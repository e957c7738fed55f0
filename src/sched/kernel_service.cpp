// Asking the kernel. Every call names the thread, so that one thread may ask for all.

#include "sched/kernel_service.h"

#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>

#include "base/log.h"
#include "base/sched_attributes.h"
#include "sched/iso_queue.h"

namespace castile {

namespace {

constexpr int realtime_priority = 5;   // above normal work; below sound servers and the kernel's own threads
constexpr int wanted_nice = -11;

std::string system_error() { return std::strerror(errno); }

// --- The safety net: a real-time thread that uses the processor without a pause ---------------------------------------

/// Threads that run in real time now; the handler of SIGXCPU makes them normal. Kept in an array: a handler takes no lock.
std::array<std::atomic<pid_t>, 1024> realtime_threads{};
std::atomic<unsigned> rescues = 0;

void rescue(int) noexcept {
    const int before = errno;
    for (auto& slot : realtime_threads) {
        const pid_t id = slot.load(std::memory_order_relaxed);
        if (id == 0) continue;
        const sched_param normal{};
        syscall(SYS_sched_setscheduler, id, SCHED_OTHER | SCHED_RESET_ON_FORK, &normal);
    }
    rescues.fetch_add(1);
    errno = before;
}

void note_realtime(pid_t id) noexcept {
    for (auto& slot : realtime_threads) {
        pid_t free = 0;
        if (slot.load() == id || slot.compare_exchange_strong(free, id)) return;
    }
}

void forget_realtime(pid_t id) noexcept {
    for (auto& slot : realtime_threads) {
        pid_t mine = id;
        slot.compare_exchange_strong(mine, 0);
    }
}

/// At `soft` of real time without a pause SIGXCPU comes, at `hard` the kernel kills (infinity: never).
bool limit_realtime(rlim_t soft_microseconds, rlim_t hard_microseconds) noexcept {
    struct sigaction current{};
    if (sigaction(SIGXCPU, nullptr, &current) != 0) return false;
    if (current.sa_handler == SIG_DFL) {
        struct sigaction ours{};
        ours.sa_handler = rescue;
        ours.sa_flags = SA_RESTART;
        if (sigaction(SIGXCPU, &ours, nullptr) != 0) return false;
    }
    rlimit limit{};
    if (getrlimit(RLIMIT_RTTIME, &limit) != 0) return false;
    limit.rlim_max = std::min(limit.rlim_max, hard_microseconds);
    limit.rlim_cur = std::min({limit.rlim_cur, limit.rlim_max, soft_microseconds});
    return setrlimit(RLIMIT_RTTIME, &limit) == 0;
}

// --- rtkit ----------------------------------------------------------------------------------------------------------

/// The few calls of sd-bus that we need, found in libsystemd where there is one.
struct Bus {
    using Open = int(void**);
    using Call = int(void*, const char*, const char*, const char*, const char*, void*, void**, const char*, ...);
    using Close = void*(void*);
    using SetTimeout = int(void*, std::uint64_t);
    Open* open = nullptr;
    Call* call = nullptr;
    Close* close = nullptr;
    SetTimeout* set_timeout = nullptr;

    Bus() {
        void* library = dlopen("libsystemd.so.0", RTLD_NOW | RTLD_LOCAL);
        if (!library) return;
        open = reinterpret_cast<Open*>(dlsym(library, "sd_bus_open_system"));
        call = reinterpret_cast<Call*>(dlsym(library, "sd_bus_call_method"));
        close = reinterpret_cast<Close*>(dlsym(library, "sd_bus_flush_close_unref"));
        set_timeout = reinterpret_cast<SetTimeout*>(dlsym(library, "sd_bus_set_method_call_timeout"));
    }
    bool usable() const noexcept { return open && call && close && set_timeout; }
};

/// Empty when it was done, else why not.
std::string ask_rtkit(pid_t id) {
    if (!std::getenv("DBUS_SYSTEM_BUS_ADDRESS") && access("/run/dbus/system_bus_socket", F_OK) != 0) return "no system bus";
    static const Bus bus;
    if (!bus.usable()) return "no libsystemd";
    // rtkit insists on a limit, and on at most 200 ms.
    if (!limit_realtime(100'000, 200'000)) return system_error();
    void* connection = nullptr;
    if (const int error = bus.open(&connection); error < 0) return std::strerror(-error);
    bus.set_timeout(connection, 500'000);
    const int answer = bus.call(connection, "org.freedesktop.RealtimeKit1", "/org/freedesktop/RealtimeKit1", "org.freedesktop.RealtimeKit1",
                                "MakeThreadRealtime", nullptr, nullptr, "tu", static_cast<std::uint64_t>(id),
                                static_cast<std::uint32_t>(realtime_priority));
    bus.close(connection);
    return answer < 0 ? std::strerror(-answer) : std::string();
}

/// The sched_ext scheduler that is loaded; empty: none.
std::string sched_ext_scheduler() {
    std::ifstream file("/sys/kernel/sched_ext/root/ops");
    std::string name;
    std::getline(file, name);
    return name;
}

}  // namespace

bool isochronous_class_loaded() { return sched_ext_scheduler().starts_with("castile_iso"); }

// The isochronous class is what we want: real-time that cannot starve the machine. With another sched_ext scheduler the
// policy is accepted and means nothing.
std::optional<std::vector<KernelService>> kernel_services(const std::string& setting, bool isochronous_class) {
    using enum KernelService;
    if (setting == "auto") return isochronous_class ? std::vector{ext, rr, fifo, rtkit, slice, nice} : std::vector{rr, fifo, rtkit, slice, nice};
    for (const auto& [word, service] : {std::pair{"fifo", fifo}, {"rr", rr}, {"rtkit", rtkit}, {"ext", ext}, {"slice", slice}, {"nice", nice}, {"none", none}})
        if (setting == word) return service == none ? std::vector<KernelService>{} : std::vector{service};
    return std::nullopt;
}

struct KernelThread::Impl {
    pid_t id = 0;
    Limits limits;
    KernelService service = KernelService::none;
    std::string description = "none", refusals;
    SchedAttributes before;
    detail::Share share;
    std::atomic<bool> lost = false;
    unsigned rescues_seen = 0;
    Instant lost_since{};

    bool realtime() const noexcept { return service == KernelService::fifo || service == KernelService::rr || service == KernelService::rtkit; }
    std::string ask(KernelService wanted);   ///< Empty when it was granted, else why not.
    bool take_back() noexcept;               ///< real time again
    void give_up(Instant now) noexcept;
};

std::string KernelThread::Impl::ask(KernelService wanted) {
    SchedAttributes a;
    switch (wanted) {
        case KernelService::none: return {};
        case KernelService::fifo:
        case KernelService::rr:
            a.policy = wanted == KernelService::rr ? SCHED_RR : SCHED_FIFO;
            a.priority = realtime_priority;
            if (limits.limit < 1. && !limit_realtime(500'000, RLIM_INFINITY)) return system_error();
            if (!set_sched_attributes(id, a)) return system_error();
            description = fmt::format("SCHED_{}, priority {}", wanted == KernelService::rr ? "RR" : "FIFO", realtime_priority);
            return {};
        case KernelService::rtkit: {
            std::string refused = ask_rtkit(id);
            if (refused.empty()) description = fmt::format("real time by rtkit, priority {}", realtime_priority);
            return refused;
        }
        case KernelService::ext: {
            const std::string scheduler = sched_ext_scheduler();
            if (scheduler.empty()) return "no scheduler is loaded";
            a.policy = sched_ext_policy;
            // The level. One below the highest: a sound server goes first. Not lower, since it is what is left if the class goes away.
            a.nice = std::max(before.nice, 1);
            if (!set_sched_attributes(id, a)) return system_error();
            description = fmt::format("SCHED_EXT ({})", scheduler);
            return {};
        }
        case KernelService::slice:
            a.nice = before.nice;
            a.runtime = static_cast<std::uint64_t>(limits.slice.count());
            if (!set_sched_attributes(id, a)) return system_error();
            if (get_sched_attributes(id).runtime != a.runtime) return "this kernel has none";
            description = fmt::format("a slice of {} ms", std::chrono::duration<double, std::milli>(limits.slice).count());
            return {};
        case KernelService::nice:
            a.nice = std::min(before.nice, wanted_nice);
            if (!set_sched_attributes(id, a)) return system_error();
            description = fmt::format("nice {}", a.nice);
            return {};
    }
    return {};
}

bool KernelThread::Impl::take_back() noexcept {
    if (service == KernelService::rtkit) {
        try {
            return ask_rtkit(id).empty();
        } catch (...) {
            return false;
        }
    }
    SchedAttributes a;
    a.policy = service == KernelService::rr ? SCHED_RR : SCHED_FIFO;
    a.priority = realtime_priority;
    return set_sched_attributes(id, a);
}

void KernelThread::Impl::give_up(Instant now) noexcept {
    forget_realtime(id);
    SchedAttributes normal;
    normal.nice = before.nice;
    set_sched_attributes(id, normal);
    lost_since = now;
    lost.store(true, std::memory_order_relaxed);
}

KernelThread::KernelThread(pid_t id, const std::vector<KernelService>& wanted, Limits limits) : impl_(std::make_unique<Impl>()) {
    impl_->id = id;
    impl_->limits = limits;
    impl_->before = get_sched_attributes(id);
    impl_->rescues_seen = rescues.load();
    // It begins just under the limit: who wants more than the machine has from the start on loses real-time within a second.
    impl_->share.begin(0.9 * limits.limit, system_time().now());
    for (const KernelService service : wanted) {
        const std::string refused = impl_->ask(service);
        if (refused.empty()) {
            impl_->service = service;
            if (impl_->realtime()) note_realtime(id);
            return;
        }
        static constexpr const char* names[] = {"none", "nice", "slice", "sched_ext", "rtkit", "SCHED_RR", "SCHED_FIFO"};
        impl_->refusals += fmt::format("{}{}: {}", impl_->refusals.empty() ? "" : "; ", names[static_cast<std::size_t>(service)], refused);
    }
}

KernelThread::~KernelThread() {
    if (impl_->realtime()) forget_realtime(impl_->id);
    if (impl_->service == KernelService::none) return;
    SchedAttributes normal;
    normal.nice = impl_->before.nice;
    normal.flags = 0;
    set_sched_attributes(impl_->id, normal);
}

KernelService KernelThread::service() const noexcept { return impl_->service; }
const std::string& KernelThread::description() const noexcept { return impl_->description; }
const std::string& KernelThread::refusals() const noexcept { return impl_->refusals; }
bool KernelThread::lost() const noexcept { return impl_->lost.load(std::memory_order_relaxed); }

void KernelThread::account(Duration busy, Instant now) noexcept {
    Impl& t = *impl_;
    if (!t.realtime()) return;
    t.share.add(busy, now, t.limits.period);
    const double share = t.share.at(now, t.limits.period);
    if (!t.lost) {
        const bool rescued = t.rescues_seen != rescues.load(std::memory_order_relaxed);
        if (rescued || (t.limits.limit < 1. && share > t.limits.limit)) t.give_up(now);
    } else if (share < 0.9 * t.limits.limit && now - t.lost_since > std::chrono::seconds(1)) {
        t.rescues_seen = rescues.load();
        note_realtime(t.id);
        if (t.take_back()) t.lost.store(false, std::memory_order_relaxed);
        else t.give_up(now);
    }
}

void leave_kernel_service() noexcept {
    if ((sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) != sched_ext_policy) return;
    SchedAttributes normal = get_sched_attributes(0);
    normal.policy = SCHED_OTHER;
    set_sched_attributes(0, normal);
}

std::optional<std::string> lock_memory() {
    // What is never used need not be there: MCL_ONFAULT.
    if (mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) == 0) return std::nullopt;
    return system_error();
}

}  // namespace castile
