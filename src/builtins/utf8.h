#pragma once
// Characters of UTF-8 text.

#include <string>
#include <string_view>
#include <vector>

namespace castile::builtins {

/// The characters of a text; bytes when it is no UTF-8 and `strict` is false. Throws RuntimeError when strict.
std::vector<std::string_view> characters(std::string_view text, bool utf8, bool strict);
char32_t code_point(std::string_view character);
std::string encode_utf8(char32_t code);

}  // namespace castile::builtins
