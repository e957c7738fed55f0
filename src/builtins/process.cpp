// Processes: a shell command, what it writes and how it ended.

#include <optional>

#include "base/child_process.h"
#include "base/error.h"
#include "base/log.h"
#include "base/sandbox.h"
#include "builtins/define.h"
#include "lang/text.h"

namespace castile::builtins {

namespace {

/// Extra variables stand for all, as scripts expect.
std::vector<std::string> environment_of(const Value& extra, bool inherit) {
    std::vector<std::string> all;
    for (const auto& [k, v] : to_assoc(extra)) all.push_back(k + "=" + v);
    if (all.empty() && inherit) return own_environment();
    return all;
}

const char* name_of(ProcessEnd::How how) {
    switch (how) {
        case ProcessEnd::How::exit: return "exit";
        case ProcessEnd::How::killed: return "killed";
        case ProcessEnd::How::timeout: return "timeout";
        case ProcessEnd::How::not_started: return "exception";
    }
    return "";
}

ProcessEnd run(const std::string& command, std::vector<std::string> environment, const std::string& input, double timeout,
               const SandboxLimits& limits = {}) {
    try {
        ProcessEnd end = run_process({sandboxed(command, limits), std::move(environment), input, timeout});
        if (end.how == ProcessEnd::How::timeout) end.description = lang::float_text(timeout);
        return end;
    } catch (const Error& e) {
        raise("invalid", e.what());
    }
}

Value to_value(const ProcessEnd& r) {
    Value status = text(name_of(r.how)).with_method("code", integer(r.code)).with_method("description", text(r.description));
    return Value::record({{"stdout", text(r.out)}, {"stderr", text(r.err)}, {"status", status}});
}

/// process.read's parameters: timeout, env, inherit_env, log_errors, command.
ProcessEnd read_command(const BuiltinArgs& a) {
    ProcessEnd r = run(a[4].as_string(), environment_of(a[1], a[2].as_bool()), "", a[0].as_float());
    if (a[3].as_bool() && !r.good()) {
        static const Logger log("process");
        log.important("Failed to execute `{}`: {} ({}) {} {}", a[4].as_string(), name_of(r.how), r.code, r.out, r.err);
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
ProcessEnd run_command(const BuiltinArgs& a) {
    SandboxLimits limits{to_texts(a[3]), to_texts(a[4]), a[5].is_null() ? -1 : a[5].as_bool()};
    return run(a[7].as_string(), environment_of(a[0], a[1].as_bool()), a[2].as_string(), a[6].is_null() ? -1 : a[6].as_float(), limits);
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
        ProcessEnd r = run_command(a);
        return Value::tuple({text(r.out), text(r.err), pair(text(name_of(r.how)), text(std::to_string(r.code)))}); }, {}, "Use `process.run` instead."},
    {"process.read", "What a shell command writes.", read_params, "string", read},
    {"get_process_output", "What a shell command writes.", read_params, "string", read, {}, "Use `process.read` instead."},
    {"process.read.lines", "The lines that a shell command writes.", read_params, "[string]", read_lines},
    {"get_process_lines", "The lines that a shell command writes.", read_params, "[string]", read_lines, {}, "Use `process.read.lines` instead."},
    {"process.test", "Does a shell command succeed?", {read_params[0], read_params[1], read_params[2], read_params[4]}, "bool", [](const BuiltinArgs& a) {
        ProcessEnd r = run(a[3].as_string(), environment_of(a[1], a[2].as_bool()), "", a[0].as_float());
        return boolean(r.good()); }},
    {"test_process", "Does a shell command succeed?", {read_params[0], read_params[1], read_params[2], read_params[4]}, "bool", [](const BuiltinArgs& a) {
        ProcessEnd r = run(a[3].as_string(), environment_of(a[1], a[2].as_bool()), "", a[0].as_float());
        return boolean(r.good()); }, {}, "Use `process.test` instead."},
    {"system", "Run a shell command and wait for it.", {pos("string", "Shell command.")}, "unit", [](const BuiltinArgs& a) {
        return to_value(run(a[0].as_string(), environment_of(Value::list({}), true), "", -1)); }, run_methods, "Use `process.run` instead."},
    {"process.quote", "A string as one word of a shell command.", {pos("string")}, "string", [](const BuiltinArgs& a) { return text(shell_quoted(a[0].as_string())); }},
    {"quote", "A string as one word of a shell command.", {pos("string")}, "string", [](const BuiltinArgs& a) { return text(shell_quoted(a[0].as_string())); }, {}, "Use `process.quote` instead."},
    {"process.quote.command", "A shell command of a program and its arguments.",
     {opt("stdin", "string?", "null", "File to read."), opt("stdout", "string?", "null", "File to write."), opt("stderr", "string?", "null", "File to write errors to."),
      opt("args", "[string]", "[]", "Arguments."), pos("string", "Program.")}, "string", [](const BuiltinArgs& a) {
        std::string out = shell_quoted(a[4].as_string());
        for (const Value& v : a[3].elements()) out += " " + shell_quoted(v.as_string());
        if (!a[0].is_null()) out += " <" + shell_quoted(a[0].as_string());
        if (!a[1].is_null()) out += " >" + shell_quoted(a[1].as_string());
        bool both = !a[1].is_null() && !a[2].is_null() && a[1].as_string() == a[2].as_string();
        if (!a[2].is_null()) out += both ? " 2>&1" : " 2>" + shell_quoted(a[2].as_string());
        return text(out); }},
});

}  // namespace

}  // namespace castile::builtins
