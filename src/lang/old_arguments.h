#pragma once
// Arguments of builtins that are old spellings: giving one is warned of once, with what to write instead.

#include <string>
#include <string_view>

namespace castile::lang {

class RegisterOldArgument {
public:
    /// An empty label: the function among the two unlabeled arguments came first once; it may still.
    RegisterOldArgument(std::string function, std::string label, std::string advice);
};
/// nullptr: it is no old spelling.
const std::string* old_argument(std::string_view function, std::string_view label);

}  // namespace castile::lang
