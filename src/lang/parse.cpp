#include "lang/parse.h"

#include "lang/desugar.h"
#include "lang/parser.h"

namespace castile::lang {

Term* parse_script(Arena& arena, std::uint32_t file, const ParseContext& context, std::vector<Diagnostic>& warnings) {
    Arena tree;
    const ast::Program program = Parser(tree, arena, file, warnings).program();
    return Desugar(arena, context, warnings).program(program);
}

TypeExpr* parse_type(Arena& arena, std::string_view text) {
    const std::uint32_t file = source_map().add("<type>", std::string(text));
    std::vector<Diagnostic> warnings;
    Arena tree;
    return Parser(tree, arena, file, warnings).only_type();
}

}  // namespace castile::lang
