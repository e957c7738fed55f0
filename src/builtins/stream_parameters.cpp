// What all streams share, and the server's commands, for scripts.

#include "builtins/define.h"
#include "frame/ticks.h"
#include "lang/settings_globals.h"
#include "script/commands.h"

namespace castile::builtins {

namespace {

Value duration() { return number(lang::setting_value(*lang::find_setting("frame.duration")).as_float()); }

Value register_command(const BuiltinArgs& a) {
    std::string space = optional_text(a[0]).value_or(""), name = a[3].as_string();
    std::string full = space.empty() ? name : space + "." + name;
    Value f = a[4];
    script::add_command(full, {optional_text(a[2]).value_or(full), a[1].as_string(), [f](const std::string& argument) { return f.call({text(argument)}).as_string(); }});
    return Value();
}

/// A command as a client of the server would send it.
Value execute(const BuiltinArgs& a) {
    auto command = script::find_command(a[0].as_string());
    if (!command) raise("not_found", "There is no command " + a[0].as_string() + ".");
    std::string answer = command->run(a[1].as_string());
    std::vector<Value> lines;
    for (std::size_t from = 0; from <= answer.size();) {
        std::size_t end = std::min(answer.find('\n', from), answer.size());
        lines.push_back(text(answer.substr(from, end - from)));
        from = end + 1;
    }
    return Value::list(std::move(lines));
}

const Definitions settings("Settings", {
    {"frame.duration", "Length of a frame in seconds.", {}, "float", [](const BuiltinArgs&) { return duration(); }},
    {"audio.samplerate", "Samples per second of every stream.", {}, "int", [](const BuiltinArgs&) { return integer(stream_parameters().samplerate); }},
    {"audio.channels", "Default number of audio channels.", {}, "int", [](const BuiltinArgs&) { return integer(stream_parameters().channels); }},
    {"seconds_of_main", "A count of ticks in seconds.", {pos("int")}, "float", [](const BuiltinArgs& a) { return number(to_seconds(Ticks{a[0].as_int()})); }},
});

const Definitions server("Interaction", {
    {"server.register", "Add a command to the server.",
     {opt("namespace", "string?", "null", "What its name starts with."), opt("description", "string", "\"No documentation available.\"", "What it does."),
      opt("usage", "string?", "null", "How it is written."), pos("string", "Name."), pos("(string) -> string", "Gives the answer to an argument.")}, "unit", register_command},
    {"server.execute", "Run a command of the server; the lines of its answer.", {pos("string", "Command."), opt_pos("string", "\"\"", "Argument.")}, "[string]", execute},
});

}  // namespace

}  // namespace castile::builtins
