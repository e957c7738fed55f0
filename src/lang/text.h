#pragma once
// How the language writes strings and numbers.

#include <string>
#include <string_view>

namespace castile::lang {

bool valid_utf8(std::string_view text) noexcept;
std::string quote_text(std::string_view text);   ///< "…" with escapes; bytes that are no UTF-8 as \xHH
std::string float_text(double value);            ///< 1.0, 1.5, 1e+20, nan, inf

}  // namespace castile::lang
