#pragma once
// All that a script can name, described: what --list-functions, -h, the prompt and the language server say.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lang/engine.h"

namespace castile::tools {

struct Described {
    struct Argument { std::string label, type, default_value, doc; };
    struct Method { std::string name, type, doc; };
    std::string name, type, category, doc, deprecated;
    std::vector<Argument> arguments;
    std::vector<Method> methods;
    bool extra = false;   ///< for a particular service or device (`@flag extra`)
};

/// By name, dots included.
using Catalogue = std::map<std::string, Described, std::less<>>;

/// Builtins, constants and the documented part of the standard library, which is loaded for it.
Catalogue make_catalogue(lang::Engine& engine);

/// The names one level below a prefix such as "list." ("" for the first level), sorted; a module's without a trailing dot.
/// `names` are dotted and sorted.
std::vector<std::string> members(const std::vector<std::string>& names, std::string_view prefix);

/// Text of -h.
std::string manual(const Described& function);
/// The same as Markdown.
std::string markdown(const Described& function, unsigned heading);

/// Names near a misspelt one, nearest first, at most `count`.
std::vector<std::string> near_names(std::string_view name, const std::vector<std::string>& names, std::size_t count);

}  // namespace castile::tools
