#pragma once
// What the program says about itself: functions, settings, version, build.

#include <expected>
#include <string>

#include "app/options.h"

namespace castile::app {

std::string version_text();
std::string build_text();
std::string functions_text(const Options& options, bool by_category);
std::string functions_json(const Options& options);
std::string settings_text();
/// Extra: for a service or a device that few use (`@flag extra`); with the usual ones too.
enum class FunctionsShown { usual, extra, deprecated };
std::string functions_markdown(const Options& options, FunctionsShown shown);
std::string plugins_text(const Options& options);
std::string protocols_markdown();
/// Of a function, a module or a setting; else a sentence with the names near to it.
std::expected<std::string, std::string> describe_name(const Options& options, const std::string& name);

}  // namespace castile::app
