#include "script/commands.h"

#include <algorithm>
#include <mutex>
#include <vector>

namespace castile::script {

namespace {

struct SourceCommand {
    std::weak_ptr<Source> source;
    std::string name;
    Command command;
};

struct Table {
    std::mutex commands_mutex;
    std::map<std::string, Command> commands;
    std::vector<SourceCommand> of_sources;
};

Table& table() {
    static Table* table = new Table;  // outlives every static
    return *table;
}

}  // namespace

void add_command(const std::string& name, Command command) {
    std::lock_guard lock(table().commands_mutex);
    table().commands.insert_or_assign(name, std::move(command));
}

void remove_command(const std::string& name) {
    std::lock_guard lock(table().commands_mutex);
    table().commands.erase(name);
}

std::map<std::string, Command> all_commands() {
    std::lock_guard lock(table().commands_mutex);
    std::erase_if(table().of_sources, [](const SourceCommand& c) { return c.source.expired(); });
    std::map<std::string, Command> all = table().commands;
    for (const SourceCommand& own : table().of_sources)
        if (const SourcePtr source = own.source.lock()) all.insert_or_assign(source->id() + "." + own.name, own.command);
    return all;
}

std::optional<Command> find_command(const std::string& name) {
    const auto all = all_commands();
    const auto found = all.find(name);
    if (found == all.end()) return std::nullopt;
    return found->second;
}

void add_source_command(const SourcePtr& source, const std::string& name, const std::string& usage,
                        const std::string& description, lang::Value function) {
    add_source_command(source, name, {usage, description, [function = std::move(function)](const std::string& argument) {
                                          return function.call({lang::Value::string(argument)}).as_string();
                                      }});
}

void add_source_command(const SourcePtr& source, const std::string& name, Command command) {
    std::lock_guard lock(table().commands_mutex);
    auto& list = table().of_sources;
    std::erase_if(list, [&](const SourceCommand& c) {
        const SourcePtr other = c.source.lock();
        return !other || (other == source && c.name == name);
    });
    list.push_back({source, name, std::move(command)});
}

}  // namespace castile::script
