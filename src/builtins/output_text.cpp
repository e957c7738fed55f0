// print, log, read.

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iostream>

#include "base/log.h"
#include "builtins/define.h"
#include "lang/text.h"

namespace castile::builtins {

namespace {

LogLevel level(std::int64_t n) { return static_cast<LogLevel>(n < 1 ? 1 : n > 5 ? 5 : n); }

template <int Level> Value write(const BuiltinArgs& a) {
    log_line(level(Level), a[0].as_string(), a[1].as_string());
    return Value();
}

const BuiltinParam label = opt("label", "string", "\"lang\"", "Label of the line.");

const Definitions definitions("Programming", {
    {"print", "Print a value.", {opt("newline", "bool", "true", "End the line."), pos("'a")}, "unit", [](const BuiltinArgs& a) {
        bool text = a[1].kind() == Value::Kind::string && lang::valid_utf8(a[1].as_string());
        std::string shown = text ? a[1].as_string() : lang::to_string(a[1], true);
        if (a[0].as_bool()) shown += '\n';
        std::fwrite(shown.data(), 1, shown.size(), stdout);
        std::fflush(stdout);
        return Value(); }},
    {"read", "Read a line from the console.", {opt("hide", "bool", "false", "Do not show what is typed.")}, "string", [](const BuiltinArgs&) {
        std::string line;
        std::getline(std::cin, line);
        return text(line); }},
    {"log", "Write a line to the log.", {label, opt("level", "int", "3", "Level, from 1 (critical) to 5 (debug)."), pos("string")}, "unit", [](const BuiltinArgs& a) {
        log_line(level(a[1].as_int()), a[0].as_string(), a[2].as_string());
        return Value(); }},
    {"log.critical", "Write a critical line (level 1) to the log.", {label, pos("string")}, "unit", write<1>},
    {"log.severe", "Write a severe line (level 2) to the log.", {label, pos("string")}, "unit", write<2>},
    {"log.important", "Write an important line (level 3) to the log.", {label, pos("string")}, "unit", write<3>},
    {"log.info", "Write an informative line (level 4) to the log.", {label, pos("string")}, "unit", write<4>},
    {"log.debug", "Write a line for debugging (level 5) to the log.", {label, pos("string")}, "unit", write<5>},
    {"log.flush", "Wait until the log is written.", {}, "unit", [](const BuiltinArgs&) {
        flush_log();
        return Value(); }},
});

}  // namespace

}  // namespace castile::builtins
