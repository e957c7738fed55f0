// Settings as values.

#include "lang/settings_globals.h"

#include "base/error.h"

namespace castile::lang {

namespace {

Value to_value(const SettingValue& value) {
    struct Visitor {
        Value operator()(bool b) const { return Value::boolean(b); }
        Value operator()(int i) const { return Value::integer(i); }
        Value operator()(double d) const { return Value::floating(d); }
        Value operator()(const std::string& s) const { return Value::string(s); }
        Value operator()(const std::vector<std::string>& list) const {
            std::vector<Value> elements;
            for (const std::string& s : list) elements.push_back(Value::string(s));
            return Value::list(std::move(elements));
        }
    };
    return std::visit(Visitor{}, value);
}

Value as_global(SettingBase* setting) {
    Value get = Value::function([setting](std::span<const CallArgument>) { return setting_value(*setting); }, setting->name());
    Value set = Value::function([setting](std::span<const CallArgument> a) {
        set_setting(*setting, a[0].value);
        return Value::unit();
    }, "set");
    return get.with_method("set", set).with_method("description", Value::string(setting->doc())).with_method("comments", Value::string(""));
}

constexpr std::string_view root = "settings";

void declare_text(TypeEnvironment& types, GlobalScope& scope, const std::string& name, std::string text) {
    if (types.defined(name)) return;
    types.declare(name, "string");
    scope.declare(name).make = [text = std::move(text)] { return Value::string(text); };
}

bool covers(std::string_view group, std::string_view name) {
    return group.empty() || name == group || (name.starts_with(group) && name[group.size()] == '.');
}

}  // namespace

SettingGlobals::SettingGlobals(TypeEnvironment& types, GlobalScope& scope) : types_(types), scope_(scope) {
    declare_text(types_, scope_, "settings.description", "All settings.");
    declare_text(types_, scope_, "settings.comments", "");
}

void SettingGlobals::declare_for(const std::set<std::string>& names) {
    for (auto it = names.lower_bound(std::string(root)); it != names.end() && it->starts_with(root); ++it) {
        std::string_view name = *it;
        if (name.ends_with("()")) name.remove_suffix(2);
        name.remove_prefix(root.size());
        if (!name.empty() && name[0] != '.') continue;   // settings_of_mine
        if (!name.empty()) name.remove_prefix(1);
        // The whole group, so that a name misspelt within it is answered with the right one; all groups when the first is.
        std::string_view group = name.substr(0, name.find('.'));
        declare_group(settings_in(group).empty() ? std::string_view() : group);
        for (std::string_view late : late_setting_groups())
            if (covers(name, late) || covers(late, name)) declare_group(late);
    }
}

bool SettingGlobals::defines(std::string_view dotted) {
    if (dotted == root) return true;
    if (!dotted.starts_with(root) || dotted[root.size()] != '.') return false;
    return !settings_in(dotted.substr(root.size() + 1)).empty();
}

void SettingGlobals::declare_group(std::string_view group) {
    if (declared_.contains(group)) return;
    declared_.emplace(group);
    std::set<std::string, std::less<>> groups, settings;
    for (SettingBase* setting : settings_in(group)) {
        const std::string& name = setting->name();
        settings.insert(name);
        for (std::size_t dot = name.find('.'); dot != name.npos; dot = name.find('.', dot + 1)) groups.insert(name.substr(0, dot));
        std::string global = "settings." + name;
        if (types_.defined(global)) continue;
        scope_.declare(global).make = [setting] { return as_global(setting); };
        std::string type = setting_type(*setting);
        types_.declare(global, "(() -> " + type + ").{set : (" + type + ") -> unit, description : string, comments : string}");
    }
    for (const std::string& name : groups) {
        if (settings.contains(name)) continue;
        std::string doc = setting_group_doc(name);
        declare_text(types_, scope_, "settings." + name + ".description", doc.empty() ? "Settings of " + name + "." : doc);
        declare_text(types_, scope_, "settings." + name + ".comments", "");
    }
}

Value setting_value(const SettingBase& setting) {
    return setting.nullable() && !setting.is_set() ? Value::null() : to_value(setting.value());
}

void set_setting(SettingBase& setting, const Value& value) {
    using enum Value::Kind;
    SettingValue wanted = setting.default_value();
    bool fits = true;
    switch (value.kind()) {
    case null: return setting.reset();
    case boolean: wanted = value.as_bool(); break;
    case integer:
        if (std::holds_alternative<double>(wanted)) wanted = value.as_float();
        else wanted = static_cast<int>(value.as_int());
        break;
    case floating: wanted = value.as_float(); break;
    case string: wanted = value.as_string(); break;
    case list: {
        std::vector<std::string> strings;
        for (const Value& e : value.elements()) {
            fits = fits && e.kind() == string;
            if (fits) strings.push_back(e.as_string());
        }
        wanted = std::move(strings);
        break;
    }
    default: fits = false;
    }
    if (!fits || wanted.index() != setting.default_value().index())
        throw RuntimeError("invalid", "The setting " + setting.name() + " is of type " + setting_type(setting) + ".");
    try {
        setting.set(std::move(wanted));
    } catch (const Error& e) {
        throw RuntimeError("invalid", e.what());
    }
}

std::string setting_type(const SettingBase& setting) {
    static const char* const names[] = {"bool", "int", "float", "string", "[string]"};
    return names[setting.default_value().index()] + std::string(setting.nullable() ? "?" : "");
}

}  // namespace castile::lang
