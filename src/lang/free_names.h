#pragma once
// The names a term may take from outside: variables with the methods asked of them, as dotted paths.

#include <set>
#include <string>

#include "lang/term.h"

namespace castile::lang {

/// Adds "a" or "a.b.c" for each variable of the term, "a()" when it is only called (what is below it, as in a.b, is then not
/// needed); names bound inside the term are not left out.
void collect_names(const Term* term, std::set<std::string>& names);

}  // namespace castile::lang
