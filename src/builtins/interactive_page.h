#pragma once
// The page of interactive.harbor: a form, a line a variable.

#include <string>
#include <vector>

namespace castile::builtins {

struct PageVariable {
    std::string name, type, description, unit, value;   ///< type: "bool", "float", "int", "string", "unit"
    double min, max, step;                              ///< of a float
};

/// HTML; each change is posted to the page's own path as a form of one field.
std::string interactive_page(const std::vector<PageVariable>& variables);

}  // namespace castile::builtins
