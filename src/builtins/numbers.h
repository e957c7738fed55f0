#pragma once
// Numbers as scripts write them.

#include <cstdint>
#include <optional>
#include <string_view>

namespace castile::builtins {

std::optional<std::int64_t> parse_int(std::string_view text);    ///< -12, 0x1F, 0o17, 0b101, 1_000
std::optional<double> parse_float(std::string_view text);        ///< 1.5, 1e3, 0x1p3, inf, nan

}  // namespace castile::builtins
