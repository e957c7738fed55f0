// layers: builtins
// XML from strangers: into values, without a type and of several.

#include <cstdint>
#include <string>

#include "lang/decode.h"

namespace {

using castile::lang::Shape;
using enum Shape::Kind;

/// {a : {b : string.{xml_params : {c? : int}}, d : (int? * float?), e? : [{f : bool}]}}
Shape by_name() {
    Shape attributes{record, false, {}, {}}, text{string, false, {}, {}}, flag{record, false, {}, {}}, inner{record, false, {}, {}}, outer{record, false, {}, {}};
    attributes.fields.push_back({"c", "c", Shape{integer, false, {}, {}}, true});
    text.fields.push_back({"xml_params", "xml_params", attributes, false});
    flag.fields.push_back({"f", "f", Shape{boolean, false, {}, {}}, false});
    inner.fields.push_back({"b", "b", text, false});
    inner.fields.push_back({"d", "d", Shape{tuple, false, {Shape{integer, true, {}, {}}, Shape{floating, true, {}, {}}}, {}}, false});
    inner.fields.push_back({"e", "e", Shape{list, false, {flag}, {}}, true});
    outer.fields.push_back({"a", "a", inner, false});
    return outer;
}

/// (string * {xml_params : [(string * string)], xml_children : [(string * {xml_text : string})]})
Shape formal() {
    Shape leaf{record, false, {}, {}}, node{record, false, {}, {}};
    leaf.fields.push_back({"xml_text", "xml_text", Shape{string, false, {}, {}}, false});
    const Shape pair{tuple, false, {Shape{string, false, {}, {}}, leaf}, {}};
    node.fields.push_back({"xml_params", "xml_params", Shape{list, false, {Shape{}}, {}}, false});
    node.fields.push_back({"xml_children", "xml_children", Shape{list, false, {pair}, {}}, false});
    return Shape{tuple, false, {Shape{string, false, {}, {}}, node}, {}};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const Shape shapes[] = {Shape{}, by_name(), formal()};
    static const auto parse = castile::lang::find_decoder("xml.parse");
    const auto text = castile::lang::Value::string(std::string(reinterpret_cast<const char*>(data), size));
    for (const Shape& shape : shapes) {
        try {
            (void)castile::lang::to_string(parse(shape, {}, text), true);
        } catch (const castile::lang::RuntimeError&) {
        }
    }
    return 0;
}
