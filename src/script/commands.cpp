#include "script/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <mutex>
#include <vector>

#include "sched/scheduler.h"
#include "script/source_methods.h"

namespace castile::script {

namespace {

constexpr auto longest_wait = std::chrono::milliseconds(500);

struct OfSource {
    std::weak_ptr<Source> source;
    std::map<std::string, Command> commands;
};

struct Table {
    std::mutex commands_mutex;
    std::map<std::string, Command> commands;
    std::map<const Source*, OfSource> of_sources;
    std::size_t next_sweep = 64;

    void sweep() {
        if (of_sources.size() < next_sweep) return;
        std::erase_if(of_sources, [](const auto& entry) { return entry.second.source.expired(); });
        next_sweep = std::max<std::size_t>(64, 2 * of_sources.size());
    }
    /// Those alive. Outside the lock: letting go of the last reference of a source runs its destructor.
    std::vector<SourcePtr> sources() {
        std::vector<SourcePtr> alive;
        std::lock_guard lock(commands_mutex);
        for (const auto& [address, own] : of_sources)
            if (SourcePtr source = own.source.lock()) alive.push_back(std::move(source));
        return alive;
    }
};

Table& table() {
    static Table* table = new Table;  // outlives every static
    return *table;
}

Command with_full_usage(Command command, const std::string& id) {
    command.usage = id + "." + command.usage;
    return command;
}

std::string name_in(const std::string& line) { return line.substr(0, line.find(' ')); }

}  // namespace

void add_command(const std::string& name, Command command) {
    std::lock_guard lock(table().commands_mutex);
    table().commands.insert_or_assign(name, std::move(command));
}

void remove_command(const std::string& name) {
    std::lock_guard lock(table().commands_mutex);
    table().commands.erase(name);
}

bool has_command(const std::string& name) { return find_command(name).has_value(); }

std::map<std::string, Command> all_commands() {
    const std::vector<SourcePtr> sources = table().sources();
    std::lock_guard lock(table().commands_mutex);
    std::map<std::string, Command> all = table().commands;
    for (const SourcePtr& source : sources) {
        const auto own = table().of_sources.find(source.get());
        if (own == table().of_sources.end()) continue;
        for (const auto& [name, command] : own->second.commands)
            all.insert_or_assign(source->id() + "." + name, with_full_usage(command, source->id()));
    }
    return all;
}

std::optional<Command> find_command(const std::string& name) {
    const auto dot = name.rfind('.');
    const std::vector<SourcePtr> sources = dot == name.npos ? std::vector<SourcePtr>() : table().sources();
    std::lock_guard lock(table().commands_mutex);
    for (const SourcePtr& source : sources) {
        const std::string& id = source->id();
        if (name.size() <= id.size() + 1 || name[id.size()] != '.' || !name.starts_with(id)) continue;
        const auto own = table().of_sources.find(source.get());
        if (own == table().of_sources.end()) continue;
        const auto command = own->second.commands.find(name.substr(id.size() + 1));
        if (command != own->second.commands.end()) return with_full_usage(command->second, id);
    }
    const auto found = table().commands.find(name);
    if (found == table().commands.end()) return std::nullopt;
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
    table().sweep();
    OfSource& own = table().of_sources[source.get()];
    if (own.source.lock() != source) own = {source, {}};   // a new source at the address of a former one
    own.commands.insert_or_assign(name, std::move(command));
}

std::optional<double> ask_between_ticks(const SourcePtr& source, std::function<double(Source&)> f) {
    if (scheduler().time().simulated()) return f(*source);   // one thread for all
    if (Scheduler::on_worker()) {                            // the clock may need this very worker
        order(source, [f = std::move(f)](Source& s) { f(s); });
        return std::nullopt;
    }
    auto result = std::make_shared<std::promise<double>>();
    std::future<double> answer = result->get_future();
    order(source, [result, f = std::move(f)](Source& s) { result->set_value(f(s)); });
    if (answer.wait_for(longest_wait) != std::future_status::ready) return std::nullopt;
    return answer.get();
}

CommandAnswer run_command(const std::string& line) noexcept {
    const std::string name = name_in(line);
    try {
        const auto command = find_command(name);
        if (!command) return {"ERROR: unknown command, type \"help\" to get a list of commands."};
        const std::string argument = line.size() > name.size() ? line.substr(name.size() + 1) : "";
        return {command->run(argument), command->ends_session};
    } catch (const lang::RuntimeError& error) {
        return {fmt::format("ERROR: {}: {}", error.kind(), error.message())};
    } catch (const std::exception& error) {
        return {fmt::format("ERROR: {}", error.what())};
    } catch (...) {
        return {"ERROR: the command failed."};
    }
}

bool is_quick_command(const std::string& line) {
    const std::string name = name_in(line);
    std::lock_guard lock(table().commands_mutex);
    const auto found = table().commands.find(name);
    return found != table().commands.end() && found->second.quick;
}

}  // namespace castile::script
