#pragma once
// The words of constraints: "a number type", "a set of internal tracks and an orderable type".

#include <cstdint>
#include <string>
#include <string_view>

namespace castile::lang {

/// The bits that a text means; 0 for words nobody knows.
std::uint16_t parse_constraints(std::string_view text);
std::string describe_constraints(std::uint16_t bits);

}  // namespace castile::lang
