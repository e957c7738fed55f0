// castile-iso: runs programs in the isochronous class, shows who is in it, talks to castile-isod.

#include <dirent.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "adopt.h"
#include "control.h"
#include "iso_math.h"
#include "machine.h"

using namespace castile::iso;

namespace {

constexpr const char* usage = R"(castile-iso: real-time service for anyone, within a limit

    castile-iso run [-p PRIORITY] [-i] [-s] COMMAND...   run it in the isochronous class
    castile-iso run --adopt [-v] COMMAND...              make its real-time requests isochronous ones
    castile-iso status                                   shares of the CPUs, demotions, kicks
    castile-iso ps                                       who is in the class
    castile-iso set NAME=VALUE                           iso_cpu, iso_period, iso_slice, normal_slice (root)
    castile-iso metrics                                  the statistics as Prometheus text

  -p, --priority N    1 to 99, as of SCHED_RR; ten levels (default: the highest), or high, middle, low
  -i, --inherit       what it starts is in the class too (threads, children)
  -s, --strict        do not run it without the class
  -v, --verbose       say what was made of each request
      --socket PATH   of castile-isod (/run/castile/isod.sock)
)";

[[noreturn]] void fail(const std::string& message, int status = 1) {
    fmt::print(stderr, "castile-iso: {}.\n", message);
    std::exit(status);
}

int priority_of(std::string_view text) {
    if (text == "high") return 99;
    if (text == "middle") return 50;
    if (text == "low") return 10;
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > 99)
        fail(fmt::format("a priority is a number from 1 to 99, or high, middle or low, not \"{:.40}\"", text), 2);
    return value;
}

int run(std::vector<char*> arguments) {
    int priority = 99;
    bool inherit = false, strict = false, adopt = false, verbose = false, chosen = false;
    std::size_t i = 0;
    for (; i < arguments.size(); ++i) {
        const std::string_view word = arguments[i];
        if (word == "--") {
            ++i;
            break;
        }
        if (!word.starts_with('-')) break;
        if (word == "-p" || word == "--priority") {
            if (++i == arguments.size()) fail("-p takes a priority", 2);
            priority = priority_of(arguments[i]);
            chosen = true;
        } else if (word == "-i" || word == "--inherit") inherit = true;
        else if (word == "-s" || word == "--strict") strict = true;
        else if (word == "--adopt") adopt = true;
        else if (word == "-v" || word == "--verbose") verbose = true;
        else fail(fmt::format("there is no option \"{}\"; see castile-iso --help", word), 2);
    }
    if (i == arguments.size()) fail("run takes a command", 2);
    if (adopt && (chosen || inherit)) fail("with --adopt each thread has the level that it asks for: -p and -i do not go with it", 2);
    arguments.push_back(nullptr);
    char** command = arguments.data() + i;
    const auto missing = class_missing();
    if (missing && strict) fail(fmt::format("no isochronous class: {}", *missing));
    if (adopt) {
        if (missing) fmt::print(stderr, "castile-iso: no isochronous class: {}; {}.\n", *missing, better_advice());
        return run_adopted(command, verbose);
    }
    const Service service = serve(0, priority, inherit);
    if (!service.isochronous) {
        fmt::print(stderr, "castile-iso: no isochronous class: {}; it has {} instead; {}.\n", missing ? *missing : "the kernel refused it",
                   service.description.empty() ? "nothing" : service.description, better_advice());
        if (strict) return 1;
    } else if (verbose) {
        fmt::print(stderr, "castile-iso: {}.\n", service.description);
    }
    execvp(command[0], command);
    fail(fmt::format("{}: {}", command[0], std::strerror(errno)), errno == ENOENT ? 127 : 126);
}

// --- ps ---------------------------------------------------------------------------------------------------------------

/// CPUs where the class is demoted; none when the daemon does not tell.
std::map<int, bool> demoted_cpus(const std::string& socket) {
    std::map<int, bool> demoted;
    const auto metrics = ask_daemon(socket, "metrics");
    if (!metrics) return demoted;
    constexpr std::string_view name = "castile_iso_demoted{cpu=\"";
    for (std::size_t at = 0; (at = metrics->find(name, at)) != std::string::npos;) {
        at += name.size();
        int cpu = 0, value = 0;
        if (std::sscanf(metrics->c_str() + at, "%d\"} %d", &cpu, &value) == 2) demoted[cpu] = value != 0;
    }
    return demoted;
}

void each_number(const std::string& folder, const std::function<void(int)>& visit) {
    DIR* directory = opendir(folder.c_str());
    if (!directory) return;
    while (const dirent* entry = readdir(directory)) {
        int number = 0;
        const char* end = entry->d_name + std::strlen(entry->d_name);
        if (const auto [last, error] = std::from_chars(entry->d_name, end, number); error == std::errc() && last == end) visit(number);
    }
    closedir(directory);
}

int ps(const std::string& socket) {
    if (const auto missing = class_missing()) fmt::print("No isochronous class: {}. Who asked for it runs as normal.\n", *missing);
    const auto demoted = demoted_cpus(socket);
    const double tick = 1. / static_cast<double>(sysconf(_SC_CLK_TCK));
    std::vector<int> processes;
    each_number("/proc", [&](int process) { processes.push_back(process); });
    std::sort(processes.begin(), processes.end());
    fmt::print("{:>8} {:>8} {:>6} {:>5} {:>10} {:>4} {:>8}  {}\n", "PROCESS", "THREAD", "USER", "LEVEL", "CPU s", "CPU", "DEMOTED", "NAME");
    for (const int process : processes)
        each_number(fmt::format("/proc/{}/task", process), [&](int thread) {
            if ((sched_getscheduler(thread) & ~SCHED_RESET_ON_FORK) != 7) return;
            const std::string folder = fmt::format("/proc/{}/task/{}/", process, thread);
            std::ifstream file(folder + "stat");
            std::string text;
            if (!std::getline(file, text)) return;
            // The name is in parentheses and may hold anything; what follows is fields 3 and on.
            const std::size_t open = text.find('('), close = text.rfind(')');
            if (open == std::string::npos || close == std::string::npos || close + 2 > text.size()) return;
            std::vector<long> fields;
            for (const char* at = text.c_str() + close + 4; *at != '\0';) {
                char* end = nullptr;
                fields.push_back(std::strtol(at, &end, 10));
                if (end == at) break;
                at = end;
            }
            if (fields.size() < 36) return;  // from field 4; utime is 14, stime 15, nice 19, processor 39
            std::ifstream status(folder + "status");
            std::string line;
            long user = -1;
            while (std::getline(status, line))
                if (line.starts_with("Uid:")) user = std::strtol(line.c_str() + 4, nullptr, 10);
            std::string name = text.substr(open + 1, close - open - 1);
            for (char& c : name)
                if (static_cast<unsigned char>(c) < ' ') c = '?';
            const int cpu = static_cast<int>(fields[35]);
            const auto found = demoted.find(cpu);
            fmt::print("{:>8} {:>8} {:>6} {:>5} {:>10.2f} {:>4} {:>8}  {}\n", process, thread, user, iso_level_of_nice(static_cast<int>(fields[15])),
                       static_cast<double>(fields[10] + fields[11]) * tick, cpu, found == demoted.end() ? "?" : found->second ? "yes" : "no", name);
        });
    return 0;
}

int ask(const std::string& socket, const std::string& request) {
    const auto answer = ask_daemon(socket, request);
    if (!answer) fail(answer.error());
    fmt::print("{}", *answer);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<char*> words(argv + 1, argv + argc);
    std::string socket = socket_path;
    if (words.size() >= 2 && std::string_view(words[0]) == "--socket") {
        socket = words[1];
        words.erase(words.begin(), words.begin() + 2);
    }
    const std::string_view command = words.empty() ? "--help" : words[0];
    if (!words.empty()) words.erase(words.begin());
    if (command == "run") return run(words);
    if (command == "--version") {
        fmt::print("castile-iso {}\n", CASTILE_VERSION);
        return 0;
    }
    if (command == "--help" || command == "-h" || command == "help") {
        fmt::print("{}", usage);
        return 0;
    }
    if (command == "set") {
        if (words.empty()) fail("set takes NAME=VALUE", 2);
        for (const char* word : words)
            if (const int status = ask(socket, fmt::format("set {}", word)); status != 0) return status;
        return 0;
    }
    if (!words.empty()) fail(fmt::format("{} takes no arguments, not \"{}\"", command, words[0]), 2);
    if (command == "ps") return ps(socket);
    if (command == "metrics") return ask(socket, "metrics");
    if (command == "status") {
        if (const auto missing = class_missing()) fail(fmt::format("no isochronous class: {}; {}", *missing, better_advice()));
        return ask(socket, "status");
    }
    fail(fmt::format("there is no command \"{}\"; see castile-iso --help", command), 2);
}
