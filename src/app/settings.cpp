// Settings of the program: log, daemon, start.

#include "app/settings.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "app/options.h"
#include "base/error.h"
#include "base/log.h"
#include "base/settings.h"

namespace castile::app {

namespace {

Setting<int> log_level{"log.level", 3, "What is logged: 1 critical, 2 severe, 3 important, 4 informative, 5 debugging."};
Setting<bool> log_stdout{"log.stdout", true, "Print the log on standard output."};
Setting<bool> log_file{"log.file", false, "Write the log to a file."};
Setting<std::string> log_path{"log.file.path", "<syslogdir>/<script>.log", "Path of the log's file."};
Setting<bool> log_append{"log.file.append", true, "Keep what the log's file holds at start."};
Setting<int> log_perms{"log.file.perms", 384, "Permissions of the log's file."};
Setting<bool> log_unix{"log.unix_timestamps", false, "Seconds since 1970 in place of dates."};
Setting<bool> log_recode{"log.recode", false, "Kept for scripts that set it: the log is UTF-8."};
Setting<std::string> log_recode_encoding{"log.recode.encoding", "UTF-8", "Kept for scripts that set it."};
Setting<bool> init_daemon{"init.daemon", false, "Run in the background."};
Setting<bool> pid_file{"init.daemon.pidfile", true, "Write a file with the process's number when in the background."};
Setting<std::string> pid_path{"init.daemon.pidfile.path", "<sysrundir>/<script>.pid", "Path of that file."};
Setting<int> pid_perms{"init.daemon.pidfile.perms", 416, "Permissions of that file."};
Setting<bool> change_user{"init.daemon.change_user", false, "Kept for scripts that set it: use the service manager's means."};
Setting<std::string> daemon_user{"init.daemon.change_user.user", "daemon", "Kept for scripts that set it."};
Setting<std::string> daemon_group{"init.daemon.change_user.group", "daemon", "Kept for scripts that set it."};
Setting<bool> allow_root{"init.allow_root", false, "Do not warn when run as root."};
Setting<bool> start_anyway{"init.force_start", false, "Start even when there is no output: sources may be made later."};
Setting<bool> catch_exceptions{"init.catch_exn", true, "Kept for scripts that set it."};
Setting<bool> compact{"init.compact_before_start", true, "Give free memory back to the system before starting."};
Setting<std::string> colorize{"console.colorize", "auto", "Colours in what is printed: always, never or auto, that is on a terminal."};
Setting<bool> trace{"init.trace", false, "Kept for scripts that set it."};

std::string script_name;   // for <script>

std::string folder(const char* system, const char* own) {
    if (geteuid() == 0) return system;
    const char* home = std::getenv("HOME");
    return home ? std::string(home) + own : "/tmp";
}

}  // namespace

std::string expand_path(std::string path) {
    for (const auto& [mark, text] : {std::pair("<script>", script_name), std::pair("<pid>", std::to_string(getpid())),
                                     std::pair("<syslogdir>", folder("/var/log/castile", "/.cache/castile")),
                                     std::pair("<sysrundir>", folder("/run/castile", "/.cache/castile"))})
        for (std::size_t i; (i = path.find(mark)) != path.npos;) path.replace(i, std::string_view(mark).size(), text);
    return path;
}

void need_folder(const std::string& path, const char* what, const char* setting) {
    std::string parent = std::filesystem::path(path).parent_path().string();
    std::error_code error;
    if (parent.empty() || std::filesystem::is_directory(parent, error)) return;
    throw Error(std::string("The folder ") + parent + " for the " + what + " does not exist. Set `" + setting + " := \"<path>\"` in the script.");
}

void apply_options(const Options& o, const std::string& script) {
    script_name = script.empty() || script == "-" ? "castile" : std::filesystem::path(script).stem().string();
    if (o.log_to_stdout || o.interactive || o.dump != Options::Dump::none || o.action == Options::Action::request) log_stdout.set(o.log_to_stdout.value_or(false));
    if (o.debug) log_level.set(4);
    if (o.daemon) init_daemon.set(true);
    if (o.force_start) start_anyway.set(true);
    if (o.telnet) find_setting("server.telnet")->set(*o.telnet);
    if (o.unix_socket) find_setting("server.socket")->set(*o.unix_socket);
}

void start_log() {
    std::string path = log_file.get() ? expand_path(log_path.get()) : "";
    if (!path.empty()) {
        need_folder(path, "log", "settings.log.file.path");
        // Made here for its permissions.
        int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | (log_append.get() ? O_APPEND : O_TRUNC), static_cast<mode_t>(log_perms.get()));
        if (fd >= 0) close(fd);
    }
    int level = log_level.get();
    configure_log({static_cast<LogLevel>(level < 1 ? 1 : level > 5 ? 5 : level), log_stdout.get(), path, log_unix.get()});
}

void start_log_anyhow() noexcept {
    try {
        start_log();
    } catch (...) {
        configure_log({LogLevel::important, log_stdout.get(), "", log_unix.get()});  // what stops the run is told by who stops it
    }
    flush_log();
}

bool colours_wanted() {
    const std::string wanted = colorize.get();
    return wanted == "always" || (wanted != "never" && isatty(STDERR_FILENO) != 0);
}

bool force_start() { return start_anyway.get(); }

bool warn_of_root() { return geteuid() == 0 && !allow_root.get(); }

bool daemon_wanted() { return init_daemon.get(); }

namespace {

int told = -1;   // where the process that was started waits for the word that all is well

}  // namespace

void go_to_background() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw Error("Cannot go into the background: no pipe can be made.");
    for (int round = 0; round < 2; ++round) {
        pid_t pid = fork();
        if (pid < 0) throw Error("Cannot go into the background: no process can be made.");
        if (pid == 0) {
            if (round == 0) setsid();
            continue;
        }
        if (round == 1) _exit(0);
        close(ends[1]);
        char word = 0;
        _exit(read(ends[0], &word, 1) == 1 ? 0 : 1);
    }
    close(ends[0]);
    told = ends[1];
}

void settle_in_background() {
    write_pid_file();
    log_stdout.set(false);
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3 && null >= 0; ++fd) dup2(null, fd);
    if (null > 2) close(null);
    if (told >= 0 && write(told, "+", 1) == 1) close(std::exchange(told, -1));
}

bool in_background() { return told >= 0; }

void write_pid_file() {
    if (!pid_file.get()) return;
    std::string path = expand_path(pid_path.get());
    need_folder(path, "PID file", "settings.init.daemon.pidfile.path");
    std::ofstream out(path, std::ios::trunc);
    out << getpid() << "\n";
    if (!out.flush()) throw Error("Cannot write the PID file " + path + ".");
    chmod(path.c_str(), static_cast<mode_t>(pid_perms.get()));
}

void remove_pid_file() noexcept {
    try {
        if (daemon_wanted() && pid_file.get()) unlink(expand_path(pid_path.get()).c_str());
    } catch (...) {
        // Nothing more can be done about it at the end.
    }
}

}  // namespace castile::app
