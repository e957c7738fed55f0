// castile-isod: loads the isochronous scheduler, keeps it attached, answers castile-iso.

#include <fmt/format.h>
#include <getopt.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "control.h"
#include "machine.h"
#include "report.h"
#include "scheduler.h"
#include "settings.h"

using namespace castile::iso;

namespace {

constexpr const char* usage = R"(castile-isod: real-time service for anyone, within a limit (sched_ext)

    castile-isod [OPTIONS]

  --set NAME=VALUE      a tunable: iso_cpu (70 %), iso_period (5 s), iso_slice (10 ms), normal_slice (ms)
  --config FILE         /etc/castile/isod.conf: lines of NAME = VALUE
  --socket PATH         where castile-iso finds it (/run/castile/isod.sock)
  --check               say whether it could run here, and end
  --verbose             with what libbpf and the verifier say
  --help, --version
)";

[[noreturn]] void fail(const std::string& message) {
    fmt::print(stderr, "castile-isod: {}.\n", message);
    std::exit(1);
}

void say(const std::string& message) {
    fmt::print("castile-isod: {}.\n", message);
    std::fflush(stdout);
}

struct Options {
    std::vector<std::string> settings;
    std::string config = "/etc/castile/isod.conf", socket = socket_path;
    bool check = false, verbose = false;
    unsigned mutation = 0;
};

Options read_options(int argc, char** argv) {
    enum { set = 1, config, socket, check, verbose, help, version, mutate };
    static const option table[] = {{"set", 1, nullptr, set},         {"config", 1, nullptr, config}, {"socket", 1, nullptr, socket},
                                   {"check", 0, nullptr, check},     {"verbose", 0, nullptr, verbose}, {"help", 0, nullptr, help},
                                   {"version", 0, nullptr, version}, {"mutate", 1, nullptr, mutate}, {}};
    Options options;
    for (int found = 0; (found = getopt_long(argc, argv, "h", table, nullptr)) != -1;) switch (found) {
            case set: options.settings.emplace_back(optarg); break;
            case config: options.config = optarg; break;
            case socket: options.socket = optarg; break;
            case check: options.check = true; break;
            case verbose: options.verbose = true; break;
            case version: fmt::print("castile-isod {}\n", CASTILE_VERSION); std::exit(0);
            case mutate:  // for tests: breaks the scheduler on purpose
                if (std::string_view(optarg) == "no-kick") options.mutation |= ISO_NO_KICK;
                else if (std::string_view(optarg) == "no-cap") options.mutation |= ISO_NO_CAP;
                else fail("--mutate takes no-kick or no-cap");
                break;
            case help:
            case 'h': fmt::print("{}", usage); std::exit(0);
            default: fmt::print(stderr, "castile-isod: see castile-isod --help.\n"); std::exit(2);
        }
    if (optind < argc) fail(fmt::format("it takes options only, not \"{}\"", argv[optind]));
    return options;
}

std::string answer(std::string_view line, bool root, Scheduler& scheduler, unsigned attached, iso_tunables& tunables) {
    if (line == "status") return status_text(scheduler.shared(), scheduler.cpus(), attached);
    if (line == "metrics") return metrics_text(scheduler.shared(), scheduler.cpus(), attached);
    if (line.starts_with("set ")) {
        line.remove_prefix(4);
        const std::size_t equals = line.find('=');
        if (equals == std::string_view::npos) return "error: expected NAME=VALUE\n";
        if (!root) return "error: only root may change the scheduler\n";
        iso_tunables changed = tunables;
        if (const auto set = set_tunable(changed, line.substr(0, equals), line.substr(equals + 1)); !set) return fmt::format("error: {}\n", set.error());
        tunables = changed;
        scheduler.shared().tunables = changed;
        say(tunables_text(changed));
        return tunables_text(changed) + "\n";
    }
    return "error: expected status, metrics or set NAME=VALUE\n";
}

}  // namespace

int main(int argc, char** argv) {
    const Options options = read_options(argc, argv);
    iso_tunables tunables = default_tunables(std::thread::hardware_concurrency());
    if (const auto read = read_config(options.config, tunables); !read) fail(read.error());
    for (const std::string& setting : options.settings) {
        const std::size_t equals = setting.find('=');
        if (equals == std::string::npos) fail(fmt::format("--set takes NAME=VALUE, not \"{:.40}\"", setting));
        if (const auto set = set_tunable(tunables, std::string_view(setting).substr(0, equals), std::string_view(setting).substr(equals + 1)); !set) fail(set.error());
    }
    if (const auto lacks = kernel_lacks()) fail(*lacks);
    if (options.check) {
        if (geteuid() != 0) fail("this kernel could have it; loading a scheduler takes root's privileges");
        if (const std::string loaded = loaded_scheduler(); !loaded.empty()) fail(fmt::format("the scheduler \"{}\" is loaded already", loaded));
        say("it can run here");
        return 0;
    }
    if (geteuid() != 0) fail("loading a scheduler takes root's privileges (CAP_SYS_ADMIN)");

    // The signals are taken before anything is loaded, so that an early one ends it as a late one does.
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
    sigprocmask(SIG_BLOCK, &signals, nullptr);
    const int signal_descriptor = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    auto control = ControlSocket::open(options.socket);
    if (!control) fail(control.error());

    auto scheduler = Scheduler::load(tunables, options.mutation, options.verbose);
    if (!scheduler) fail(scheduler.error());
    unsigned attached = 1;
    say(fmt::format("the isochronous class is there: {}", tunables_text(tunables)));
    for (;;) {
        pollfd watched[] = {{control->descriptor(), POLLIN, 0}, {signal_descriptor, POLLIN, 0}};
        poll(watched, 2, 500);
        if (watched[1].revents != 0) {
            signalfd_siginfo info{};
            if (read(signal_descriptor, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
                if (info.ssi_signo != SIGHUP) break;
                iso_tunables changed = tunables;
                if (const auto again = read_config(options.config, changed); again) {
                    (*scheduler)->shared().tunables = tunables = changed;
                    say(tunables_text(tunables));
                } else {
                    say(again.error());
                }
            }
        }
        if (watched[0].revents != 0) control->serve([&](std::string_view line, bool root) { return answer(line, root, **scheduler, attached, tunables); });
        if (!(*scheduler)->ended()) continue;
        const std::string reason = (*scheduler)->end_reason();
        if (!(*scheduler)->restart_wanted()) fail(fmt::format("the kernel ended the scheduler ({}); its own has taken over", reason));
        say(fmt::format("attaching again ({})", reason));
        scheduler->reset();
        // More may come at once, and the kernel may not have let go of the old one yet.
        for (int attempt = 0; attempt < 50; ++attempt) {
            scheduler = Scheduler::load(tunables, options.mutation, options.verbose);
            if (scheduler) break;
            usleep(100'000);
        }
        if (!scheduler) fail(scheduler.error());
        ++attached;
    }
    scheduler->reset();
    say("ended; the kernel's own scheduler has taken over");
    return 0;
}
