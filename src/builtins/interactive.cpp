// interactive.*: variables that people change while the station runs, by commands, a page, or OSC; kept in a file if wanted.

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "builtins/define.h"
#include "builtins/interactive_page.h"
#include "script/commands.h"

namespace castile::builtins {

namespace {

using nlohmann::json;
using script::Command;

const Logger& logger() {
    static const Logger log("interactive");
    return log;
}

struct Variable {
    std::string type, description;   // type: "bool", "float", "int", "string", "unit"
    Value cell;                      // a reference; of a unit: the function to call
    double min = -std::numeric_limits<double>::infinity(), max = std::numeric_limits<double>::infinity(), step = 0.1;
    std::string unit;
};

struct Variables {
    std::mutex variables_mutex;   // guards the next two
    std::map<std::string, Variable> by_name;
    std::string file;             // where values are kept; empty: nowhere
    std::mutex file_mutex;        // one writer at a time
};

Variables& variables() {
    static Variables* variables = new Variables;
    return *variables;
}

std::optional<Variable> find(const std::string& name) {
    std::lock_guard lock(variables().variables_mutex);
    const auto found = variables().by_name.find(name);
    return found == variables().by_name.end() ? std::nullopt : std::optional(found->second);
}

Variable variable(const std::string& name, const std::string& type) {
    auto found = find(name);
    if (!found || (!type.empty() && found->type != type)) raise("not_found", "There is no interactive variable " + name + (type.empty() ? "." : " of type " + type + "."));
    return std::move(*found);
}

void add(const std::string& name, Variable v) {
    std::lock_guard lock(variables().variables_mutex);
    if (!variables().by_name.try_emplace(name, std::move(v)).second) raise("interactive.error", "variable already registered");
}

void remove(const std::string& name) {
    std::lock_guard lock(variables().variables_mutex);
    variables().by_name.erase(name);
}

// --- Values and text -----------------------------------------------------------------------------------------------------

std::string value_text(const Variable& v) {
    if (v.type == "unit") return "()";
    const Value value = v.cell.call();
    if (v.type == "float") return fmt::format("{:.3f}", value.as_float());
    return lang::to_string(value);
}

std::string trimmed(const std::string& text) {
    const auto first = text.find_first_not_of(" \t\r\n");
    return first == text.npos ? "" : text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

template <class T> T number_in(const std::string& text) {
    std::size_t used = 0;
    T number{};
    try {
        if constexpr (std::is_same_v<T, double>) number = std::stod(text, &used);
        else number = std::stoll(text, &used);
    } catch (const std::exception&) {
        used = 0;
    }
    if (used == 0 || used != text.size()) raise("string", "\"" + text + "\" is not a number.");
    return number;
}

Value value_from_text(const Variable& v, const std::string& text) {
    if (v.type == "float") return number(number_in<double>(text));
    if (v.type == "int") return integer(number_in<std::int64_t>(text));
    if (v.type == "bool") {
        if (text != "true" && text != "false") raise("string", "\"" + text + "\" is neither true nor false.");
        return boolean(text == "true");
    }
    return builtins::text(text);
}

// --- Files: {"float": [["name", 1.5]], "int": ..., "bool": ..., "string": ...} ------------------------------------------------

json values_as_json() {
    std::map<std::string, Variable> all;
    {
        std::lock_guard lock(variables().variables_mutex);
        all = variables().by_name;
    }
    json file{{"float", json::array()}, {"int", json::array()}, {"bool", json::array()}, {"string", json::array()}};
    for (const auto& [name, v] : all) {
        if (v.type == "unit") continue;
        const Value value = v.cell.call();
        json one;
        if (v.type == "float") one = value.as_float();
        else if (v.type == "int") one = value.as_int();
        else if (v.type == "bool") one = value.as_bool();
        else one = value.as_string();
        file[v.type].push_back({name, std::move(one)});
    }
    return file;
}

// Beside, then in its place: a reader never sees half a file.
void save(const std::string& path) {
    const std::string text = values_as_json().dump(-1, ' ', false, json::error_handler_t::replace);
    std::lock_guard lock(variables().file_mutex);
    const std::string beside = path + ".new";
    {
        std::ofstream out(beside, std::ios::binary | std::ios::trunc);
        out << text;
        if (!out.flush()) raise("file", "Cannot write " + beside + ".");
    }
    if (std::rename(beside.c_str(), path.c_str()) != 0) {
        ::unlink(beside.c_str());
        raise("file", "Cannot write " + path + ".");
    }
}

void save_kept() noexcept {
    try {
        std::string path;
        {
            std::lock_guard lock(variables().variables_mutex);
            path = variables().file;
        }
        if (!path.empty()) save(path);
    } catch (const std::exception& e) {
        logger().severe("Interactive variables cannot be kept: {}", e.what());
    }
}

void assign(const Variable& v, const Value& value) {
    if (v.type == "unit") {
        v.cell.call();
        return;
    }
    v.cell.find_method("set")->call({value});
    save_kept();
}

void load(const std::string& path) {
    constexpr std::size_t most = 16u << 20;
    std::ifstream in(path, std::ios::binary);
    if (!in) raise("file", "Cannot read " + path + ".");
    std::string text(std::istreambuf_iterator<char>(in), {});
    const json file = text.size() > most ? json(json::value_t::discarded) : json::parse(text, nullptr, false);
    if (!file.is_object()) raise("json", path + " does not hold interactive variables.");
    for (const char* type : {"float", "int", "bool", "string"}) {
        const auto list = file.find(type);
        if (list == file.end() || !list->is_array()) continue;
        for (const json& entry : *list) {
            if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string()) continue;
            const std::string name = entry[0].get<std::string>();
            const json& value = entry[1];
            const auto v = find(name);
            const std::string_view kind = type;
            const bool fits = kind == "float" ? value.is_number() : kind == "int" ? value.is_number_integer() : kind == "bool" ? value.is_boolean() : value.is_string();
            if (!v || v->type != type || !fits) {
                logger().important("Variable {} not found.", name);
                continue;
            }
            v->cell.find_method("set")->call({kind == "float"  ? number(value.get<double>())
                                             : kind == "int"  ? integer(value.get<std::int64_t>())
                                             : kind == "bool" ? boolean(value.get<bool>())
                                                              : builtins::text(value.get<std::string>())});
        }
    }
}

// --- Commands --------------------------------------------------------------------------------------------------------------

std::string list_text() {
    std::lock_guard lock(variables().variables_mutex);
    std::string text;
    for (const auto& [name, v] : variables().by_name) text += (text.empty() ? "" : "\n") + name + " : " + v.type;
    return text;
}

std::string get_text(const std::string& name) {
    const auto v = find(trimmed(name));
    return v ? value_text(*v) : "Variable not found.";
}

std::string set_text(const std::string& argument) {
    try {
        const auto equals = argument.find('=');
        if (equals == argument.npos) raise("invalid", "There is no =.");
        const std::string name = trimmed(argument.substr(0, equals));
        const Variable v = variable(name, "");
        assign(v, value_from_text(v, trimmed(argument.substr(equals + 1))));
        return "Variable " + name + " set.";
    } catch (const RuntimeError&) {
        return "Syntax error or variable not found.";
    }
}

const bool commands_added = [] {
    script::add_command("var.list", {"var.list", "List available interactive variables.", [](const std::string&) { return list_text(); }, true});
    script::add_command("var.get", {"var.get <variable>", "Get the value of a variable.", get_text, true});
    script::add_command("var.set", {"var.set <variable> = <value>", "Set the value of a variable.", set_text});
    return true;
}();

// --- Functions -------------------------------------------------------------------------------------------------------------

// Getter with `set` and `remove`.
Value handle(const std::string& name, const Value& cell) {
    return native([cell](std::span<const CallArgument>) { return cell.call(); }, name)
        .with_method("set", native([name](std::span<const CallArgument> a) {
                         const auto v = find(name);
                         if (!v) raise("not_found", "The interactive variable " + name + " was removed.");
                         assign(*v, a[0].value);
                         return Value();
                     }))
        .with_method("remove", native([name](std::span<const CallArgument>) {
                         remove(name);
                         return Value();
                     }));
}

// Messages to the address set the variable.
void listen(const std::string& address, const std::string& type, const std::string& name) {
    if (address.empty() || type == "unit") return;
    const std::string listener = "osc.on_" + type;
    for (const Builtin& builtin : lang::all_builtins()) {
        if (builtin.name != listener) continue;
        const Value arguments[] = {text(address), native([name](std::span<const CallArgument> a) {
                                       if (const auto v = find(name)) assign(*v, a[0].value);
                                       return Value();
                                   })};
        const BuiltinArgs values(arguments, {});
        builtin.call ? builtin.call(values) : builtin.closure(values);
        return;
    }
    logger().severe("{}: this program cannot listen to OSC messages for values of type {}.", name, type);
}

// description, osc, name, value
Value make(const BuiltinArgs& a, const char* type) {
    Variable v{.type = type, .description = a[0].as_string(), .cell = Value::reference(a[3])};
    const Value cell = v.cell;
    add(a[2].as_string(), std::move(v));
    listen(a[1].as_string(), type, a[2].as_string());
    return handle(a[2].as_string(), cell);
}

Value make_float(const BuiltinArgs& a) {
    enum : unsigned { min, max, step, description, unit, osc, name, value };
    Variable v{.type = "float", .description = a[description].as_string(), .cell = Value::reference(a[value]),
               .min = a[min].as_float(), .max = a[max].as_float(), .step = a[step].as_float(), .unit = a[unit].as_string()};
    const Value cell = v.cell;
    add(a[name].as_string(), std::move(v));
    listen(a[osc].as_string(), "float", a[name].as_string());
    return handle(a[name].as_string(), cell);
}

Value make_unit(const BuiltinArgs& a) {
    const std::string name = a[2].as_string();
    add(name, {.type = "unit", .description = a[0].as_string(), .cell = a[3]});
    return Value::record({{"set", a[3]}, {"remove", native([name](std::span<const CallArgument>) {
                               remove(name);
                               return Value(); })}});
}

const BuiltinParam description = opt("description", "string", "\"\"", "What it is, for people.");
const BuiltinParam osc = opt("osc", "string", "\"\"", "OSC address that sets it.");
const BuiltinParam name_param = pos("string", "Name.");

std::string getter_type(const std::string& type) { return "(() -> " + type + ").{set : (" + type + ") -> unit, remove : () -> unit}"; }

const std::string bool_type = getter_type("bool"), float_type = getter_type("float"), int_type = getter_type("int"), string_type = getter_type("string");

template <const char* type> Value make_simple(const BuiltinArgs& a) { return make(a, type); }
template <const char* type> Value cell_of(const BuiltinArgs& a) { return variable(a[0].as_string(), type).cell; }
template <const char* type> Value set_value(const BuiltinArgs& a) {
    assign(variable(a[0].as_string(), type), a[1]);
    return Value();
}
Value remove_named(const BuiltinArgs& a) {
    remove(a[0].as_string());
    return Value();
}

constexpr char bool_name[] = "bool", float_name[] = "float", int_name[] = "int", string_name[] = "string";

const Definitions makers("Interaction", {
    {"interactive.bool", "A boolean that can be changed while the station runs.", {description, osc, name_param, pos("bool", "First value.")}, bool_type.c_str(), make_simple<bool_name>},
    {"interactive.int", "An integer that can be changed while the station runs.", {description, osc, name_param, pos("int", "First value.")}, int_type.c_str(), make_simple<int_name>},
    {"interactive.string", "A string that can be changed while the station runs.", {description, osc, name_param, pos("string", "First value.")}, string_type.c_str(), make_simple<string_name>},
    {"interactive.float", "A number that can be changed while the station runs.",
     {opt("min", "float", "(0. - infinity)", "Smallest value that the page offers."), opt("max", "float", "infinity", "Greatest value that the page offers."),
      opt("step", "float", "0.1", "Usual change."), description, opt("unit", "string", "\"\"", "Unit, for people."), osc, name_param, pos("float", "First value.")}, float_type.c_str(), make_float},
    {"interactive.unit", "A button: a function that can be called while the station runs.", {description, osc, name_param, pos("() -> unit", "The function.")},
     "{set : () -> unit, remove : () -> unit}", make_unit},
    {"interactive.bool.remove", "Remove an interactive variable.", {name_param}, "unit", remove_named},
    {"interactive.float.remove", "Remove an interactive variable.", {name_param}, "unit", remove_named},
    {"interactive.int.remove", "Remove an interactive variable.", {name_param}, "unit", remove_named},
    {"interactive.string.remove", "Remove an interactive variable.", {name_param}, "unit", remove_named},
    {"interactive.unit.remove", "Remove an interactive variable.", {name_param}, "unit", remove_named},
    {"interactive.save", "Write the values of all interactive variables to a file.", {pos("string", "Path.")}, "unit", [](const BuiltinArgs& a) {
        save(a[0].as_string());
        return Value(); }},
    {"interactive.load", "Read the values of interactive variables from a file.", {pos("string", "Path.")}, "unit", [](const BuiltinArgs& a) {
        load(a[0].as_string());
        return Value(); }},
    {"interactive.persistent", "Keep the values of interactive variables in a file: they are read from it now, if it exists, and written at each change. To be called once all are made.",
     {pos("string", "Path.")}, "unit", [](const BuiltinArgs& a) {
        const std::string& path = a[0].as_string();
        if (::access(path.c_str(), F_OK) == 0) load(path);
        else save(path);
        std::lock_guard lock(variables().variables_mutex);
        variables().file = path;
        return Value(); }},
});

const Definitions parts("Uncategorized", {
    {"interactive.bool.ref", "The cell of a variable.", {name_param}, "(() -> bool).{set : (bool) -> unit}", cell_of<bool_name>},
    {"interactive.float.ref", "The cell of a variable.", {name_param}, "(() -> float).{set : (float) -> unit}", cell_of<float_name>},
    {"interactive.int.ref", "The cell of a variable.", {name_param}, "(() -> int).{set : (int) -> unit}", cell_of<int_name>},
    {"interactive.string.ref", "The cell of a variable.", {name_param}, "(() -> string).{set : (string) -> unit}", cell_of<string_name>},
    {"interactive.unit.handler", "The function of a button.", {name_param}, "() -> unit", [](const BuiltinArgs& a) { return variable(a[0].as_string(), "unit").cell; }},
    {"interactive.bool.set", "Change a variable.", {name_param, pos("bool")}, "unit", set_value<bool_name>},
    {"interactive.float.set", "Change a variable.", {name_param, pos("float")}, "unit", set_value<float_name>},
    {"interactive.int.set", "Change a variable.", {name_param, pos("int")}, "unit", set_value<int_name>},
    {"interactive.string.set", "Change a variable.", {name_param, pos("string")}, "unit", set_value<string_name>},
    {"interactive.unit.set", "Press a button.", {name_param}, "unit", [](const BuiltinArgs& a) { return variable(a[0].as_string(), "unit").cell.call(); }},
    {"interactive.create", "Make a variable of a type named by a string, with an empty value.",
     {arg("name", "string"), description, osc, arg("type", "string", "\"bool\", \"float\", \"int\", \"string\" or \"unit\".")}, "unit", [](const BuiltinArgs& a) {
        enum : unsigned { name, description, osc, type };
        const std::string& wanted = a[type].as_string();
        const Value first = wanted == "bool" ? boolean(false) : wanted == "float" ? number(0) : wanted == "int" ? integer(0) : wanted == "string" ? text("") : Value::null();
        if (first.is_null() && wanted != "unit") raise("not_found", "There is no type " + wanted + " of interactive variables.");
        const Value nothing = native([](std::span<const CallArgument>) { return Value(); });
        add(a[name].as_string(), {.type = wanted, .description = a[description].as_string(), .cell = first.is_null() ? nothing : Value::reference(first)});
        listen(a[osc].as_string(), wanted, a[name].as_string());
        return Value(); }},
    {"interactive.description", "What a variable is, for people.", {name_param}, "string", [](const BuiltinArgs& a) { return text(variable(a[0].as_string(), "").description); }},
    {"interactive.type", "The type of a variable.", {name_param}, "string", [](const BuiltinArgs& a) { return text(variable(a[0].as_string(), "").type); }},
    {"interactive.get", "The value of a variable as text.", {name_param}, "string", [](const BuiltinArgs& a) { return text(get_text(a[0].as_string())); }},
    {"interactive.set", "Change a variable by `name = value`.", {pos("string")}, "string", [](const BuiltinArgs& a) { return text(set_text(a[0].as_string())); }},
    {"interactive.list", "The variables and their types, as text.", {pos("'a")}, "string", [](const BuiltinArgs&) { return text(list_text()); }},
    {"interactive.remove", "Remove a variable.", {name_param}, "unit", remove_named},
    {"interactive.persistency", "A function that writes the values to the file given to `interactive.persistent`.", {}, "() -> unit", [](const BuiltinArgs&) {
        return native([](std::span<const CallArgument>) {
            save_kept();
            return Value(); }); }},
});

const lang::RegisterBuiltin page{Builtin{
    .name = "interactive.page",
    .category = "Interaction",
    .doc = "The page of `interactive.harbor`.",
    .result = "string",
    .hidden = true,
    .call = [](const BuiltinArgs&) {
        std::vector<PageVariable> list;
        std::map<std::string, Variable> all;
        {
            std::lock_guard lock(variables().variables_mutex);
            all = variables().by_name;
        }
        for (const auto& [name, v] : all)
            list.push_back({name, v.type, v.description, v.unit, v.type == "unit" ? "" : lang::to_string(v.cell.call()), v.min, v.max, v.step});
        return text(interactive_page(list));
    },
}};

}  // namespace

}  // namespace castile::builtins
