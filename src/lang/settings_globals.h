#pragma once
// Declared settings as globals of the script: settings.log.level().

#include "base/settings.h"
#include "lang/check.h"
#include "lang/globals.h"

namespace castile::lang {

/// `settings.NAME` for every declared setting: a getter with `set`, `description` and `comments`.
void declare_settings(TypeEnvironment& types, GlobalScope& scope);

/// A setting by its dotted name; null when there is none.
SettingBase* find_setting(std::string_view name);
Value setting_value(const SettingBase& setting);
void set_setting(SettingBase& setting, const Value& value);   ///< Throws RuntimeError.
std::string setting_type(const SettingBase& setting);         ///< "int", "[string]", "string?"

}  // namespace castile::lang
