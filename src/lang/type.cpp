#include "lang/type.h"

namespace castile::lang {

Type* without_methods(Type* t) noexcept {
    t = deref(t);
    while (t->kind == TypeKind::record) t = deref(t->inner);
    return t;
}

const TypeField* find_field(const Type* t, Name name) noexcept {
    for (t = deref(t); t->kind == TypeKind::record; t = deref(t->inner))
        for (const TypeField& f : t->field_span())
            if (f.name == name) return &f;
    return nullptr;
}

Type* split_methods(Type* t, std::vector<const TypeField*>& fields) {
    t = deref(t);
    bool outermost = true;
    for (; t->kind == TypeKind::record; t = deref(t->inner)) {
        const std::size_t known = fields.size();
        for (const TypeField& f : t->field_span()) {
            bool hidden = false;
            if (!outermost)
                for (std::size_t i = 0; i < known && !hidden; ++i) hidden = fields[i]->name == f.name;
            if (!hidden) fields.push_back(&f);
        }
        outermost = false;
    }
    return t;
}

TypeView view_type(const Type* type) {
    TypeView view;
    std::vector<const TypeField*> fields;
    const Type* t = split_methods(const_cast<Type*>(type), fields);
    for (const TypeField* f : fields) {
        if (f->optional && deref(f->type)->kind == TypeKind::never) continue;
        view.methods.push_back({f->name, f->json_name, f->type, f->optional});
    }
    using Shape = TypeView::Shape;
    switch (t->kind) {
        case TypeKind::variable:
        case TypeKind::ellipsis:
            view.shape = fields.empty() ? Shape::any : Shape::unit;  // an open record
            break;
        case TypeKind::integer: view.shape = Shape::integer; break;
        case TypeKind::floating: view.shape = Shape::floating; break;
        case TypeKind::string: view.shape = Shape::string; break;
        case TypeKind::boolean: view.shape = Shape::boolean; break;
        case TypeKind::nullable:
            view.shape = Shape::nullable;
            view.element = t->inner;
            break;
        case TypeKind::list: {
            view.shape = Shape::list;
            view.element = t->inner;
            const Type* pair = without_methods(t->inner);
            if (t->json_object && pair->kind == TypeKind::tuple && pair->count == 2) {
                view.shape = Shape::object;
                view.element = pair->elements[1];
            }
            break;
        }
        case TypeKind::tuple:
            view.shape = t->count ? Shape::tuple : Shape::unit;
            view.elements.assign(t->elements, t->elements + t->count);
            break;
        case TypeKind::arrow:
            view.shape = Shape::function;
            view.element = t->inner;
            break;
        case TypeKind::getter:
            view.shape = Shape::other;
            view.element = t->inner;
            break;
        case TypeKind::constructor:
        case TypeKind::literal:
        case TypeKind::never:
        case TypeKind::record:
            view.shape = Shape::other;
            view.constructor = t->name;
            break;
    }
    return view;
}

std::vector<ContentField> content_of_type(const Type* type) {
    static const Name source("source"), format("format");
    std::vector<ContentField> result;
    const Type* t = without_methods(type);
    if (t->kind != TypeKind::constructor || t->count != 1 || (t->name != source && t->name != format)) return result;
    std::vector<const TypeField*> fields;
    split_methods(t->elements[0], fields);
    for (const TypeField* f : fields) {
        const Type* content = without_methods(f->type);
        if (content->kind == TypeKind::variable || content->kind == TypeKind::never || f->optional) continue;
        result.push_back({f->name, print_type(content)});
    }
    return result;
}

}  // namespace castile::lang
