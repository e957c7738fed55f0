// runtime.*: memory and CPU of the process, and the collector's functions that scripts written for Liquidsoap call.

#include "base/memory.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "base/name.h"
#include "builtins/define.h"
#include "builtins/environment.h"

namespace castile::builtins {

namespace {

/// A field of /proc/meminfo in bytes.
std::int64_t machine_memory(const char* field) {
    std::FILE* file = std::fopen("/proc/meminfo", "re");
    if (!file) return 0;
    std::int64_t found = 0;
    char line[256];
    while (std::fgets(line, sizeof line, file))
        if (std::strncmp(line, field, std::strlen(field)) == 0) found = 1024 * std::strtoll(line + std::strlen(field), nullptr, 10);
    std::fclose(file);
    return found;
}

// --- Sizes as text ---------------------------------------------------------------------------------------------------

struct PrettyOptions {
    bool with_sign = false, bits = false, binary = false;
    std::function<std::string(double)> print_number = [](double x) { return fmt::format("{:.2f}", x); };
};

std::string pretty(std::int64_t bytes, const PrettyOptions& options = {}) {
    static constexpr const char* const bytes_units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    static constexpr const char* const binary_units[] = {"B", "kiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    static constexpr const char* const bit_units[] = {"b", "kbit", "Mbit", "Gbit", "Tbit", "Pbit", "Ebit"};
    static constexpr const char* const binary_bit_units[] = {"b", "kibit", "Mibit", "Gibit", "Tibit", "Pibit", "Eibit"};
    const auto& units = options.bits ? (options.binary ? binary_bit_units : bit_units) : (options.binary ? binary_units : bytes_units);
    const double step = options.binary ? 1024 : 1000;
    double n = std::fabs(static_cast<double>(bytes));
    std::size_t unit = 0;
    for (; n >= step && unit + 1 < std::size(bytes_units); ++unit) n /= step;
    const std::string number = bytes == 0 ? "0" : options.print_number(n);
    return (bytes < 0 ? "-" : options.with_sign ? "+" : "") + number + " " + units[unit];
}

Value prettify(const BuiltinArgs& a) {
    PrettyOptions options;
    if (!a[0].is_null()) options.print_number = [print = a[0]](double x) { return print.call({number(x)}).as_string(); };
    options.with_sign = !a[1].is_null() && a[1].as_bool();
    options.bits = !a[2].is_null() && a[2].as_bool();
    options.binary = !a[3].is_null() && a[3].as_bool();
    return text(pretty(a[4].as_int(), options));
}

// --- runtime.memory --------------------------------------------------------------------------------------------------

struct Reading {
    ProcessMemory process = process_memory();
    AllocatorMemory allocator = allocator_memory();
    std::int64_t total = machine_memory("MemTotal:"), available = machine_memory("MemAvailable:");
    std::int64_t swap = machine_memory("SwapTotal:"), swap_free = machine_memory("SwapFree:");
};

struct MemoryField {
    const char* name;
    const char* doc;
    std::int64_t (*of)(const Reading&);
};

constexpr MemoryField memory_fields[] = {
    {"total_virtual_memory", "Memory and swap of the machine, in bytes.", [](const Reading& r) { return r.total + r.swap; }},
    {"total_physical_memory", "Memory of the machine, in bytes.", [](const Reading& r) { return r.total; }},
    {"total_used_virtual_memory", "Memory and swap in use on the machine, in bytes.", [](const Reading& r) { return r.total - r.available + r.swap - r.swap_free; }},
    {"total_used_physical_memory", "Memory in use on the machine, in bytes.", [](const Reading& r) { return r.total - r.available; }},
    {"process_virtual_memory", "Address space of this process, in bytes.", [](const Reading& r) { return r.process.virtual_size; }},
    {"process_physical_memory", "Memory that this process has (RSS), in bytes.", [](const Reading& r) { return r.process.resident; }},
    {"process_private_memory", "The part of it that is its own, in bytes.", [](const Reading& r) { return r.process.anonymous; }},
    {"process_swapped_memory", "What of it was swapped out, in bytes.", [](const Reading& r) { return r.process.swapped; }},
    {"process_managed_memory", "What the allocator handed out, in bytes.", [](const Reading& r) { return r.allocator.allocated.value_or(0); }},
    {"process_retained_memory", "Free memory that the allocator holds, in bytes.", [](const Reading& r) { return r.allocator.retained.value_or(0); }},
};

Value memory(const BuiltinArgs&) {
    const Reading reading;
    std::vector<std::pair<Name, Value>> numbers, texts;
    for (const MemoryField& field : memory_fields) {
        const std::int64_t n = field.of(reading);
        numbers.emplace_back(field.name, integer(n));
        texts.emplace_back(field.name, text(pretty(n)));
    }
    numbers.emplace_back("allocator", text(allocator_name()));
    numbers.emplace_back("pretty", Value::record(std::move(texts)));
    return Value::record(std::move(numbers));
}

std::vector<BuiltinMethod> memory_methods() {
    std::vector<BuiltinMethod> methods;
    std::string pretty_type;
    for (const MemoryField& field : memory_fields) {
        methods.push_back({field.name, "int", field.doc});
        pretty_type += (pretty_type.empty() ? "" : ", ") + std::string(field.name) + " : string";
    }
    methods.push_back({"allocator", "string", "The allocator, and its version."});
    methods.push_back({"pretty", "{" + pretty_type + "}", "The same, as text."});
    return methods;
}

// --- CPU -------------------------------------------------------------------------------------------------------------

/// Shares of one core since the last call of the function that it gives.
Value cpu_usage_getter(const BuiltinArgs&) {
    struct State {
        std::mutex last_mutex;
        double user = 0, system = 0, wall = 0;
    };
    const auto read = [](double& user, double& system, double& wall) {
        rusage usage{};
        getrusage(RUSAGE_SELF, &usage);
        user = static_cast<double>(usage.ru_utime.tv_sec) + 1e-6 * static_cast<double>(usage.ru_utime.tv_usec);
        system = static_cast<double>(usage.ru_stime.tv_sec) + 1e-6 * static_cast<double>(usage.ru_stime.tv_usec);
        wall = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    };
    auto state = std::make_shared<State>();
    read(state->user, state->system, state->wall);
    return native([state, read](std::span<const CallArgument>) {
        double user = 0, system = 0, wall = 0;
        read(user, system, wall);
        std::lock_guard lock(state->last_mutex);
        const double elapsed = std::max(1e-9, wall - std::exchange(state->wall, wall));
        user = (user - std::exchange(state->user, user)) / elapsed;
        system = (system - std::exchange(state->system, system)) / elapsed;
        return Value::record({{"total", number(user + system)}, {"user", number(user)}, {"system", number(system)}});
    });
}

// --- The collector that is not there ---------------------------------------------------------------------------------

constexpr const char* gc_parameters[] = {"minor_heap_size", "major_heap_increment", "space_overhead", "verbose", "max_overhead", "stack_limit",
                                         "allocation_policy", "window_size", "custom_major_ratio", "custom_minor_ratio", "custom_minor_max_size"};
constexpr const char* gc_counts[] = {"major_collections", "minor_collections", "heap_words", "heap_chunks", "compactions", "top_heap_words",
                                     "live_words", "live_blocks", "free_words", "free_blocks", "largest_free", "fragments", "stack_size",
                                     "forced_major_collections"};
constexpr const char* gc_words[] = {"minor_words", "promoted_words", "major_words"};

std::string gc_type() {
    std::string type;
    for (const char* name : gc_parameters) type += (type.empty() ? "{" : ", ") + std::string(name) + " : int";
    return type + "}";
}
const std::string gc_record = gc_type();

Value gc_get(const BuiltinArgs&) {
    std::vector<std::pair<Name, Value>> fields;
    for (const char* name : gc_parameters) fields.emplace_back(name, integer(0));
    return Value::record(std::move(fields));
}

std::vector<BuiltinMethod> gc_get_methods() {
    std::vector<BuiltinMethod> methods;
    for (const char* name : gc_parameters) methods.push_back({name, "int", "Always 0 here."});
    return methods;
}

/// What can be said in the collector's terms: words (8 bytes) in use and held by the allocator; the rest is 0.
Value gc_stat(const BuiltinArgs&) {
    const AllocatorMemory now = allocator_memory();
    const std::int64_t live = now.allocated.value_or(0) / 8, free = now.retained.value_or(0) / 8;
    std::vector<std::pair<Name, Value>> fields;
    for (const char* name : gc_counts) {
        const std::string_view which(name);
        fields.emplace_back(name, integer(which == "live_words" ? live : which == "free_words" ? free : which == "heap_words" ? live + free : 0));
    }
    for (const char* name : gc_words) fields.emplace_back(name, number(0));
    return Value::record(std::move(fields));
}

std::vector<BuiltinMethod> gc_stat_methods() {
    std::vector<BuiltinMethod> methods;
    for (const char* name : gc_counts) methods.push_back({name, "int", "In the terms of Liquidsoap's collector; 0 when it means nothing here."});
    for (const char* name : gc_words) methods.push_back({name, "float", "Always 0 here."});
    return methods;
}

Value print_stat(const BuiltinArgs&) {
    const ProcessMemory process = process_memory();
    const AllocatorMemory now = allocator_memory();
    std::printf("allocator: %s\nallocated: %s\nretained: %s\nresident: %s\n", allocator_name().c_str(),
                now.allocated ? pretty(*now.allocated).c_str() : "unknown", now.retained ? pretty(*now.retained).c_str() : "unknown",
                pretty(process.resident).c_str());
    std::fflush(stdout);
    return Value::unit();
}

Value nothing(const BuiltinArgs&) { return Value::unit(); }
Value trim(const BuiltinArgs&) {
    release_free_memory();
    return Value::unit();
}

const Definitions system("System", {
    {"runtime.memory", "Memory in use, by this process and on the machine.", {}, "unit", memory, memory_methods()},
    {"runtime.gc.get", "Parameters of Liquidsoap's collector; all 0 here.", {}, "unit", gc_get, gc_get_methods()},
    {"runtime.gc.set", "Nothing: memory is managed without a collector.", {pos(gc_record.c_str())}, "unit", nothing},
    {"runtime.gc.stat", "Memory in the terms of Liquidsoap's collector.", {}, "unit", gc_stat, gc_stat_methods()},
    {"runtime.gc.quick_stat", "Memory in the terms of Liquidsoap's collector.", {}, "unit", gc_stat, gc_stat_methods()},
    {"runtime.gc.print_stat", "Print what the allocator holds.", {}, "unit", print_stat},
});

const Definitions liquidsoap("Liquidsoap", {
    {"runtime.gc.full_major", "Give free memory back to the system.", {}, "unit", trim},
    {"runtime.gc.compact", "Give free memory back to the system.", {}, "unit", trim},
    {"runtime.gc.major", "Nothing: memory is managed without a collector.", {}, "unit", nothing},
    {"runtime.gc.major_slice", "Nothing: memory is managed without a collector.", {opt_pos("int", "0", "Accepted for compatibility.")}, "unit", nothing},
    {"runtime.gc.minor", "Nothing: memory is managed without a collector.", {}, "unit", nothing},
    {"garbage_collect", "Give free memory back to the system.", {}, "unit", trim, {}, "Memory is managed without a collector."},
    {"runtime.cpu.usage_getter", "Gives a function that tells the shares of a core that were used since its last call.", {},
     "() -> {system : float, total : float, user : float}", cpu_usage_getter},
});

const Definitions strings_("String", {
    {"runtime.memory.prettify_bytes", "A number of bytes as text.",
     {opt("float_printer", "((float) -> string)?", "null", "How a number is written; with two digits when null."), opt("signed", "bool?", "null", "Write a sign always."),
      opt("bits", "bool?", "null", "Units of bits."), opt("binary", "bool?", "null", "Units of 1024."), pos("int", "How many.")},
     "string", prettify},
});

}  // namespace

std::string memory_text() {
    const ProcessMemory process = process_memory();
    return "Physical memory: " + pretty(process.resident) + "\nPrivate memory: " + pretty(process.anonymous) +
           "\nManaged memory: " + pretty(allocator_memory().allocated.value_or(0)) + "\nSwapped memory: " + pretty(process.swapped);
}

}  // namespace castile::builtins
