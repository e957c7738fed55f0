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

}  // namespace

void declare_settings(TypeEnvironment& types, GlobalScope& scope) {
    for (const auto& [name, setting] : all_settings()) {
        std::string global = "settings." + name;
        scope.declare(global).make = [setting = setting] { return as_global(setting); };
        std::string type = setting_type(*setting);
        types.declare(global, "(() -> " + type + ").{set : (" + type + ") -> unit, description : string, comments : string}");
    }
}

SettingBase* find_setting(std::string_view name) {
    auto it = all_settings().find(name);
    return it == all_settings().end() ? nullptr : it->second;
}

Value setting_value(const SettingBase& setting) {
    return setting.nullable() && !setting.is_set() ? Value::null() : to_value(setting.value());
}

void set_setting(SettingBase& setting, const Value& value) {
    using enum Value::Kind;
    SettingValue wanted = setting.default_value();
    bool fits = true;
    switch (value.kind()) {
    case null: break;   // back to the default
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
