// server.*: commands for the server that a script adds or gives.

#include "base/log.h"
#include "builtins/define.h"
#include "script/commands.h"

namespace castile::builtins {

namespace {

const Logger& logger() {
    static const Logger log("server");
    return log;
}

Value register_command(const BuiltinArgs& a) {
    enum : unsigned { space, description, usage, name, function };
    const std::string prefix = a[space].is_null() || a[space].as_string().empty() ? "" : a[space].as_string() + ".";
    const std::string full = prefix + a[name].as_string();
    if (a[name].as_string().empty() || full.find_first_of(" \r\n") != full.npos) raise("invalid", "The name of a command is not empty and has no spaces.");
    if (script::has_command(full)) logger().severe("Server command {} already registered! Previous definition replaced.", full);
    script::add_command(full, {prefix + optional_text(a[usage]).value_or(a[name].as_string()), a[description].as_string(),
                               [f = a[function]](const std::string& argument) { return f.call({text(argument)}).as_string(); }});
    return Value();
}

Value execute(const BuiltinArgs& a) {
    std::string line = a[0].as_string();
    if (!a[1].as_string().empty()) line += " " + a[1].as_string();
    const script::CommandAnswer answer = script::run_command(line);
    if (answer.ends_session) return strings({"ERROR: Attempt to exit!"});
    std::vector<std::string> lines;
    for (std::size_t from = 0; from <= answer.text.size();) {
        const std::size_t end = std::min(answer.text.find('\n', from), answer.text.size());
        const bool returns = end > from && end < answer.text.size() && answer.text[end - 1] == '\r';
        lines.push_back(answer.text.substr(from, end - from - (returns ? 1 : 0)));
        from = end + 1;
    }
    return strings(lines);
}

const Definitions server("Interaction", {
    {"server.register", "Add a command to the server.",
     {opt("namespace", "string?", "null", "What its name starts with: `namespace.name`."), opt("description", "string", "\"No documentation available.\"", "What it does."),
      opt("usage", "string?", "null", "How it is written, without the namespace: `name <argument>`."), pos("string", "Name."), pos("(string) -> string", "Gives the answer to an argument.")}, "unit", register_command},
    {"server.execute", "Run a command of the server; the lines of its answer.", {pos("string", "Command, with or without its argument."), opt_pos("string", "\"\"", "Argument.")}, "[string]", execute},
});

}  // namespace

}  // namespace castile::builtins
