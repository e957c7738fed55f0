#pragma once
// %ifdef and friends, %include: which branch is taken, which file is meant.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "lang/ast.h"
#include "lang/parse.h"

namespace castile::lang {

/// `defined_here`: names bound earlier in the script, which the context does not know.
bool holds(const ast::Condition& condition, const ParseContext& context, const std::function<bool(std::string_view)>& defined_here);

/// Numbers compared one by one; missing ones are 0; 2.4.0-rc1 comes before 2.4.0. -1, 0, 1.
int compare_versions(std::string_view a, std::string_view b);

/// The path of an included file, relative to the file that includes it; nothing when there is no such file.
std::optional<std::string> find_included(const ast::Include& include, const std::string& includer, const ParseContext& context);

/// The same file has the same text whatever path led to it.
std::string canonical_path(const std::string& path);

/// Nothing when it cannot be read or is larger than 64 MiB.
std::optional<std::string> read_script(const std::string& path);

}  // namespace castile::lang
