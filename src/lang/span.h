#pragma once
// Where something stands in a script: a file and a byte range.

#include <cstdint>

namespace castile::lang {

/// Files are numbered by lang/diag.h's SourceMap.
struct Span {
    std::uint32_t file = 0, begin = 0, end = 0;
};

}  // namespace castile::lang
