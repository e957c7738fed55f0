#pragma once
// Documentation from the comments above a definition.

#include <span>
#include <string_view>

#include "lang/term.h"
#include "lang/token.h"

namespace castile::lang {

/// The last group of comment lines (no empty line within) of `comments`, which precede a definition in `text`. Empty when there is none.
term::Doc doc_of(std::string_view text, std::span<const Comment> comments);

}  // namespace castile::lang
