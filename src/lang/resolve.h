#pragma once
// The resolver: gives every variable a slot (local, captured, global) before evaluation, and takes a.b.c of a module
// straight to its value.

#include "lang/arena.h"
#include "lang/globals.h"
#include "lang/term.h"

namespace castile::lang {

struct Program {
    Term* term = nullptr;
    int locals = 0;           ///< slots of the top level's blocks
    Arena* arena = nullptr;   ///< its nodes'; its code goes there too
};

/// Resolves a typed term; its top-level definitions are added to `scope`.
/// Throws ScriptError (4 for a variable that nothing binds).
Program resolve(Arena& arena, GlobalScope& scope, Term* term);

}  // namespace castile::lang
