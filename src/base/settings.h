#pragma once
// The process's settings (`settings.*` of a script): a tree of typed values with a default and a description, declared
// beside the code that reads them.

#include <functional>
#include <map>
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

/// All declared settings by name, in alphabetical order.
const std::map<std::string, SettingBase*, std::less<>>& all_settings();

}  // namespace castile
