#pragma once
// How large one value may become. A script that wants more most likely never ends wanting.

#include <cstddef>
#include <cstdint>

namespace castile::lang {

inline constexpr std::size_t longest_string = 128u << 20;   ///< bytes
inline constexpr std::size_t longest_list = 5'000'000;      ///< elements

/// The length as a size; 0 for negative ones. Throw RuntimeError for one above the limit.
std::size_t string_length(std::int64_t length);
std::size_t list_length(std::int64_t length);

}  // namespace castile::lang
