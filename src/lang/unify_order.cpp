// The parts of unification that look at one variable: the least common supertype while it may grow, its constraints.
#include <algorithm>

#include "lang/unify.h"

namespace castile::lang {

namespace {

struct Deeper {
    explicit Deeper(int& depth) : depth_(depth) { ++depth_; }
    ~Deeper() { --depth_; }
    int& depth_;
};

bool is_source_like(const Type* t) {
    static const Name source("source"), format("format");
    return t->kind == TypeKind::constructor && (t->name == source || t->name == format);
}

bool is_pcm(Name name) {
    static const Name pcm("pcm"), s16("pcm_s16"), f32("pcm_f32");
    return name == pcm || name == s16 || name == f32;
}

bool is_internal(Name name) {
    static const Name video("yuv420p"), metadata("metadata"), marks("track_marks");
    return is_pcm(name) || name == video || name == metadata || name == marks;
}

}  // namespace

// Grows `b` so that it has a chance to be above `a`. Binds nothing.
Type* Unifier::sup(Type* a, Type* b) {
    Deeper deeper(depth_);
    enter();
    a = deref(a);
    b = deref(b);
    if (a == b) return a;
    if (a->kind == TypeKind::variable) return b;
    if (b->kind == TypeKind::variable) return a;
    auto wrapped = [&](Type* (TypePool::*make)(Type*), Type* x, Type* y, Type* same) -> Type* {
        Type* inner = sup(x, y);
        if (!inner) return nullptr;
        return same && inner == deref(same->inner) ? same : (pool_.*make)(inner);
    };
    if (a->kind == TypeKind::nullable || b->kind == TypeKind::nullable) {
        Type* x = a->kind == TypeKind::nullable ? a->inner : a;
        Type* y = b->kind == TypeKind::nullable ? b->inner : b;
        return wrapped(&TypePool::nullable, x, y, b->kind == TypeKind::nullable ? b : nullptr);
    }
    if (a->kind == TypeKind::record || b->kind == TypeKind::record) return sup_record(a, b);
    if (is_source_like(a) || is_source_like(b)) return b;
    if (a->kind == TypeKind::getter || b->kind == TypeKind::getter) {
        auto content = [](Type* t) {
            return t->kind == TypeKind::getter || (t->kind == TypeKind::arrow && t->count == 0) ? t->inner : t;
        };
        return wrapped(&TypePool::getter, content(a), content(b), b->kind == TypeKind::getter ? b : nullptr);
    }
    if (a->kind != b->kind) {
        const bool numbers = (a->kind == TypeKind::integer && b->kind == TypeKind::floating) ||
                             (a->kind == TypeKind::floating && b->kind == TypeKind::integer);
        return numbers ? pool_.integer() : nullptr;  // ints become floats where they are passed, never in what was seen before
    }
    switch (a->kind) {
        case TypeKind::integer:
        case TypeKind::floating:
        case TypeKind::string:
        case TypeKind::boolean:
        case TypeKind::never: return b;
        case TypeKind::literal: return a->name == b->name ? b : nullptr;
        case TypeKind::list: return wrapped(&TypePool::list, a->inner, b->inner, b);
        case TypeKind::arrow: {
            if (a->count != b->count) return nullptr;
            Type* inner = sup(a->inner, b->inner);
            if (!inner) return nullptr;
            return inner == deref(b->inner) ? b : pool_.arrow(b->param_span(), inner);
        }
        case TypeKind::tuple:
        case TypeKind::constructor: {
            if (a->count != b->count || a->name != b->name) return nullptr;
            std::vector<Type*> elements(b->elements, b->elements + b->count);
            bool changed = false;
            for (std::uint32_t i = 0; i < b->count; ++i) {
                Type* e = sup(a->elements[i], b->elements[i]);
                if (!e) return nullptr;
                changed = changed || e != deref(b->elements[i]);
                elements[i] = e;
            }
            if (!changed) return b;
            return b->kind == TypeKind::tuple ? pool_.tuple(elements) : pool_.constructor(b->name, elements);
        }
        case TypeKind::getter:
        case TypeKind::nullable:
        case TypeKind::record:
        case TypeKind::variable:
        case TypeKind::ellipsis: break;
    }
    return nullptr;
}

// Methods that only one side has, or that differ in nothing but what can grow, stay as optional ones.
Type* Unifier::sup_record(Type* a, Type* b) {
    std::vector<const TypeField*> left, right;
    Type* base_a = split_methods(a, left);
    Type* base_b = split_methods(b, right);
    // The row itself is bound by the subtyping that follows.
    Type* base = base_b->kind == TypeKind::variable ? base_b : sup(base_a, base_b);
    if (!base) return nullptr;
    bool changed = base != base_b;
    std::vector<TypeField> fields;
    // What one side states the other may have from its constructor.
    const auto given = [&](const Type* below, Name name) {
        return below->kind == TypeKind::constructor ? methods_(below->name, name) : nullptr;
    };
    // False: the two have nothing in common, the method goes.
    const auto join = [&](TypeField& field, const TypeField& l, const TypeField& r) {
        field.optional = l.optional || r.optional;
        if (l.quantified_count || r.quantified_count) return true;
        Type* type = sup(l.type, r.type);
        if (type && type != deref(r.type)) field.type = type;
        return type != nullptr;
    };
    for (const TypeField* r : right) {
        const auto at = std::find_if(left.begin(), left.end(), [&](const TypeField* f) { return f->name == r->name; });
        TypeField field = *r;
        const TypeField* l = at == left.end() ? given(base_a, r->name) : *at;
        if (at != left.end()) left.erase(at);
        if (!l) {
            if (base_a->kind != TypeKind::variable) field.optional = true;  // an open row may still get it
        } else if (!join(field, *l, *r)) {
            changed = true;
            continue;
        }
        changed = changed || field.optional != r->optional || field.type != r->type;
        fields.push_back(field);
    }
    if (base_b->kind == TypeKind::variable) left.clear();  // an open row gets them as they are
    for (const TypeField* l : left) {
        TypeField field = *l;
        const TypeField* r = given(base_b, l->name);
        if (r) {
            field = *r;
            if (!join(field, *l, *r)) continue;
        } else {
            field.optional = true;
        }
        changed = true;
        fields.push_back(field);
    }
    return changed ? pool_.record(fields, base) : b;
}

bool Unifier::satisfy(Type* t, std::uint16_t constraints) {
    t = deref(t);
    if (t->kind == TypeKind::variable) {
        t->constraints |= constraints;
        return true;
    }
    for (std::uint16_t bit = 1; bit && bit <= constraints; bit = static_cast<std::uint16_t>(bit << 1))
        if ((constraints & bit) && !satisfy_one(t, bit)) return false;
    return true;
}

bool Unifier::satisfy_one(Type* t, std::uint16_t bit) {
    Deeper deeper(depth_);
    enter();
    std::vector<const TypeField*> methods;
    Type* base = split_methods(t, methods);
    if (base->kind == TypeKind::variable) {
        base->constraints |= bit;
        if (bit != constraint_internal_tracks && bit != constraint_muxed_tracks) return true;
    }
    const bool plain = base->kind == TypeKind::integer || base->kind == TypeKind::floating || base->kind == TypeKind::string ||
                       base->kind == TypeKind::boolean;
    switch (bit) {
        case constraint_number:
            return base->kind == TypeKind::integer || base->kind == TypeKind::floating || base->kind == TypeKind::never;
        case constraint_orderable:
            if (plain || base->kind == TypeKind::never || base->kind == TypeKind::literal) return true;
            if (base->kind == TypeKind::list || base->kind == TypeKind::nullable) return satisfy(base->inner, bit);
            if (base->kind == TypeKind::tuple || base->kind == TypeKind::constructor) {
                for (Type* e : base->element_span())
                    if (!satisfy(e, bit)) return false;
                if (!is_unit(base)) return true;
                for (const TypeField* m : methods)
                    if (m->quantified_count || !satisfy(m->type, bit)) return false;
                return true;
            }
            return false;
        case constraint_record: return is_unit(base) && !methods.empty();
        case constraint_track: return base->kind == TypeKind::never || base->kind == TypeKind::constructor;
        case constraint_internal_track:
            return base->kind == TypeKind::never || (base->kind == TypeKind::constructor && is_internal(base->name));
        case constraint_pcm_track:
            return base->kind == TypeKind::never || (base->kind == TypeKind::constructor && is_pcm(base->name));
        case constraint_internal_tracks:
        case constraint_muxed_tracks:
            if (!is_unit(base) && base->kind != TypeKind::variable) return false;
            for (const TypeField* m : methods)
                if (!satisfy(m->type, bit == constraint_muxed_tracks ? constraint_track : constraint_internal_track)) return false;
            return true;
        case constraint_setting:
            return plain || is_unit(base) || (base->kind == TypeKind::list && satisfy_one(base->inner, constraint_setting));
        case constraint_cell:
            return plain || (base->kind == TypeKind::nullable && satisfy(base->inner, bit));
        case constraint_row:
            if (!is_unit(base)) return false;
            for (const TypeField* m : methods)
                if (!satisfy(m->type, constraint_cell)) return false;
            return true;
        default: return true;
    }
}

}  // namespace castile::lang
