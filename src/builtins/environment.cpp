// Environment variables, settings by name, the program about itself.

#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include "builtins/define.h"
#include "builtins/environment.h"
#include "base/name.h"
#include "lang/settings_globals.h"

extern char** environ;

namespace castile::builtins {

namespace {

Value variable(const BuiltinArgs& a) {
    const char* value = std::getenv(a[1].as_string().c_str());
    return value ? text(value) : a[0];
}

Value variables(const BuiltinArgs&) {
    std::vector<std::pair<std::string, std::string>> all;
    for (char** e = environ; *e; ++e) {
        std::string_view one(*e);
        std::size_t equals = one.find('=');
        if (equals != one.npos) all.emplace_back(one.substr(0, equals), one.substr(equals + 1));
    }
    return assoc(all);
}

Value set_variable(const BuiltinArgs& a) {
    if (a[0].as_string().empty() || setenv(a[0].as_string().c_str(), a[1].as_string().c_str(), 1) != 0)
        raise("invalid", "The name of an environment variable is not empty and has no =.");
    return Value();
}

SettingBase& setting(const std::string& name) {
    SettingBase* s = lang::find_setting(name);
    if (!s) raise("not_found", "There is no setting named " + name + ".");
    return *s;
}

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

constexpr const char* setting_kind = "'a where 'a is unit, bool, int, float, string or [string]";

const Definitions system("System", {
    {"environment", "All environment variables.", {}, "[string * string]", variables},
    {"environment.get", "An environment variable.", {opt("default", "string", "\"\"", "Value when it is not set."), pos("string", "Name.")}, "string", variable},
    {"environment.set", "Set an environment variable.", {pos("string", "Name."), pos("string", "Value.")}, "unit", set_variable},
    {"getenv", "An environment variable.", {opt("default", "string", "\"\"", "Value when it is not set."), pos("string", "Name.")}, "string", variable, {}, "Use `environment.get` instead."},
    {"setenv", "Set an environment variable.", {pos("string", "Name."), pos("string", "Value.")}, "unit", set_variable, {}, "Use `environment.set` instead."},
    {"process.pid", "The number of this process.", {}, "int", [](const BuiltinArgs&) { return integer(getpid()); }},
    {"getpid", "The number of this process.", {}, "int", [](const BuiltinArgs&) { return integer(getpid()); }, {}, "Use `process.pid` instead."},
    {"runtime.locale.set", "Nothing: text is UTF-8.", {pos("string")}, "unit", [](const BuiltinArgs&) { return Value(); }},
});

const Definitions settings("Settings", {
    {"set", "Change a setting by its name.", {pos("string", "Name."), pos("'a")}, "unit where 'a is unit, bool, int, float, string or [string]", [](const BuiltinArgs& a) {
        lang::set_setting(setting(a[0].as_string()), a[1]);
        return Value(); }, {}, "Use `settings.name := value` instead."},
    {"get", "The value of a setting by its name.", {arg("default", "'a", "Value when there is no such setting."), pos("string", "Name.")}, setting_kind, [](const BuiltinArgs& a) {
        SettingBase* s = lang::find_setting(a[1].as_string());
        return s ? lang::setting_value(*s) : a[0]; }, {}, "Use `settings.name()` instead."},
});

const Constants constants("System", {
    {"os.type", "Kind of system.", "string", [] { return text("Unix"); }},
    {"exe_ext", "What names of programs end in.", "string", [] { return text(""); }},
    {"runtime.sys.word_size", "Bits of a word.", "int", [] { return integer(64); }},
    {"configure.bindir", "Where programs are.", "string", [] { return text("/usr/bin"); }},
    {"configure.libdir", "Where the standard library is.", "string", [] { return text("/usr/share/castile"); }},
    {"configure.logdir", "Where logs go.", "string", [] { return text("/var/log/castile"); }},
    {"configure.rundir", "Where PID files go.", "string", [] { return text("/run/castile"); }},
    {"castile.version", "Version of this program.", "string", [] { return text(CASTILE_VERSION); }},
    {"liquidsoap.version", "Version of the language; its method `at_least` compares it.", "string.{at_least : (string) -> bool}", [] {
        return text(language_version).with_method("at_least", native([](std::span<const CallArgument> a) { return boolean(at_least(a[0].value.as_string())); })); }},
    {"liquidsoap.script.path", "Path of the script.", "string?", [] { return Value::null(); }},
    {"liquidsoap.executable", "Path of this program.", "string", [] {
        char path[4096];
        ssize_t n = readlink("/proc/self/exe", path, sizeof path);
        return text(std::string(path, n > 0 ? static_cast<std::size_t>(n) : 0)); }},
    {"liquidsoap.build_config.system", "System this was built for.", "string", [] {
        utsname u{};
        uname(&u);
        return text(u.sysname); }},
    {"liquidsoap.build_config.architecture", "Processor this was built for.", "string", [] {
        utsname u{};
        uname(&u);
        return text(u.machine); }},
});

}  // namespace

}  // namespace castile::builtins
