#pragma once
// Settings as globals of the script: settings.log.level().

#include <set>
#include <string>
#include <string_view>

#include "base/settings.h"
#include "lang/check.h"
#include "lang/globals.h"

namespace castile::lang {

/// Declares `settings.*` as scripts come to name it: one that names none pays for none.
class SettingGlobals {
public:
    SettingGlobals(TypeEnvironment& types, GlobalScope& scope);
    /// Every group of settings that these names (as collect_names gives them) begin with: for each setting a getter with
    /// `set`, `description` and `comments`, for each group within it `description` and `comments`.
    void declare_for(const std::set<std::string>& names);
    /// Is `settings.x.y` a setting or a group of them?
    static bool defines(std::string_view dotted);

private:
    void declare_group(std::string_view group);

    TypeEnvironment& types_;
    GlobalScope& scope_;
    std::set<std::string, std::less<>> declared_;
};

Value setting_value(const SettingBase& setting);
void set_setting(SettingBase& setting, const Value& value);   ///< Throws RuntimeError.
std::string setting_type(const SettingBase& setting);         ///< "int", "[string]", "string?"

}  // namespace castile::lang
