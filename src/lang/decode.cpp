// Decoders by name, and shapes as text.

#include "lang/decode.h"

#include <unordered_map>

namespace castile::lang {

namespace {

std::unordered_map<Name, DecodeFunction>& decoders() {
    static auto* table = new std::unordered_map<Name, DecodeFunction>;
    return *table;
}

std::string join(const std::vector<Shape>& shapes, const char* separator) {
    std::string out;
    for (const Shape& s : shapes) out += (out.empty() ? "" : separator) + s.describe();
    return out;
}

}  // namespace

RegisterDecoder::RegisterDecoder(const char* name, DecodeFunction function) { decoders().emplace(name, function); }

DecodeFunction find_decoder(Name name) {
    auto it = decoders().find(name);
    return it == decoders().end() ? nullptr : it->second;
}

std::string Shape::describe() const {
    std::string out;
    switch (kind) {
    case Kind::any: out = "_"; break;
    case Kind::unit: out = "unit"; break;
    case Kind::integer: out = "int"; break;
    case Kind::floating: out = "float"; break;
    case Kind::string: out = "string"; break;
    case Kind::boolean: out = "bool"; break;
    case Kind::other: out = "value"; break;
    case Kind::object: out = "[(string * " + join(elements, ", ") + ")] as json.object"; break;
    case Kind::list: out = "[" + join(elements, ", ") + "]"; break;
    case Kind::tuple: out = "(" + join(elements, " * ") + ")"; break;
    case Kind::record: break;
    }
    if (!fields.empty() || kind == Kind::record) {
        std::string inner;
        for (const Field& f : fields)
            inner += (inner.empty() ? "" : ", ") + f.name.str() + (f.optional ? "?" : "") + " : " + f.shape.describe();
        out += (out.empty() ? "{" : ".{") + inner + "}";
    }
    return nullable ? out + "?" : out;
}

}  // namespace castile::lang
