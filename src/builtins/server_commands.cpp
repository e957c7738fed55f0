// The commands that the server always has.

#include <fmt/format.h>

#include <charconv>

#include "base/memory.h"
#include "builtins/define.h"
#include "builtins/environment.h"
#include "builtins/lifecycle.h"
#include "clock/clock.h"
#include "request/request.h"
#include "script/commands.h"

namespace castile::builtins {

namespace {

using script::Command;

std::string uptime_text(const std::string&) {
    const auto seconds = static_cast<std::int64_t>(std::max(0., uptime()));
    return fmt::format("{}d {:02}h {:02}m {:02}s", seconds / 86400, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
}

// All commands as a tree of one level; or what one of them does.
std::string help(const std::string& argument) {
    const auto first = argument.find_first_not_of(' ');
    const std::string wanted = first == argument.npos ? "" : argument.substr(first, argument.find_last_not_of(' ') - first + 1);
    if (const auto command = wanted.empty() ? std::nullopt : script::find_command(wanted))
        return "Usage: " + command->usage + "\r\n  " + command->description;
    std::string text = wanted.empty() ? "" : "No such command: " + wanted + "\r\n";
    text += "Available commands:";
    const auto all = script::all_commands();
    std::size_t left = all.size();
    for (const auto& [name, command] : all) text += (--left > 0 ? "\r\n├─ " : "\r\n└─ ") + command.usage;
    return text + "\r\n\r\nType \"help <command>\" for more information.";
}

// What has commands of its own, and what it is.
std::string list(const std::string&) {
    std::string text;
    for (const SourcePtr& source : all_sources())
        text += (text.empty() ? "" : "\n") + source->id() + " : " + source->operator_name();
    return text;
}

std::string ids(bool (*wanted)(Request::State)) {
    std::string text;
    for (const RequestPtr& request : all_requests())
        if (wanted(request->state())) text += (text.empty() ? "" : " ") + std::to_string(request->id());
    return text;
}

bool alive(Request::State state) { return state != Request::State::destroyed; }

RequestPtr request_of(const std::string& argument) {
    int id = -1;
    const auto first = argument.find_first_not_of(' ');
    if (first != argument.npos) std::from_chars(argument.data() + first, argument.data() + argument.size(), id);
    return id < 0 ? nullptr : find_request(id);
}

std::string trace(const std::string& argument) {
    const RequestPtr request = request_of(argument);
    if (!request) return "No such request.";
    std::string text;
    for (const std::string& line : request->log()) text += (text.empty() ? "" : "\n") + line;
    return text;
}

std::string metadata(const std::string& argument) {
    const RequestPtr request = request_of(argument);
    return request ? metadata_text(request->metadata()) : "No such request.";
}

std::string give_back(const std::string&) {
    release_free_memory();
    return "Done!";
}

void add(const char* name, const char* usage, const char* description, std::string (*run)(const std::string&), bool quick) {
    script::add_command(name, {usage, description, run, quick});
}

const bool added = [] {
    add("help", "help [<command>]", "Get information on available commands.", help, true);
    add("list", "list", "List the sources and outputs, and what they are.", list, true);
    add("version", "version", "Display the version.", [](const std::string&) { return std::string("Liquidsoap ") + language_version; }, true);
    add("uptime", "uptime", "Print how long this instance runs.", uptime_text, true);
    for (const char* name : {"exit", "quit"})
        script::add_command(name, {name, "Close current server session.", [](const std::string&) { return std::string("Bye!"); }, true, true});
    add("request.all", "request.all", "Get the identifiers of all existing requests.", [](const std::string&) { return ids(alive); }, true);
    add("request.alive", "request.alive", "Get the identifiers of all existing requests.", [](const std::string&) { return ids(alive); }, true);
    add("request.resolving", "request.resolving", "Get the identifiers of requests that are being prepared.",
        [](const std::string&) { return ids([](Request::State s) { return s == Request::State::resolving; }); }, true);
    add("request.on_air", "request.on_air", "Get the identifiers of requests that play.",
        [](const std::string&) { return ids([](Request::State s) { return s == Request::State::playing; }); }, true);
    add("request.trace", "request.trace <rid>", "Print what happened to a request.", trace, true);
    add("request.metadata", "request.metadata <rid>", "Display the metadata of a request.", metadata, true);
    for (const char* name : {"clock.dump", "clocks.dump"})   // of 2.5, of 2.4
        add(name, name, "Describe the current clocks and their sources.", [](const std::string&) { return dump_clocks(); }, true);
    for (const char* name : {"clock.dump_all_sources", "clocks.dump_sources"})
        add(name, name, "Draw the streams as trees of sources.", [](const std::string&) { return dump_all_sources(); }, true);
    add("runtime.gc.full_major", "runtime.gc.full_major", "Give free memory back to the system.", give_back, false);
    add("runtime.gc.compact", "runtime.gc.compact", "Give free memory back to the system.", give_back, false);
    add("runtime.memory", "runtime.memory", "Describe the memory used by the process.", [](const std::string&) { return memory_text(); }, true);
    add("shutdown", "shutdown", "Shut the running instance down.", [](const std::string&) {
        request_shutdown(0);
        return std::string("OK"); }, true);
    return true;
}();

}  // namespace

}  // namespace castile::builtins
