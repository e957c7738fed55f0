#pragma once
// Text to terms: preprocessor (%include, %ifdef), lexer, parser, desugaring.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lang/arena.h"
#include "lang/diag.h"
#include "lang/term.h"

namespace castile::lang {

namespace ast { struct Program; }

/// What the preprocessor asks: is a variable defined (%ifdef), which version are we (%ifversion), an encoder known (%ifencoder).
struct ParseContext {
    std::function<bool(std::string_view)> defined;
    std::function<bool(std::string_view)> encoder_available;
    std::string version = "2.5.0";
    std::string include_directory;     ///< for <lib.liq> includes
};

/// Parses a whole script (already in source_map() as `file`). Throws ScriptError (1, 2, 3). Warnings are appended.
Term* parse_script(Arena& arena, std::uint32_t file, const ParseContext& context, std::vector<Diagnostic>& warnings);

/// The surface tree of a script as JSON, one line a statement; stable, for tools and tests. `spans`: with the byte offsets of
/// each node. Included files are not read. Throws ScriptError.
std::string ast_json(std::uint32_t file, bool spans = true);
std::string ast_json(const ast::Program& program, bool spans = true);

/// Parses a type as written in a builtin's declaration ("(?id : string?, {float}) -> unit", "'a where 'a is a number type").
TypeExpr* parse_type(Arena& arena, std::string_view text);

}  // namespace castile::lang
