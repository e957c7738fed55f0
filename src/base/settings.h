#pragma once
// The process's settings (`settings.*` of a script): a tree of typed values with a default and a description, declared
// beside the code that reads them.

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace castile {

using SettingValue = std::variant<bool, int, double, std::string, std::vector<std::string>>;

/// One declared setting. Static objects; reading and writing are safe from any thread.
/// `Setting<double> latency{"clock.latency", 0.1, "How far a clock may run ahead, in seconds."};`
class SettingBase {
public:
    SettingBase(std::string name, SettingValue default_value, std::string doc, bool nullable = false);
    ~SettingBase();
    SettingBase(const SettingBase&) = delete;
    const std::string& name() const noexcept { return name_; }
    const std::string& doc() const noexcept { return doc_; }
    const SettingValue& default_value() const noexcept { return default_; }
    SettingValue value() const;
    void set(SettingValue value);  ///< Throws Error when the type differs from the default's.
    void reset();                  ///< Back to the default, as if never set.
    bool is_set() const;           ///< Set by the script, or still the default?
    bool nullable() const noexcept { return nullable_; }  ///< Its default in a script is null, until set.

private:
    std::string name_, doc_;
    SettingValue default_, value_;
    bool set_ = false, nullable_ = false;
};

template <class T>
class Setting : public SettingBase {
public:
    Setting(std::string name, T default_value, std::string doc)
        : SettingBase(std::move(name), SettingValue(std::move(default_value)), std::move(doc)) {}
    T get() const { return std::get<T>(value()); }
};

/// Settings that few scripts name, made when one of them is first asked for, so that a start does not pay for them. Static
/// objects. `make` runs once; what it makes stays.
class LateSettings {
public:
    /// `group`: what the names of these settings begin with; "" for settings all over the tree.
    LateSettings(std::string_view group, void (*make)());
};

/// A setting by its dotted name, null when there is none. Any thread.
SettingBase* find_setting(std::string_view name);
/// Makes a setting that stays, unless one of that name is there: for LateSettings.
void keep_setting(std::string name, SettingValue default_value, std::string doc, bool nullable = false);
/// The settings below `group`, and the one of that very name, in alphabetical order; "" gives all. Those of a late group
/// that lies below `group` only when they were made. Any thread.
std::vector<SettingBase*> settings_in(std::string_view group);
/// The groups of LateSettings but "".
std::vector<std::string_view> late_setting_groups();

/// A line about a group of settings, such as "log"; empty when there is none.
void describe_setting_group(std::string_view name, std::string_view doc);
std::string setting_group_doc(std::string_view name);

}  // namespace castile
