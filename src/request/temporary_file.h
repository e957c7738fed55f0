#pragma once
// Files that requests are given to keep.

#include <expected>
#include <string>
#include <string_view>

#include "base/error.h"

namespace castile {

/// Makes an empty file in $TMPDIR (else /tmp) that nobody else has; gives its path, which ends in `suffix`.
std::expected<std::string, Failure> make_temporary_file(std::string_view suffix);

}  // namespace castile
