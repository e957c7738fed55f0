#pragma once
// Commands of the server (telnet, HTTP): a name, how to use it, and the script or engine function behind it.

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "lang/value.h"
#include "source/output.h"
#include "source/source.h"

namespace castile::script {

struct Command {
    std::string usage, description;   ///< usage: with the command's whole name, except in add_source_command
    std::function<std::string(const std::string& argument)> run;   ///< May throw RuntimeError; any thread.
    bool quick = false;        ///< `run` never waits for anything: it may be called on a worker.
    bool ends_session = false; ///< A client that gives it is done.
};

/// Any thread. A second registration of a name replaces the first.
void add_command(const std::string& name, Command command);
void remove_command(const std::string& name);
bool has_command(const std::string& name);
std::optional<Command> find_command(const std::string& name);
std::map<std::string, Command> all_commands();

/// `id.name` once the source has its final id: resolved when the command is looked up, so a later set_id counts.
/// Commands go with their source.
void add_source_command(const SourcePtr& source, const std::string& name, const std::string& usage,
                        const std::string& description, lang::Value function);
/// The same with a function of the engine, which must hold the source weakly.
void add_source_command(const SourcePtr& source, const std::string& name, Command command);
/// start, stop, status, autostart, skip, seek, metadata, remaining.
void add_output_commands(const std::shared_ptr<Output>& output);

/// What a client gets for a line: `name` or `name argument`. Errors are part of the answer ("ERROR: ...").
struct CommandAnswer {
    std::string text;
    bool ends_session = false;
};
CommandAnswer run_command(const std::string& line) noexcept;   ///< Blocking, unless is_quick_command.
bool is_quick_command(const std::string& line);

/// Runs `f` between two ticks of the source's clock and waits for its result, at most half a second; nothing when the clock
/// takes longer (it will run `f` all the same), or at once on a worker, which must not wait. Never from a tick.
std::optional<double> ask_between_ticks(const SourcePtr& source, std::function<double(Source&)> f);

}  // namespace castile::script
