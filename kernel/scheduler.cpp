#include "scheduler.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <utility>

#include "machine.h"

// The object file, whole.
asm(".section .rodata\n"
    ".balign 16\n"
    ".globl castile_iso_object\n"
    ".globl castile_iso_object_end\n"
    "castile_iso_object: .incbin \"" CASTILE_ISO_OBJECT "\"\n"
    "castile_iso_object_end: .byte 0\n"
    ".previous\n");
extern "C" const unsigned char castile_iso_object[], castile_iso_object_end[];

namespace castile::iso {

namespace {

bool tell_all = false;
std::string last_warning;  // of libbpf, for the one line that is printed

int print(libbpf_print_level level, const char* format, va_list arguments) {
    char text[1000];
    va_list copy;
    va_copy(copy, arguments);
    std::vsnprintf(text, sizeof text, format, copy);
    va_end(copy);
    if (tell_all && level != LIBBPF_DEBUG) std::vfprintf(stderr, format, arguments);  // a verifier's log is long
    // The first warning names the cause, the verifier's log aside.
    if (level == LIBBPF_WARN && last_warning.empty()) {
        last_warning = text;
        while (!last_warning.empty() && last_warning.back() == '\n') last_warning.pop_back();
        if (last_warning.starts_with("libbpf: ")) last_warning.erase(0, 8);
        if (const auto end = last_warning.find('\n'); end != std::string::npos) last_warning.erase(end);
    }
    return 0;
}

}  // namespace

struct Scheduler::Impl {
    bpf_object* object = nullptr;
    bpf_link* link = nullptr;
    iso_shared* shared = nullptr;
    unsigned cpus = 0;

    ~Impl() {
        if (link) bpf_link__destroy(link);
        if (shared) munmap(shared, sizeof *shared);
        if (object) bpf_object__close(object);
    }
    template <typename T>
    T* section(const char* name) {
        bpf_map* map = bpf_object__find_map_by_name(object, name);
        std::size_t size = 0;
        void* value = map ? bpf_map__initial_value(map, &size) : nullptr;
        return size >= sizeof(T) ? static_cast<T*>(value) : nullptr;
    }
};

std::expected<std::unique_ptr<Scheduler>, std::string> Scheduler::load(const iso_tunables& tunables, unsigned mutation, bool verbose) {
    if (auto lacks = kernel_lacks()) return std::unexpected(*lacks);
    if (geteuid() != 0) return std::unexpected("loading a scheduler takes root's privileges (CAP_SYS_ADMIN)");
    if (const std::string loaded = loaded_scheduler(); !loaded.empty()) return std::unexpected(fmt::format("the scheduler \"{}\" is loaded already: stop it first", loaded));
    tell_all = verbose;
    last_warning.clear();
    libbpf_set_print(print);

    auto impl = std::make_unique<Impl>();
    const int cpus = libbpf_num_possible_cpus();
    if (cpus <= 0 || cpus > ISO_MAX_CPUS) return std::unexpected(fmt::format("this machine may have {} CPUs, the scheduler knows at most {}", cpus, ISO_MAX_CPUS));
    impl->cpus = static_cast<unsigned>(cpus);
    impl->object = bpf_object__open_mem(castile_iso_object, static_cast<std::size_t>(castile_iso_object_end - castile_iso_object), nullptr);
    if (!impl->object) return std::unexpected(fmt::format("the BPF object cannot be read: {}", last_warning));
    auto* setup = impl->section<iso_setup>(".rodata.setup");
    auto* initial = impl->section<iso_shared>(".data.shared");
    if (!setup || !initial) return std::unexpected("the BPF object does not fit this program");
    *setup = {.cpu_count = impl->cpus, .mutation = mutation};
    initial->tunables = tunables;
    if (const int error = bpf_object__load(impl->object); error != 0) {
        if (error == -EPERM) return std::unexpected("the kernel does not let this user load BPF programs (CAP_BPF, CAP_PERFMON, CAP_SYS_ADMIN)");
        return std::unexpected(fmt::format("this kernel does not take the scheduler: {} ({})", last_warning.empty() ? "no reason given" : last_warning, std::strerror(-error)));
    }
    // Only a generated skeleton would have this mapped by libbpf.
    void* mapped = mmap(nullptr, sizeof(iso_shared), PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(bpf_object__find_map_by_name(impl->object, ".data.shared")), 0);
    if (mapped == MAP_FAILED) return std::unexpected(fmt::format("the scheduler's memory cannot be mapped: {}", std::strerror(errno)));
    impl->shared = static_cast<iso_shared*>(mapped);
    impl->link = bpf_map__attach_struct_ops(bpf_object__find_map_by_name(impl->object, scheduler_name));
    if (!impl->link) {
        const int error = errno;
        if (error == EBUSY) return std::unexpected("another scheduler was loaded at the same time");
        return std::unexpected(fmt::format("the scheduler cannot be attached: {}", std::strerror(error)));
    }
    return std::unique_ptr<Scheduler>(new Scheduler(std::move(impl)));
}

Scheduler::Scheduler(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
Scheduler::~Scheduler() = default;

iso_shared& Scheduler::shared() noexcept { return *impl_->shared; }
unsigned Scheduler::cpus() const noexcept { return impl_->cpus; }
bool Scheduler::ended() noexcept { return *static_cast<volatile iso_s64*>(&impl_->shared->exit_kind) != 0; }

bool Scheduler::restart_wanted() noexcept {
    constexpr std::int64_t action_restart = 1LL << 48;  // SCX_ECODE_ACT_RESTART
    return ended() && (impl_->shared->exit_code & action_restart) != 0;
}

std::string Scheduler::end_reason() {
    const iso_shared& s = *impl_->shared;
    return fmt::format("{}{}{}", s.exit_reason, s.exit_message[0] ? ": " : "", s.exit_message);
}

}  // namespace castile::iso
