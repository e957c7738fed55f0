// layers: builtins
// YAML from strangers: into trees and back to text.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "builtins/data.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace castile::builtins;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    Data tree;
    try {
        tree = read_yaml(text);
    } catch (const castile::Error&) {
        return 0;
    }
    (void)write_yaml(tree, ScalarStyle::any, false);
    // What was understood survives being written and read again.
    const std::string written = write_yaml(tree, ScalarStyle::double_quoted, true);
    if (write_yaml(read_yaml(written), ScalarStyle::double_quoted, true) != written) __builtin_trap();
    return 0;
}
