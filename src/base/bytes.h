#pragma once
// Shared immutable bytes: what an encoder makes once and every listener, file and socket reads.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace castile {

using ByteSpan = std::span<const std::uint8_t>;
using Bytes = std::shared_ptr<const std::vector<std::uint8_t>>;

inline Bytes make_bytes(ByteSpan data) { return std::make_shared<const std::vector<std::uint8_t>>(data.begin(), data.end()); }

}  // namespace castile
