// Environment variables, settings by name.

#include <time.h>
#include <unistd.h>

#include <cstdlib>

#include "base/settings.h"
#include "builtins/define.h"
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
    if (a[0].as_string() == "TZ") tzset();
    return Value();
}

SettingBase& setting(const std::string& name) {
    SettingBase* s = find_setting(name);
    if (!s) raise("not_found", "There is no setting named " + name + ".");
    return *s;
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
        SettingBase* s = find_setting(a[1].as_string());
        return s ? lang::setting_value(*s) : a[0]; }, {}, "Use `settings.name()` instead."},
});

const Constants constants("System", {
    {"runtime.sys.word_size", "Bits of a word.", "int", [] { return integer(64); }},
});

}  // namespace

}  // namespace castile::builtins
