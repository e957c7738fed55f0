// The program about itself: version, how it was built, folders, CPU time, a profiler.

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <sstream>
#include <utility>

#include "builtins/define.h"
#include "builtins/environment.h"
#include "builtins/lifecycle.h"

namespace castile::builtins {

namespace {

/// Compares versions number by number.
bool at_least(const std::string& wanted) {
    auto numbers = [](const std::string& s) {
        std::vector<int> out;
        std::istringstream in(s);
        for (std::string part; std::getline(in, part, '.');) out.push_back(std::atoi(part.c_str()));
        out.resize(4);
        return out;
    };
    return numbers(language_version) >= numbers(wanted);
}

utsname system_names() {
    utsname u{};
    uname(&u);
    return u;
}

const Constants about("Configuration", {
    {"os.type", "Kind of system.", "string", [] { return text("Unix"); }},
    {"exe_ext", "What names of programs end in.", "string", [] { return text(""); }},
    {"configure.bindir", "Where programs are.", "string", [] { return text("/usr/bin"); }},
    {"configure.libdir", "Where the standard library is.", "string", [] { return text("/usr/share/castile"); }},
    {"configure.logdir", "Where logs go.", "string", [] { return text("/var/log/castile"); }},
    {"configure.rundir", "Where PID files go.", "string", [] { return text("/run/castile"); }},
    {"castile.version", "Version of this program.", "string", [] { return text(CASTILE_VERSION); }},
    {"liquidsoap.version", "Version of the language; its method `at_least` compares it.", "string.{at_least : (string) -> bool}", [] {
        return text(language_version).with_method("at_least", native([](std::span<const CallArgument> a) { return boolean(at_least(a[0].value.as_string())); })); }},
    {"liquidsoap.script.path", "Path of the script; null when it is no file.", "string?", [] {
        std::string path = script_path();
        return path.empty() ? Value::null() : text(path); }},
    {"liquidsoap.executable", "Path of this program.", "string", [] {
        char path[4096];
        ssize_t n = readlink("/proc/self/exe", path, sizeof path);
        return text(std::string(path, n > 0 ? static_cast<std::size_t>(n) : 0)); }},
    {"liquidsoap.build_config.system", "System that this was built for.", "string", [] { return text("linux"); }},
    {"liquidsoap.build_config.architecture", "Processor that this was built for.", "string", [] { return text(system_names().machine); }},
    {"liquidsoap.build_config.host", "Machine that this was built on: its kind.", "string", [] { return text(std::string(system_names().machine) + "-linux-gnu"); }},
    {"liquidsoap.build_config.target", "Machine that this was built for.", "string", [] { return text(std::string(system_names().machine) + "-linux-gnu"); }},
    {"liquidsoap.build_config.git_sha", "Commit that this was built from, if it is no release.", "string?", [] { return Value::null(); }},
    {"liquidsoap.build_config.is_release", "Is this a release?", "bool", [] { return boolean(true); }},
    {"liquidsoap.build_config.is_snapshot", "Is this a state between releases?", "bool", [] { return boolean(false); }},
    {"liquidsoap.build_config.native_c_compiler", "Compiler that this was built with.", "string", [] { return text("g++ " __VERSION__); }},
    {"liquidsoap.build_config.native_c_libraries", "Libraries of the linker; none of note.", "string", [] { return text(""); }},
    {"liquidsoap.build_config.ocaml_version", "Empty: this is no OCaml program.", "string", [] { return text(""); }},
    {"liquidsoap.build_config.ocamlopt_cflags", "Empty: this is no OCaml program.", "string", [] { return text(""); }},
});

/// What scripts may ask for by the name of the library that gives it to Liquidsoap.
constexpr std::pair<const char*, bool> features[] = {
    {"alsa", false}, {"ao", false}, {"bjack", true}, {"camlimages", false}, {"dssi", false}, {"faad", true}, {"fdkaac", true}, {"ffmpeg", true}, {"flac", true},
    {"frei0r", false}, {"gd", false}, {"graphics", false}, {"inotify", true}, {"irc", false}, {"jack", true}, {"ladspa", false}, {"lame", true}, {"lilv", false},
    {"lo", true}, {"mad", true}, {"memtrace", false}, {"ogg", true}, {"opus", true}, {"osc", true}, {"oss", false}, {"portaudio", false}, {"posix_time2", true},
    {"prometheus", true}, {"pulseaudio", false}, {"samplerate", false}, {"sdl", false}, {"shine", false}, {"soundtouch", false}, {"speex", false}, {"srt", false},
    {"ssl", true}, {"syslog", false}, {"theora", false}, {"tls", true}, {"vorbis", true}, {"winsvc", false}, {"xmlplaylist", true},
};

const bool features_declared = [] {
    for (const auto& [name, there] : features) {
        Value (*value)() = there ? +[] { return boolean(true); } : +[] { return boolean(false); };
        lang::RegisterBuiltin(BuiltinConstant{std::string("liquidsoap.build_config.optionals.") + name, "Configuration", std::string("Is there what ") + name + " is for?", "bool", value});
    }
    return true;
}();

struct CpuTime { double user, system; };

CpuTime cpu_time() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    auto seconds = [](timeval t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6; };
    return {seconds(usage.ru_utime), seconds(usage.ru_stime)};
}

Value cache_folder(const BuiltinArgs& a) {
    const std::string& mode = a[0].as_string();
    if (mode != "user" && mode != "system") raise("invalid", "The cache is that of the \"user\" or that of the \"system\".");
    const char* folder = std::getenv(mode == "user" ? "LIQ_CACHE_USER_DIR" : "LIQ_CACHE_SYSTEM_DIR");
    return folder && *folder ? text(folder) : Value::null();
}

/// Times of profiled functions. Those of what they call are kept per thread, for the time spent in a function itself.
struct Profile {
    struct Times {
        double own = 0, total = 0;
        std::int64_t calls = 0;
    };
    std::mutex times_mutex;
    std::map<std::string, Times> times;

    static Profile& instance() {
        static Profile* profile = new Profile;
        return *profile;
    }
};

std::atomic<bool> profiling = true;

thread_local double* inner_time = nullptr;

Value profile(const BuiltinArgs& a) {
    if (!profiling) return a[1].call();
    struct Frame {
        explicit Frame(const std::string& n) : name(n), outer(std::exchange(inner_time, &inner)) {}
        ~Frame() {
            const double total = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
            inner_time = outer;
            if (outer) *outer += total;
            Profile& all = Profile::instance();
            std::lock_guard lock(all.times_mutex);
            Profile::Times& times = all.times[name];
            times.own += total - inner;
            times.total += total;
            ++times.calls;
        }
        const std::string& name;
        std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
        double inner = 0;
        double* outer;
    } frame(a[0].as_string());
    return a[1].call();
}

/// A line a function, the longest first.
std::string profile_text() {
    Profile& all = Profile::instance();
    std::lock_guard lock(all.times_mutex);
    std::vector<std::pair<std::string, Profile::Times>> rows(all.times.begin(), all.times.end());
    std::ranges::stable_sort(rows, [](const auto& x, const auto& y) { return x.second.own > y.second.own; });
    std::string out = fmt::format("{:<30} {:>12} {:>12} {:>10} {:>12} {:>12}\n", "function", "self (s)", "total (s)", "calls", "self/call", "total/call");
    for (const auto& [name, t] : rows) {
        const auto calls = static_cast<double>(t.calls);
        out += fmt::format("{:<30} {:>12.6f} {:>12.6f} {:>10} {:>12.6f} {:>12.6f}\n", name, t.own, t.total, t.calls, t.own / calls, t.total / calls);
    }
    return out;
}

const Definitions system_functions("System", {
    {"process.time", "CPU time used.", {}, "unit", [](const BuiltinArgs&) {
        const CpuTime t = cpu_time();
        return Value::record({{"user", number(t.user)}, {"system", number(t.system)}}); },
     {{"user", "float", "By the program."}, {"system", "float", "By the kernel for it."}}},
});

const Definitions functions("Liquidsoap", {
    {"liquidsoap.functions.count", "How many functions there are in the language.", {}, "int", [](const BuiltinArgs&) {
        return integer(static_cast<std::int64_t>(lang::all_builtins().size() + lang::all_constants().size())); }},
    {"liquidsoap.cache", "Folder of the cache; null: there is none, scripts start quickly without.", {arg("mode", "string", "\"user\" or \"system\".")}, "string?", cache_folder},
    {"liquidsoap.cache.maintenance", "Nothing: there is no cache.", {arg("mode", "string", "\"user\" or \"system\".")}, "unit", [](const BuiltinArgs& a) {
        cache_folder(a);
        return Value(); }},
    {"profiler.enable", "Time what is run by `profiler.run`; this is so at the start.", {}, "unit", [](const BuiltinArgs&) {
        profiling = true;
        return Value(); }},
    {"profiler.disable", "Time nothing.", {}, "unit", [](const BuiltinArgs&) {
        profiling = false;
        return Value(); }},
    {"profiler.run", "Call a function and note how long it takes.", {pos("string", "Name to note it under."), pos("() -> 'a", "Function.")}, "'a", profile},
    {"profiler.stats.string", "What was noted: time spent in each function, without and with what it calls.", {}, "string", [](const BuiltinArgs&) { return text(profile_text()); }},
    {"profiler.print", "Print what was noted.", {}, "unit", [](const BuiltinArgs&) {
        std::fputs(profile_text().c_str(), stdout);
        std::fflush(stdout);
        return Value(); }},
});

}  // namespace

}  // namespace castile::builtins
