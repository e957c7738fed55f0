#pragma once
// `let json.parse (x : t) = s` and the like: data decoded as the type asks. Decoders are registered by name.

#include <span>
#include <string>
#include <vector>

#include "lang/value.h"

namespace castile::lang {

struct Type;

/// What a type asks of data: the part of types that decoders need.
struct Shape {
    enum class Kind : std::uint8_t {
        any, unit, integer, floating, string, boolean, list, tuple, record,
        object,   // [(string * t)] read from an object
        other,    // a function, a source: nothing to decode
    };
    struct Field;
    Kind kind = Kind::any;
    bool nullable = false;
    std::vector<Shape> elements;   ///< of a list or object (one), a tuple
    std::vector<Field> fields;     ///< methods; for a record all there is, for others beside the value
    std::string describe() const;  ///< "{a : int, b : string?}", for messages
};
struct Shape::Field {
    Name name, key;                ///< key: what it is called in the data
    Shape shape;
    bool optional = false;
};

Shape shape_of(const Type* type);

/// Throws RuntimeError when the data does not fit.
using DecodeFunction = Value (*)(const Shape& shape, std::span<const CallArgument> options, const Value& input);
class RegisterDecoder {
public:
    RegisterDecoder(const char* name, DecodeFunction function);   ///< "json.parse"
};
DecodeFunction find_decoder(Name name);

}  // namespace castile::lang
