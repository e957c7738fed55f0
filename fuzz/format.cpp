// layers: tools lang base
// Any text that parses can be formatted: the same tree, the same comments, and it is its own format; or it is refused for its depth.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "lang/diag.h"
#include "tools/format.h"

using namespace castile;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    lang::source_map() = lang::SourceMap();
    lang::source_map().add("", "");
    const std::string text(reinterpret_cast<const char*>(data), size);
    std::string once;
    try {
        once = tools::format_script("<fuzz>", text);
    } catch (const lang::ScriptError&) {
        return 0;
    } catch (const tools::FormatError& e) {
        if (std::string_view(e.what()).find("too deeply") != std::string_view::npos) return 0;
        std::fprintf(stderr, "%s\n", e.what());
        std::abort();
    }
    if (tools::format_script("<fuzz>", once) != once) std::abort();
    return 0;
}
