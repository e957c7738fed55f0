// layers: builtins
// JSON and JSON5 from strangers: into trees, into values of a type, back to text.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "builtins/data_values.h"

namespace {

using castile::lang::Shape;

/// {a : int, b : [float?], c? : (string * bool), d : [(string * _)] as json.object}
Shape wanted() {
    using enum Shape::Kind;
    Shape number{floating, true, {}, {}}, pair{tuple, false, {Shape{string, false, {}, {}}, Shape{boolean, false, {}, {}}}, {}};
    Shape whole{Shape::Kind::record, false, {}, {}};
    whole.fields.push_back({"a", "a", Shape{integer, false, {}, {}}, false});
    whole.fields.push_back({"b", "b", Shape{list, false, {number}, {}}, false});
    whole.fields.push_back({"c", "c", pair, true});
    whole.fields.push_back({"d", "d", Shape{object, true, {Shape{}}, {}}, false});
    return whole;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const Shape shape = wanted();
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    for (auto* read : {castile::builtins::read_json, castile::builtins::read_json5}) {
        try {
            const castile::builtins::Data tree = read(text);
            (void)castile::builtins::from_data(tree, shape);
            (void)castile::builtins::json_text(tree, false, true);
            // What was understood survives being written and read again.
            const std::string written = castile::builtins::json_text(tree, true, true);
            if (castile::builtins::json_text(castile::builtins::read_json5(written), true, true) != written) __builtin_trap();
        } catch (const castile::Error&) {
        }
    }
    return 0;
}
