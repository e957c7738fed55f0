// A run: script, clocks, wait, close.

#include "app/run.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

#include "app/command_server.h"
#include "app/interactive.h"
#include "app/settings.h"
#include "app/signals.h"
#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "builtins/lifecycle.h"
#include "builtins/threads.h"
#include "clock/clock.h"
#include "devices/devices.h"
#include "formats/formats.h"
#include "lang/builtin_table.h"
#include "lang/library.h"
#include "lang/parse.h"
#include "net/metrics.h"
#include "net/network.h"
#include "outputs/file_queue.h"
#include "sched/manual_time.h"
#include "sched/scheduler.h"
#include "tools/language_server.h"

namespace castile::app {

namespace {

// At the end, together under two seconds: for recordings and playlists to be finished, and for the last bytes to leave.
// Then decoders and encoders are open, and what their beginning needed is not needed any more.
constexpr auto settling_time = std::chrono::seconds(10);

constexpr auto longest_file_wait = std::chrono::milliseconds(1200), longest_network_wait = std::chrono::milliseconds(400);
constexpr auto longest_device_wait = std::chrono::milliseconds(1000);   // files are written meanwhile

const Logger& logger() {
    static const Logger log("main");
    return log;
}

/// Does a word of the command line mean a file, though there is none of that name?
bool looks_like_path(const std::string& word) {
    return word.ends_with(".liq") || (word.find_first_of(" ()\n=\"#") == word.npos && word.contains('/'));
}

bool something_to_run() {
    return !all_clocks().empty();
}

/// As many descriptors as the system lets us have (within reason): the usual 1024 are few for hundreds of listeners.
void allow_descriptors() noexcept {
    constexpr rlim_t enough = 65536;
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= enough) return;
    limit.rlim_cur = std::min(limit.rlim_max, enough);
    setrlimit(RLIMIT_NOFILE, &limit);
}

void close_down(Scheduler& scheduler) {
    logger().important("Shutdown started!");
    builtins::run_shutdown_callbacks();
    stop_clocks();
    if (scheduler.time().simulated()) scheduler.run_simulated(scheduler.time().now());
    if (!scheduler.time().simulated() && !devices::wait_for_devices(longest_device_wait)) logger().important("Some devices could not be closed in time.");
    if (!wait_for_files(longest_file_wait)) logger().severe("Some files could not be finished in time.");
    stop_command_server();
    if (!scheduler.time().simulated()) finish_network(longest_network_wait);
    scheduler.stop();
    remove_pid_file();
    std::fflush(stdout);
    flush_log();
}

int simulate(const Options& options) {
    ManualTime time;
    Scheduler scheduler({}, time);
    set_scheduler(&scheduler);
    builtins::note_start_time();
    start_signal_thread();
    hold_log();
    lang::Engine engine(engine_options(options));
    builtins::set_after_task([&] { start_clocks(scheduler); });
    evaluate(engine, options);
    start_log();
    script_loaded();
    start_clocks(scheduler);
    builtins::run_start_callbacks();
    const Instant end = time.now() + std::chrono::duration_cast<Duration>(std::chrono::duration<double>(*options.simulate));
    // In steps, so that a script may end the simulation early.
    while (time.now() < end && !builtins::shutdown_requested())
        scheduler.run_simulated(std::min(end, time.now() + std::chrono::milliseconds(100)));
    close_down(scheduler);
    return builtins::exit_code();
}

/// A look at the script while it runs, which then ends.
void dump_later(Scheduler& scheduler, const Options& options) {
    if (options.dump == Options::Dump::none) return;
    const auto delay = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(options.dump_delay));
    scheduler.after(delay, [what = options.dump] {
        if (what == Options::Dump::sources) std::printf("Sources dump:%s\n", dump_all_sources().c_str());
        else std::printf("Clocks dump:%s\n", dump_clocks().c_str());
        std::fflush(stdout);
        builtins::request_shutdown(0);
    });
}

/// The program anew, with the same command line.
[[noreturn]] void start_anew(const Options& options, bool in_background) {
    std::vector<char*> words;
    for (const std::string& word : options.command_line) words.push_back(const_cast<char*>(word.c_str()));
    char daemon[] = "--daemon";
    if (in_background) words.insert(words.begin() + 1, daemon);
    words.push_back(nullptr);
    execv("/proc/self/exe", words.data());
    throw Error("The program cannot be started anew.");
}

int stream(const Options& options) {
    if (options.daemon) go_to_background();
    start_signal_thread();
    allow_descriptors();
    Scheduler scheduler;
    set_scheduler(&scheduler);
    builtins::note_start_time();
    hold_log();
    lang::Engine engine(engine_options(options));
    auto begin = std::chrono::steady_clock::now();
    evaluate(engine, options);
    if (options.interactive) start_interactive(engine);
    if (!options.interactive && !something_to_run() && !force_start() && !builtins::shutdown_requested()) {
        std::fflush(stdout);
        start_log_anyhow();
        std::printf("No output defined, nothing to do.\n");
        return 1;
    }
    // Asked to end while it was loaded, and nothing runs: there is nothing to start.
    if (builtins::shutdown_requested() && !something_to_run()) {
        builtins::run_shutdown_callbacks();
        return builtins::exit_code();
    }
    // A script may ask for the background only once it runs: then in the background from the start.
    if (daemon_wanted() && !in_background()) start_anew(options, true);
    if (in_background()) settle_in_background();
    start_log();
    script_loaded();
    logger().important("Castile {}", CASTILE_VERSION);
    if (warn_of_root()) logger().important("Running as root. Set `settings.init.allow_root := true` if this is meant.");
    std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    logger().important("User script loaded in {:.2f} seconds.", took.count());
    release_free_memory();
    release_library_pages();
    start_metrics_server();
    scheduler.configure(scheduler_options());
    struct Closer {   // also when the start fails: before the scheduler ends
        ~Closer() { stop_command_server(); }
    } closer;
    scheduler.start();
    start_command_server();
    builtins::set_after_task([&] { start_clocks(scheduler); });   // also for what tasks make while clocks start, which may take its time
    start_clocks(scheduler);
    scheduler.after(settling_time, release_library_pages);
    builtins::run_start_callbacks();
    dump_later(scheduler, options);
    builtins::wait_for_shutdown();
    builtins::set_after_task(nullptr);
    close_down(scheduler);
    if (builtins::restart_requested()) start_anew(options, false);
    return builtins::exit_code();
}

}  // namespace

void evaluate(lang::Engine& engine, const Options& options) {
    for (const std::string& word : options.scripts) {
        Script script = read_script(word);
        std::vector<lang::Diagnostic> warnings;
        try {
            engine.run_script(script.name, std::move(script.text), warnings);
        } catch (...) {
            print_warnings(warnings);
            std::fflush(stdout);
            start_log_anyhow();
            throw;
        }
        print_warnings(warnings);
        if (options.show_types) std::printf("%s\n", engine.last_type().c_str());
    }
}

lang::Engine::Options engine_options(const Options& options) {
    lang::Engine::Options o;
    o.standard_library = options.standard_library;
    o.library_directory = options.library_directory;
    o.encoder_typer = formats::encoder_typer();
    o.encoder_maker = formats::encoder_maker();
    o.encoder_available = formats::encoder_available();
    o.strict = options.strict;
    return o;
}

Script read_script(const std::string& given) {
    if (given == "-") return {"-", std::string(std::istreambuf_iterator<char>(std::cin), {})};
    std::error_code error;
    if (!std::filesystem::exists(given, error)) {
        if (looks_like_path(given)) throw Error("Cannot read the script " + given + ": there is no such file.");
        return {"<expression>", given};
    }
    std::ifstream in(given, std::ios::binary);
    std::ostringstream text;
    if (in && !std::filesystem::is_directory(given, error)) text << in.rdbuf();
    else throw Error("Cannot read the script " + given + ".");
    return {given, std::move(text).str()};
}

void print_warnings(const std::vector<lang::Diagnostic>& warnings) {
    bool colour = colours_wanted();
    constexpr std::size_t most = 200;
    for (std::size_t i = 0; i < warnings.size() && i < most; ++i) std::fprintf(stderr, "%s\n", lang::render(warnings[i], colour).c_str());
    if (warnings.size() > most) std::fprintf(stderr, "... and %zu more warnings.\n", warnings.size() - most);
}

int check(const Options& options) {
    start_signal_thread();
    Scheduler scheduler;   // not started: some declarations ask for it
    set_scheduler(&scheduler);
    lang::Engine engine(engine_options(options));
    for (const std::string& word : options.scripts) {
        Script script = read_script(word);
        std::vector<lang::Diagnostic> warnings;
        try {
            if (options.action == Options::Action::parse_only) engine.parse(script.name, std::move(script.text), warnings);
            else engine.check_script(script.name, std::move(script.text), warnings);
        } catch (...) {
            print_warnings(warnings);
            throw;
        }
        print_warnings(warnings);
        if (options.show_types) std::printf("%s\n", engine.last_type().c_str());
    }
    return 0;
}

int check_library(const Options& options) {
    Scheduler scheduler;
    set_scheduler(&scheduler);
    lang::Engine engine(engine_options(options));
    int faults = 0;
    lang::Arena arena;
    auto read = [&](const std::string& name, const std::string& type) {
        try {
            lang::parse_type(arena, type);
        } catch (const lang::ScriptError& e) {
            std::fprintf(stderr, "%s: %s\n", name.c_str(), e.what());
            ++faults;
        }
    };
    for (const lang::Builtin& b : lang::all_builtins()) read(b.name, lang::type_text(b));
    for (const lang::BuiltinConstant& c : lang::all_constants()) read(c.name, c.type);
    for (const lang::ForeignMethod& m : lang::all_foreign_methods()) read(m.constructor + "'s " + m.name, lang::type_text(m));
    std::size_t documented = engine.documented().size();
    std::printf("%zu functions, %zu documented in the standard library, %d faulty declarations\n", lang::all_builtins().size(), documented, faults);
    return faults == 0 ? 0 : 1;
}

int serve_editor() {
    std::signal(SIGPIPE, SIG_IGN);
    Scheduler scheduler;   // not started
    set_scheduler(&scheduler);
    lang::Engine::Options options = engine_options({});
    options.tolerant = true;   // an editor is what a broken library is mended with
    lang::Engine engine(options);
    const std::string library = options.library_directory.empty() ? lang::Library::find_directory() : options.library_directory;
    const int code = tools::LanguageServer(engine, library, STDIN_FILENO, STDOUT_FILENO).run();
    std::fflush(stderr);
    _exit(code);   // nothing was started that wants to be closed
}

int print_json(const Options& options) {
    for (const std::string& word : options.scripts) {
        Script script = read_script(word);
        std::printf("%s\n", lang::ast_json(lang::source_map().add(script.name, std::move(script.text))).c_str());
    }
    return 0;
}

int run(const Options& options) {
    std::string script = options.scripts.empty() ? "" : options.scripts.front();
    std::vector<std::string> arguments{script};
    arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
    builtins::set_script_arguments(std::move(arguments));
    apply_options(options, script);
    return options.simulate ? simulate(options) : stream(options);
}

}  // namespace castile::app
