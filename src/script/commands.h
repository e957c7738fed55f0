#pragma once
// Commands of the server (telnet, HTTP): a name, how to use it, and the script or engine function behind it.

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "lang/value.h"
#include "source/source.h"

namespace castile::script {

struct Command {
    std::string usage, description;
    std::function<std::string(const std::string& argument)> run;   ///< May throw RuntimeError; any thread.
};

/// Any thread. A second registration of a name replaces the first.
void add_command(const std::string& name, Command command);
void remove_command(const std::string& name);
std::optional<Command> find_command(const std::string& name);
std::map<std::string, Command> all_commands();

/// `id.name` once the source has its final id: resolved when the command is looked up, so a later set_id counts.
void add_source_command(const SourcePtr& source, const std::string& name, const std::string& usage,
                        const std::string& description, lang::Value function);
/// The same with a function of the engine, which must hold the source weakly.
void add_source_command(const SourcePtr& source, const std::string& name, Command command);

}  // namespace castile::script
