#pragma once
// Types: what the checker infers. Nodes live in a TypePool; inference binds variables in place.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/name.h"

namespace castile::lang {

struct Type;

enum class TypeKind : std::uint8_t {
    variable, integer, floating, string, boolean, never,
    literal,      ///< a parameter of a content type: stereo, channels=2
    getter, nullable, list, tuple, record, arrow, constructor,
    ellipsis,     ///< only in printed mismatches: `_` and `...`
};

/// What a variable must be once it is known; bits of Type::constraints.
enum TypeConstraintBit : std::uint16_t {
    constraint_number = 1, constraint_orderable = 2, constraint_record = 4, constraint_track = 8, constraint_internal_track = 16,
    constraint_pcm_track = 32, constraint_internal_tracks = 64, constraint_muxed_tracks = 128, constraint_setting = 256,
    constraint_row = 512, constraint_cell = 1024,
};

/// A method. It may be polymorphic on its own: `quantified` are the variables bound by this very field.
struct TypeField {
    Name name;
    Type* type = nullptr;
    bool optional = false;
    std::uint16_t quantified_count = 0;
    Type** quantified = nullptr;
    Name json_name;
};

struct TypeParam {
    Name label;      ///< empty: positional
    Type* type = nullptr;
    bool optional = false;
};

struct Type {
    TypeKind kind = TypeKind::variable;
    bool ground = false;          ///< no variable below, ever
    bool covariant = false;       ///< bound variable: bound by a value seen; may still grow until it is used
    bool quantified = false;      ///< variable: belongs to a scheme; never bound
    bool json_object = false;     ///< list: read from and written as a JSON object
    std::uint16_t constraints = 0;
    std::int32_t level = 0;       ///< free variable: of the let that introduced it
    std::uint32_t count = 0;      ///< of elements, fields or params
    std::uint32_t stamp = 0;      ///< scratch of traversals
    Name name;                    ///< constructor, literal
    Type* inner = nullptr;        ///< variable: what it is bound to; getter, nullable, list: the element; record: the base; arrow: result
    union {
        Type** elements = nullptr;   ///< tuple, constructor
        TypeField* fields;           ///< record
        TypeParam* params;           ///< arrow
    };
    Type* copy = nullptr;         ///< scratch of instantiation

    std::span<Type* const> element_span() const { return {elements, count}; }
    std::span<const TypeField> field_span() const { return {fields, count}; }
    std::span<const TypeParam> param_span() const { return {params, count}; }
};

/// A type with the variables that are fresh at each use.
struct Scheme {
    Type* type = nullptr;
    std::uint32_t quantified_count = 0;
    Type** quantified = nullptr;
};

/// Follows bound variables.
inline Type* deref(Type* t) noexcept {
    while (t->kind == TypeKind::variable && t->inner) t = t->inner;
    return t;
}
inline const Type* deref(const Type* t) noexcept { return deref(const_cast<Type*>(t)); }
/// What is used as it is may not grow any more.
inline void freeze(Type* t) noexcept {
    for (; t->kind == TypeKind::variable && t->inner; t = t->inner) t->covariant = false;
}
/// The type below all methods.
Type* without_methods(Type* t) noexcept;
inline const Type* without_methods(const Type* t) noexcept { return without_methods(const_cast<Type*>(t)); }
/// The outermost field of that name, or nullptr. Methods that constructors give are not fields.
const TypeField* find_field(const Type* t, Name name) noexcept;
/// All fields, an outer one hiding inner ones of its name; returns the type below them.
Type* split_methods(Type* t, std::vector<const TypeField*>& fields);
inline bool is_unit(const Type* t) noexcept { t = deref(t); return t->kind == TypeKind::tuple && t->count == 0; }

std::string print_type(const Type* type);      // also in check.h
std::string print_scheme(const Scheme& scheme);

/// A resolved type as a decoder reads it (`let json.parse (x : {a : int, b? : [string]}) = s`), one layer at a time.
struct TypeView {
    enum class Shape : std::uint8_t {
        any,          ///< nothing is known: decode freely
        integer, floating, string, boolean, unit, nullable, list, object /* [(string * t)] as json.object */, tuple, function, other,
    };
    Shape shape = Shape::any;             ///< of the type below its methods
    const Type* element = nullptr;        ///< nullable, list: the element; object: the value's type; function, getter: the result
    std::vector<const Type*> elements;    ///< tuple
    struct Method { Name name, json_name; const Type* type; bool optional; };
    std::vector<Method> methods;          ///< a record is unit with methods; in the script's order
    Name constructor;                     ///< shape other: "source", ... ; empty for getters
};
TypeView view_type(const Type* type);

/// The content that a source's or format's type states, field by field: {audio, "pcm(stereo)"}; unknown fields are left out.
struct ContentField { Name field; std::string content; };
std::vector<ContentField> content_of_type(const Type* type);

}  // namespace castile::lang
