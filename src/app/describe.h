#pragma once
// What the program says about itself: functions, settings, version, build.

#include <string>

#include "app/options.h"

namespace castile::app {

std::string version_text();
std::string build_text();
std::string functions_text(const Options& options, bool by_category);
std::string functions_json(const Options& options);
std::string settings_text();
/// Of one function; empty when there is none of that name.
std::string describe_function(const Options& options, const std::string& name);

}  // namespace castile::app
