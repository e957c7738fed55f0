#include "lang/type_pool.h"

#include <new>

namespace castile::lang {

TypePool::TypePool() {
    auto constant = [this](TypeKind kind) {
        Type* t = node(kind);
        t->ground = true;
        return t;
    };
    integer_ = constant(TypeKind::integer);
    floating_ = constant(TypeKind::floating);
    string_ = constant(TypeKind::string);
    boolean_ = constant(TypeKind::boolean);
    unit_ = constant(TypeKind::tuple);
    never_ = constant(TypeKind::never);
    ellipsis_ = constant(TypeKind::ellipsis);
    dots_ = constant(TypeKind::ellipsis);
    dots_->name = "...";
}

void* TypePool::allocate(std::size_t bytes) {
    constexpr std::size_t block = 64 * 1024;
    bytes = (bytes + 15) & ~std::size_t{15};
    if (used_ + bytes > size_) {
        if (bytes_ > limit_) throw TypeTooComplex();
        size_ = std::max(block, bytes);
        used_ = 0;
        blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(size_));
        bytes_ += size_;
    }
    void* result = blocks_.back().get() + used_;
    used_ += bytes;
    return result;
}

Type* TypePool::node(TypeKind kind) {
    Type* t = new (allocate(sizeof(Type))) Type;
    t->kind = kind;
    return t;
}

Type* TypePool::wrap(TypeKind kind, Type* inner) {
    Type* t = node(kind);
    t->inner = inner;
    t->ground = inner->ground;
    return t;
}

Type* TypePool::nullable(Type* t) {
    Type* known = deref(t);
    return known->kind == TypeKind::nullable ? known : wrap(TypeKind::nullable, t);
}

Type* TypePool::variable(int level, std::uint16_t constraints) {
    Type* t = node(TypeKind::variable);
    t->level = level;
    t->constraints = constraints;
    return t;
}

Type* TypePool::literal(Name text) {
    Type* t = node(TypeKind::literal);
    t->name = text;
    t->ground = true;
    return t;
}

Type* TypePool::tuple(std::span<Type* const> elements) {
    if (elements.empty()) return unit_;
    Type* t = node(TypeKind::tuple);
    t->count = static_cast<std::uint32_t>(elements.size());
    t->elements = array<Type*>(elements);
    t->ground = true;
    for (Type* e : elements) t->ground = t->ground && e->ground;
    return t;
}

Type* TypePool::constructor(Name name, std::span<Type* const> arguments) {
    Type* t = node(TypeKind::constructor);
    t->name = name;
    t->count = static_cast<std::uint32_t>(arguments.size());
    t->elements = array<Type*>(arguments);
    t->ground = true;
    for (Type* e : arguments) t->ground = t->ground && e->ground;
    return t;
}

Type* TypePool::arrow(std::span<const TypeParam> params, Type* result) {
    Type* t = node(TypeKind::arrow);
    t->count = static_cast<std::uint32_t>(params.size());
    t->params = array<TypeParam>(params);
    t->inner = result;
    t->ground = result->ground;
    for (const TypeParam& p : params) t->ground = t->ground && p.type->ground;
    return t;
}

Type* TypePool::record(std::span<const TypeField> fields, Type* base) {
    if (fields.empty()) return base;
    Type* t = node(TypeKind::record);
    if (base->kind == TypeKind::record) {  // one node, so that long chains of methods stay short
        std::vector<TypeField> all(fields.begin(), fields.end());
        for (const TypeField& inner : base->field_span()) {
            bool hidden = false;
            for (const TypeField& f : fields) hidden = hidden || f.name == inner.name;
            if (!hidden) all.push_back(inner);
        }
        t->count = static_cast<std::uint32_t>(all.size());
        t->fields = array<TypeField>(std::span<const TypeField>(all));
        t->inner = base->inner;
    } else {
        t->count = static_cast<std::uint32_t>(fields.size());
        t->fields = array<TypeField>(fields);
        t->inner = base;
    }
    t->ground = t->inner->ground;
    for (const TypeField& f : t->field_span()) t->ground = t->ground && f.type->ground;
    return t;
}

Type* TypePool::reference(Type* t) {
    static const Name set("set");
    const TypeParam param{Name(), t, false};
    const TypeField field{set, arrow({&param, 1}, unit_)};
    return record({&field, 1}, arrow({}, t));
}

// --- schemes

void TypePool::collect(Type* t, int level, std::vector<Type*>& found, int depth) {
    if (depth > max_depth) throw TypeTooComplex();
    t = deref(t);
    if (t->ground || t->stamp == stamp_) return;
    t->stamp = stamp_;
    switch (t->kind) {
        case TypeKind::variable:
            if (!t->quantified && t->level > level) found.push_back(t);
            return;
        case TypeKind::getter:
        case TypeKind::nullable:
        case TypeKind::list: return collect(t->inner, level, found, depth + 1);
        case TypeKind::tuple:
        case TypeKind::constructor:
            for (Type* e : t->element_span()) collect(e, level, found, depth + 1);
            return;
        case TypeKind::record:
            for (const TypeField& f : t->field_span()) collect(f.type, level, found, depth + 1);
            return collect(t->inner, level, found, depth + 1);
        case TypeKind::arrow:
            for (const TypeParam& p : t->param_span()) collect(p.type, level, found, depth + 1);
            return collect(t->inner, level, found, depth + 1);
        case TypeKind::integer:
        case TypeKind::floating:
        case TypeKind::string:
        case TypeKind::boolean:
        case TypeKind::never:
        case TypeKind::literal:
        case TypeKind::ellipsis: return;
    }
}

Scheme TypePool::generalise(Type* t, int level) {
    if (t->ground) return {t};
    std::vector<Type*> found;
    next_stamp();
    collect(t, level, found, 0);
    for (Type* v : found) {
        v->quantified = true;
        v->level = quantified_level;
    }
    next_stamp();
    copied_ = 0;
    Scheme scheme;
    scheme.type = copy(t, 0, false);  // without the links that inference left
    scheme.quantified_count = static_cast<std::uint32_t>(found.size());
    scheme.quantified = array<Type*>(std::span<Type* const>(found));
    return scheme;
}

void TypePool::lower_levels(Type* t, int level) {
    if (t->ground) return;
    std::vector<Type*> found;
    next_stamp();
    collect(t, level, found, 0);
    for (Type* v : found) v->level = level;
}

Type* TypePool::instantiate(const Scheme& scheme, int level) {
    if (!scheme.quantified_count) return scheme.type;
    copied_ = 0;
    const std::uint32_t stamp = next_stamp();
    for (std::uint32_t i = 0; i < scheme.quantified_count; ++i) {
        Type* v = scheme.quantified[i];
        v->stamp = stamp;
        v->copy = variable(level, v->constraints);
    }
    return copy(scheme.type, 0, true);
}

// Shares what holds no copied variable. `fresh_links`: links that may still grow are copied too, so that growing an instance
// leaves the scheme alone.
Type* TypePool::copy(Type* t, int depth, bool fresh_links) {
    if (t->ground) return t;
    if (t->stamp == stamp_) return t->copy;
    if (depth > max_depth || ++copied_ > max_instance) throw TypeTooComplex();
    Type* result = t;
    switch (t->kind) {
        case TypeKind::variable:
            if (!t->inner) break;
            if (!t->covariant) {
                result = copy(t->inner, depth + 1, fresh_links);
            } else if (fresh_links) {
                result = variable(0);
                result->covariant = true;
                result->inner = copy(t->inner, depth + 1, fresh_links);
            }
            break;
        case TypeKind::getter:
        case TypeKind::nullable:
        case TypeKind::list: {
            Type* inner = copy(t->inner, depth + 1, fresh_links);
            if (inner == t->inner) break;
            result = t->kind == TypeKind::nullable ? nullable(inner) : wrap(t->kind, inner);
            if (result->kind == TypeKind::list) result->json_object = t->json_object;
            break;
        }
        case TypeKind::tuple:
        case TypeKind::constructor: {
            bool changed = false;
            Type* small[8];
            std::vector<Type*> large;
            Type** out = small;
            if (t->count > 8) {
                large.resize(t->count);
                out = large.data();
            }
            for (std::uint32_t i = 0; i < t->count; ++i) {
                out[i] = copy(t->elements[i], depth + 1, fresh_links);
                changed = changed || out[i] != t->elements[i];
            }
            if (!changed) break;
            const std::span<Type* const> all(out, t->count);
            result = t->kind == TypeKind::tuple ? tuple(all) : constructor(t->name, all);
            break;
        }
        case TypeKind::record: {
            std::vector<TypeField> fields(t->fields, t->fields + t->count);
            bool changed = false;
            for (TypeField& f : fields) {
                Type* type = copy(f.type, depth + 1, fresh_links);
                changed = changed || type != f.type;
                f.type = type;
            }
            Type* base = copy(t->inner, depth + 1, fresh_links);
            if (changed || base != t->inner) result = record(fields, base);
            break;
        }
        case TypeKind::arrow: {
            std::vector<TypeParam> params(t->params, t->params + t->count);
            bool changed = false;
            for (TypeParam& p : params) {
                Type* type = copy(p.type, depth + 1, fresh_links);
                changed = changed || type != p.type;
                p.type = type;
            }
            Type* inner = copy(t->inner, depth + 1, fresh_links);
            if (changed || inner != t->inner) result = arrow(params, inner);
            break;
        }
        case TypeKind::integer:
        case TypeKind::floating:
        case TypeKind::string:
        case TypeKind::boolean:
        case TypeKind::never:
        case TypeKind::literal:
        case TypeKind::ellipsis: break;
    }
    t->stamp = stamp_;
    t->copy = result;
    return result;
}

}  // namespace castile::lang
