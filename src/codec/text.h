#pragma once
// Text from tags: whatever bytes they hold, out comes UTF-8.

#include <string>
#include <string_view>

namespace castile {

bool valid_utf8(std::string_view text) noexcept;

/// Valid UTF-8 as it is; anything else is read as Latin-1. Cut to `limit` bytes between characters; NULs end the text.
std::string to_utf8(std::string_view text, std::size_t limit);

}  // namespace castile
