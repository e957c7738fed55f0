// layers: lang base
// Any text: a term or an error with a position, and the tree as JSON.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "lang/parse.h"

using namespace castile::lang;

namespace {

/// An error stands in the script, or in a file that it includes.
void check_error(const ScriptError& e, std::uint32_t file) {
    const Span span = e.diagnostic().span;
    if (span.file < file || !source_map().known(span) || span.begin > span.end || span.end > source_map().text(span.file).size()) std::abort();
    if (e.diagnostic().code < 1 || e.diagnostic().code > 3) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    source_map() = SourceMap();  // or the texts of all runs pile up
    source_map().add("", "");
    if (size > 0 && data[0] == 'T') {
        Arena arena;
        try {
            parse_type(arena, {reinterpret_cast<const char*>(data) + 1, size - 1});
        } catch (const ScriptError&) {
        }
        return 0;
    }
    const std::uint32_t file = source_map().add("<fuzz>", std::string(reinterpret_cast<const char*>(data), size));
    ParseContext context;
    context.defined = [](std::string_view name) { return name.size() % 2 == 0; };
    context.encoder_available = context.defined;
    context.include_directory = "/nonexistent";
    try {
        Arena arena;
        std::vector<Diagnostic> warnings;
        parse_script(arena, file, context, warnings);
        for (const Diagnostic& w : warnings) render(w);
    } catch (const ScriptError& e) {
        check_error(e, file);
    }
    try {
        ast_json(file);
    } catch (const ScriptError& e) {
        check_error(e, file);
    }
    return 0;
}
