// Processes: a shell command, what it writes and how it ended.

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>

#include "base/log.h"
#include "builtins/define.h"
#include "builtins/sandbox.h"
#include "lang/text.h"

extern char** environ;

namespace castile::builtins {

namespace {

constexpr std::size_t max_output = 256u << 20;   // bytes kept of a process's output

struct Result {
    std::string out, err, status = "exit", description;
    int code = 0;
};

struct Pipe {
    int read = -1, write = -1;
    Pipe() {
        int fds[2];
        if (pipe2(fds, O_CLOEXEC) != 0) raise("invalid", std::string("No pipe for a process: ") + std::strerror(errno) + ".");
        read = fds[0];
        write = fds[1];
    }
    ~Pipe() {
        close_read();
        close_write();
    }
    void close_read() { if (read >= 0) ::close(std::exchange(read, -1)); }
    void close_write() { if (write >= 0) ::close(std::exchange(write, -1)); }
};

/// Extra variables stand for all, as scripts expect.
std::vector<std::string> environment_of(const Value& extra, bool inherit) {
    std::vector<std::string> all;
    for (const auto& [k, v] : to_assoc(extra)) all.push_back(k + "=" + v);
    if (all.empty() && inherit)
        for (char** e = environ; *e; ++e) all.emplace_back(*e);
    return all;
}

/// Moves bytes between us and the child until it closed its ends or time is over; true in time.
bool exchange(Pipe& in, Pipe& out, Pipe& err, const std::string& input, Result& result, double timeout) {
    using Clock = std::chrono::steady_clock;
    auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout));
    std::size_t written = 0;
    if (input.empty()) in.close_write();
    fcntl(in.write, F_SETFL, O_NONBLOCK);
    char buffer[65536];
    while (out.read >= 0 || err.read >= 0) {
        int wait = -1;
        if (timeout >= 0) {
            auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
            if (left <= 0) return false;
            wait = static_cast<int>(std::min<long>(left + 1, 60000));
        }
        pollfd fds[3] = {{out.read, POLLIN, 0}, {err.read, POLLIN, 0}, {in.write, POLLOUT, 0}};
        if (poll(fds, 3, wait) < 0 && errno != EINTR) break;
        if (fds[2].revents) {
            ssize_t n = ::write(in.write, input.data() + written, input.size() - written);
            if (n > 0) written += static_cast<std::size_t>(n);
            if (written == input.size() || (n < 0 && errno != EAGAIN)) in.close_write();
        }
        for (auto [fd, pipe, text] : {std::tuple(&fds[0], &out, &result.out), std::tuple(&fds[1], &err, &result.err)}) {
            if (!fd->revents) continue;
            ssize_t n = ::read(pipe->read, buffer, sizeof buffer);
            if (n <= 0) pipe->close_read();
            else if (text->size() < max_output) text->append(buffer, static_cast<std::size_t>(n));
        }
    }
    return true;
}

Result run(const std::string& command, const std::vector<std::string>& environment, const std::string& input, double timeout,
           const SandboxLimits& limits = {}) {
    Pipe in, out, err;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in.read, 0);
    posix_spawn_file_actions_adddup2(&actions, out.write, 1);
    posix_spawn_file_actions_adddup2(&actions, err.write, 2);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    // A group of its own, so that a time-out ends the whole command; default signals.
    sigset_t defaults, none;
    sigfillset(&defaults);
    sigemptyset(&none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setsigmask(&attributes, &none);
    std::vector<char*> env;
    for (const std::string& e : environment) env.push_back(const_cast<char*>(e.c_str()));
    env.push_back(nullptr);
    const std::vector<std::string> words = sandboxed(command, limits);
    std::vector<char*> argv;
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    pid_t pid = 0;
    int error = posix_spawn(&pid, argv[0], &actions, &attributes, argv.data(), env.data());
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    Result result;
    if (error != 0) {
        result.status = "exception";
        result.code = -1;
        result.description = std::strerror(error);
        return result;
    }
    in.close_read();
    out.close_write();
    err.close_write();
    bool in_time = exchange(in, out, err, input, result, timeout);
    if (!in_time) kill(-pid, SIGKILL);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    if (!in_time) {
        result.status = "timeout";
        result.code = -1;
        result.description = lang::float_text(timeout);
    } else if (WIFEXITED(status)) {
        result.code = WEXITSTATUS(status);
    } else if (WIFSIGNALED(status)) {
        result.status = "killed";
        result.code = WTERMSIG(status);
    }
    return result;
}

Value to_value(const Result& r) {
    Value status = text(r.status).with_method("code", integer(r.code)).with_method("description", text(r.description));
    return Value::record({{"stdout", text(r.out)}, {"stderr", text(r.err)}, {"status", status}});
}

/// process.read's parameters: timeout, env, inherit_env, log_errors, command.
Result read_command(const BuiltinArgs& a) {
    Result r = run(a[4].as_string(), environment_of(a[1], a[2].as_bool()), "", a[0].as_float());
    if (a[3].as_bool() && (r.status != "exit" || r.code != 0)) {
        static const Logger log("process");
        log.important("Failed to execute `{}`: {} ({}) {} {}", a[4].as_string(), r.status, r.code, r.out, r.err);
    }
    return r;
}

Value read(const BuiltinArgs& a) { return text(read_command(a).out); }

Value read_lines(const BuiltinArgs& a) {
    std::string out = read_command(a).out;
    std::vector<Value> lines;
    std::size_t from = 0;
    for (std::size_t end = out.find('\n'); end != out.npos; from = end + 1, end = out.find('\n', from)) {
        bool carriage = end > from && out[end - 1] == '\r';
        lines.push_back(text(out.substr(from, end - from - (carriage ? 1 : 0))));
    }
    if (from < out.size() || lines.empty()) lines.push_back(text(out.substr(from)));
    return Value::list(std::move(lines));
}

std::vector<std::string> to_texts(const Value& list) {
    std::vector<std::string> all;
    for (const Value& e : list.elements()) all.push_back(e.as_string());
    return all;
}

/// process.run's: env, inherit_env, stdin, rwdirs, rodirs, network, timeout, command.
Result run_command(const BuiltinArgs& a) {
    SandboxLimits limits{to_texts(a[3]), to_texts(a[4]), a[5].is_null() ? -1 : a[5].as_bool()};
    return run(a[7].as_string(), environment_of(a[0], a[1].as_bool()), a[2].as_string(), a[6].is_null() ? -1 : a[6].as_float(), limits);
}

std::string quote(const std::string& s) {
    std::string out = "'";
    for (char c : s) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
}

const std::vector<BuiltinParam> run_params{
    opt("env", "[string * string]", "[]", "Its environment variables."), opt("inherit_env", "bool", "true", "When `env` is empty, give it our own?"),
    opt("stdin", "string", "\"\"", "What the process reads."), opt("rwdirs", "[string]", "[\"default\"]", "Folders that it may write in a sandbox; \"default\": those of `settings.sandbox.rw`."),
    opt("rodirs", "[string]", "[\"default\"]", "Folders that it may read in a sandbox; \"default\": those of `settings.sandbox.ro`."),
    opt("network", "bool?", "null", "May it use the network in a sandbox? Null: as `settings.sandbox.network` says."),
    opt("timeout", "float?", "null", "Seconds after which it is killed; null or negative: never."), pos("string", "Shell command."),
};
const std::vector<BuiltinParam> read_params{
    opt("timeout", "float", "-1.", "Seconds after which it is killed; negative: never."), opt("env", "[string * string]", "[]", "Its environment variables."),
    opt("inherit_env", "bool", "true", "When `env` is empty, give it our own?"), opt("log_errors", "bool", "true", "Log a failure?"), pos("string", "Shell command."),
};
const std::vector<BuiltinMethod> run_methods{
    {"stdout", "string", "What it wrote."}, {"stderr", "string", "What it wrote as errors."},
    {"status", "string.{code : int, description : string}", "How it ended: exit, killed, timeout or exception."},
};

const Definitions definitions("System", {
    {"process.run", "Run a shell command and wait for it.", run_params, "unit", [](const BuiltinArgs& a) { return to_value(run_command(a)); }, run_methods},
    {"run_process", "Run a shell command and wait for it.", run_params, "string * string * (string * string)", [](const BuiltinArgs& a) {
        Result r = run_command(a);
        return Value::tuple({text(r.out), text(r.err), pair(text(r.status), text(std::to_string(r.code)))}); }, {}, "Use `process.run` instead."},
    {"process.read", "What a shell command writes.", read_params, "string", read},
    {"get_process_output", "What a shell command writes.", read_params, "string", read, {}, "Use `process.read` instead."},
    {"process.read.lines", "The lines that a shell command writes.", read_params, "[string]", read_lines},
    {"get_process_lines", "The lines that a shell command writes.", read_params, "[string]", read_lines, {}, "Use `process.read.lines` instead."},
    {"process.test", "Does a shell command succeed?", {read_params[0], read_params[1], read_params[2], read_params[4]}, "bool", [](const BuiltinArgs& a) {
        Result r = run(a[3].as_string(), environment_of(a[1], a[2].as_bool()), "", a[0].as_float());
        return boolean(r.status == "exit" && r.code == 0); }},
    {"test_process", "Does a shell command succeed?", {read_params[0], read_params[1], read_params[2], read_params[4]}, "bool", [](const BuiltinArgs& a) {
        Result r = run(a[3].as_string(), environment_of(a[1], a[2].as_bool()), "", a[0].as_float());
        return boolean(r.status == "exit" && r.code == 0); }, {}, "Use `process.test` instead."},
    {"system", "Run a shell command and wait for it.", {pos("string", "Shell command.")}, "unit", [](const BuiltinArgs& a) {
        return to_value(run(a[0].as_string(), environment_of(Value::list({}), true), "", -1)); }, run_methods, "Use `process.run` instead."},
    {"process.quote", "A string as one word of a shell command.", {pos("string")}, "string", [](const BuiltinArgs& a) { return text(quote(a[0].as_string())); }},
    {"quote", "A string as one word of a shell command.", {pos("string")}, "string", [](const BuiltinArgs& a) { return text(quote(a[0].as_string())); }, {}, "Use `process.quote` instead."},
    {"process.quote.command", "A shell command of a program and its arguments.",
     {opt("stdin", "string?", "null", "File to read."), opt("stdout", "string?", "null", "File to write."), opt("stderr", "string?", "null", "File to write errors to."),
      opt("args", "[string]", "[]", "Arguments."), pos("string", "Program.")}, "string", [](const BuiltinArgs& a) {
        std::string out = quote(a[4].as_string());
        for (const Value& v : a[3].elements()) out += " " + quote(v.as_string());
        if (!a[0].is_null()) out += " <" + quote(a[0].as_string());
        if (!a[1].is_null()) out += " >" + quote(a[1].as_string());
        bool both = !a[1].is_null() && !a[2].is_null() && a[1].as_string() == a[2].as_string();
        if (!a[2].is_null()) out += both ? " 2>&1" : " 2>" + quote(a[2].as_string());
        return text(out); }},
});

}  // namespace

}  // namespace castile::builtins
