// Shapes out of types.

#include "lang/decode.h"
#include "lang/type.h"

namespace castile::lang {

Shape shape_of(const Type* type) {
    Shape shape;
    if (!type) return shape;
    TypeView view = view_type(type);
    using enum Shape::Kind;
    switch (view.shape) {
    case TypeView::Shape::any: shape.kind = any; break;
    case TypeView::Shape::integer: shape.kind = integer; break;
    case TypeView::Shape::floating: shape.kind = floating; break;
    case TypeView::Shape::string: shape.kind = string; break;
    case TypeView::Shape::boolean: shape.kind = boolean; break;
    case TypeView::Shape::unit: shape.kind = view.methods.empty() ? unit : record; break;
    case TypeView::Shape::nullable:
        shape = shape_of(view.element);
        shape.nullable = true;
        break;
    case TypeView::Shape::list:
        shape.kind = list;
        shape.elements.push_back(shape_of(view.element));
        break;
    case TypeView::Shape::object:
        shape.kind = object;
        shape.elements.push_back(shape_of(view.element));
        break;
    case TypeView::Shape::tuple:
        shape.kind = tuple;
        for (const Type* t : view.elements) shape.elements.push_back(shape_of(t));
        break;
    case TypeView::Shape::function:
    case TypeView::Shape::other: shape.kind = other; break;
    }
    for (const auto& m : view.methods)
        shape.fields.push_back({m.name, m.json_name.empty() ? m.name : m.json_name, shape_of(m.type), m.optional});
    return shape;
}

}  // namespace castile::lang
