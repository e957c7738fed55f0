// Start, shutdown, exit.

#include "builtins/lifecycle.h"

#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <mutex>

#include "base/log.h"
#include "builtins/define.h"
#include "builtins/threads.h"

namespace castile::builtins {

namespace {

struct Lifecycle {
    std::mutex lifecycle_mutex;
    std::condition_variable shutdown_asked;
    std::vector<Value> on_start, on_shutdown, on_cleanup;
    std::vector<std::string> arguments{""};
    bool asked = false, restart = false, started = false;
    int code = 0;
};

Lifecycle& life() {
    static Lifecycle* life = new Lifecycle;
    return *life;
}

void run_all(std::vector<Value> callbacks) {
    for (const Value& f : callbacks) run_task(f);
}

Value argument(const BuiltinArgs& a) {
    std::lock_guard lock(life().lifecycle_mutex);
    std::int64_t i = a[1].as_int();
    bool there = i >= 0 && i < static_cast<std::int64_t>(life().arguments.size());
    return there ? text(life().arguments[static_cast<std::size_t>(i)]) : a[0];
}

/// Takes an option out of the script's arguments. Without a default it is a flag: "1" when it is there, else "0"; with one it
/// has a value: `-o value`, `-o=value`.
Value option(const BuiltinArgs& a) {
    std::lock_guard lock(life().lifecycle_mutex);
    const std::string& name = a[1].as_string();
    const bool flag = a[0].as_string().empty();
    auto& arguments = life().arguments;
    for (std::size_t i = 1; i < arguments.size(); ++i) {
        const auto at = arguments.begin() + static_cast<std::ptrdiff_t>(i);
        if (arguments[i].starts_with(name + "=")) {
            Value value = text(arguments[i].substr(name.size() + 1));
            arguments.erase(at);
            return value;
        }
        if (arguments[i] != name) continue;
        if (flag) {
            std::erase(arguments, name);
            return text("1");
        }
        if (i + 1 == arguments.size()) break;
        Value value = text(arguments[i + 1]);
        arguments.erase(at, at + 2);
        return value;
    }
    return flag ? text("0") : a[0];
}

void add(std::vector<Value> Lifecycle::*list, const Value& f) {
    std::lock_guard lock(life().lifecycle_mutex);
    (life().*list).push_back(f);
}

const Definitions definitions("System", {
    {"on_start", "Call a function once everything is started.", {pos("() -> unit")}, "unit", [](const BuiltinArgs& a) {
        add(&Lifecycle::on_start, a[0]);
        return Value(); }},
    {"on_shutdown", "Call a function at shutdown.", {pos("() -> unit")}, "unit", [](const BuiltinArgs& a) {
        add(&Lifecycle::on_shutdown, a[0]);
        return Value(); }},
    {"on_cleanup", "Call a function at the very end.", {pos("() -> unit")}, "unit", [](const BuiltinArgs& a) {
        add(&Lifecycle::on_cleanup, a[0]);
        return Value(); }},
    {"shutdown", "Shut down: outputs are closed, then the program ends.", {opt("code", "int", "0", "Exit code.")}, "unit", [](const BuiltinArgs& a) {
        request_shutdown(static_cast<int>(a[0].as_int()));
        return Value(); }},
    {"restart", "Shut down, then start again.", {}, "unit", [](const BuiltinArgs&) {
        {
            std::lock_guard lock(life().lifecycle_mutex);
            life().restart = true;
        }
        request_shutdown(0);
        return Value(); }},
    {"exit", "End the program at once.", {pos("int", "Exit code.")}, "unit", [](const BuiltinArgs& a) -> Value {
        flush_log();
        std::fflush(stdout);
        _exit(static_cast<int>(a[0].as_int())); }},
    {"argv", "An argument of the script; 0 is its name.", {opt("default", "string", "\"\"", "Value when there is no such argument."), pos("int", "Position.")}, "string", argument},
    {"getopt", "An option among the script's arguments, which is then taken out of them: with a default its value (`--name value` or `--name=value`), without one \"1\" when it is there, else \"0\".",
     {opt("default", "string", "\"\"", "Value when the option is not given; empty: it is a flag."), pos("string", "Name, with its dashes.")}, "string", option},
});

}  // namespace

void set_script_arguments(std::vector<std::string> arguments) {
    std::lock_guard lock(life().lifecycle_mutex);
    life().arguments = std::move(arguments);
}

std::string script_path() {
    std::lock_guard lock(life().lifecycle_mutex);
    const std::string& path = life().arguments.front();
    std::error_code error;
    return std::filesystem::is_regular_file(path, error) ? path : "";
}

void request_shutdown(int code) {
    std::lock_guard lock(life().lifecycle_mutex);
    if (!life().asked) life().code = code;
    life().asked = true;
    life().shutdown_asked.notify_all();
}

bool shutdown_requested() noexcept {
    std::lock_guard lock(life().lifecycle_mutex);
    return life().asked;
}

int exit_code() noexcept {
    std::lock_guard lock(life().lifecycle_mutex);
    return life().code;
}

bool restart_requested() noexcept {
    std::lock_guard lock(life().lifecycle_mutex);
    return life().restart;
}

void wait_for_shutdown() {
    std::unique_lock lock(life().lifecycle_mutex);
    life().shutdown_asked.wait(lock, [] { return life().asked; });
}

void when_started(Value function) {
    {
        std::lock_guard lock(life().lifecycle_mutex);
        if (!life().started) {
            life().on_start.push_back(std::move(function));
            return;
        }
    }
    run_task(function);
}

void at_shutdown(Value function) { add(&Lifecycle::on_shutdown, function); }

void run_start_callbacks() {
    std::vector<Value> callbacks;
    {
        std::lock_guard lock(life().lifecycle_mutex);
        life().started = true;
        callbacks = std::exchange(life().on_start, {});
    }
    run_all(std::move(callbacks));
}

void run_shutdown_callbacks() {
    std::vector<Value> shutdown, cleanup;
    {
        std::lock_guard lock(life().lifecycle_mutex);
        shutdown = std::exchange(life().on_shutdown, {});
        cleanup = std::exchange(life().on_cleanup, {});
    }
    run_all(std::move(shutdown));
    run_all(std::move(cleanup));
}

}  // namespace castile::builtins
