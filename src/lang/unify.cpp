#include "lang/unify.h"

#include <algorithm>

namespace castile::lang {

namespace {

constexpr long max_steps = 4'000'000;   // about a second
constexpr int max_depth = 2500;

struct Deeper {
    explicit Deeper(int& depth) : depth_(depth) { ++depth_; }
    ~Deeper() { --depth_; }
    int& depth_;
};

bool same_literals(std::string_view a, std::string_view b) {
    if (a == b) return true;
    // "width=1280,height=720": parameters both state must agree.
    if (a.find('=') == std::string_view::npos || b.find('=') == std::string_view::npos) return false;
    auto value_of = [](std::string_view text, std::string_view key) -> std::string_view {
        while (!text.empty()) {
            const auto end = std::min(text.find(','), text.size());
            const std::string_view item = text.substr(0, end);
            const auto equals = item.find('=');
            if (equals != std::string_view::npos && item.substr(0, equals) == key) return item.substr(equals + 1);
            text.remove_prefix(std::min(end + 1, text.size()));
        }
        return {};
    };
    std::string_view rest = a;
    while (!rest.empty()) {
        const auto end = std::min(rest.find(','), rest.size());
        const std::string_view item = rest.substr(0, end);
        const auto equals = item.find('=');
        if (equals == std::string_view::npos) return false;
        const std::string_view other = value_of(b, item.substr(0, equals));
        if (!other.empty() && other != item.substr(equals + 1)) return false;
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return true;
}

bool is_bound(const Type* t) { return t->kind == TypeKind::variable && t->inner; }
bool is_free(const Type* t) { return t->kind == TypeKind::variable && !t->inner; }

}  // namespace

bool Unifier::subtype(Type* a, Type* b) {
    depth_ = 0;
    steps_ = 0;
    mismatch_ = {};
    return sub(a, b);
}

void Unifier::enter() {
    if (++steps_ > max_steps || depth_ > max_depth) throw TypeTooComplex();
}

bool Unifier::differ(Type* a, Type* b) {
    Type* inner_given = mismatch_.inner_given ? mismatch_.inner_given : a;
    Type* inner_expected = mismatch_.inner_expected ? mismatch_.inner_expected : b;
    mismatch_ = {a, b, {}, nullptr, inner_given, inner_expected};
    return false;
}

// The outermost layer of a type, the rest elided.
Type* Unifier::head(Type* t) {
    t = deref(t);
    Type* dots = pool_.ellipsis();
    switch (t->kind) {
        case TypeKind::getter: return pool_.getter(dots);
        case TypeKind::nullable: return pool_.nullable(dots);
        case TypeKind::list: return pool_.list(dots);
        case TypeKind::tuple: {
            std::vector<Type*> elements(t->count, dots);
            return pool_.tuple(elements);
        }
        case TypeKind::constructor: {
            std::vector<Type*> elements(t->count, dots);
            return pool_.constructor(t->name, elements);
        }
        case TypeKind::arrow: {
            std::vector<TypeParam> params(t->params, t->params + t->count);
            for (TypeParam& p : params) p.type = dots;
            return pool_.arrow(params, dots);
        }
        case TypeKind::record: {
            std::vector<const TypeField*> fields;
            Type* base = split_methods(t, fields);
            std::vector<TypeField> elided;
            for (const TypeField* f : fields) {
                elided.push_back({f->name, dots, f->optional});
                if (elided.size() == 8) break;
            }
            return pool_.record(elided, is_unit(base) ? pool_.unit() : head(base));
        }
        default: return t;
    }
}

bool Unifier::wrap(TypeKind kind) {
    auto around = [&](Type*& t) { t = kind == TypeKind::getter ? pool_.getter(t) : kind == TypeKind::list ? pool_.list(t) : pool_.nullable(t); };
    around(mismatch_.given);
    around(mismatch_.expected);
    mismatch_.missing_method = {};
    return false;
}

bool Unifier::wrap_element(Type* like, std::uint32_t index) {
    auto around = [&](Type*& t) {
        std::vector<Type*> elements(like->count, pool_.ellipsis());
        elements[index] = t;
        t = like->kind == TypeKind::tuple ? pool_.tuple(elements) : pool_.constructor(like->name, elements);
    };
    around(mismatch_.given);
    around(mismatch_.expected);
    mismatch_.missing_method = {};
    return false;
}

bool Unifier::sub(Type* a, Type* b) {
    Deeper deeper(depth_);
    enter();
    for (;;) {
        if (a == b) return true;
        if (is_bound(b)) {
            if (b->covariant) {
                // A variable bound by a value may have been bound too narrowly: `[1, null]`.
                Type* known = b->inner;
                Type* grown = a->ground && a == known ? known : sup(a, known);
                if (grown && grown != known) {
                    if (!sub(known, grown)) return differ(head(a), head(known));
                    b->inner = grown;
                }
                b = b->inner;
            } else {
                b = b->inner;
            }
            continue;
        }
        if (is_bound(a)) {
            a->covariant = false;
            a = a->inner;
            continue;
        }
        return sub_known(a, b);
    }
}

bool Unifier::sub_known(Type* a, Type* b) {
    if (is_free(a) || is_free(b)) {
        if (a->kind == TypeKind::never || b->kind == TypeKind::never) return differ(a, b);
        return is_free(a) ? bind(a, b, false) || differ(a, b) : bind(b, a, true) || differ(a, b);
    }
    if (a->kind == TypeKind::nullable) {
        while (deref(a->inner)->kind == TypeKind::nullable) a = deref(a->inner);
        if (b->kind == TypeKind::nullable) {
            while (deref(b->inner)->kind == TypeKind::nullable) b = deref(b->inner);
            return sub(a->inner, b->inner) || wrap(TypeKind::nullable);
        }
    } else if (b->kind == TypeKind::nullable) {
        if (sub(a, b->inner)) return true;
        mismatch_.expected = pool_.nullable(mismatch_.expected);
        mismatch_.missing_method = {};
        return false;
    }
    if (b->kind == TypeKind::getter) {
        if (a->kind == TypeKind::getter) return sub(a->inner, b->inner) || wrap(TypeKind::getter);
        Type* below = without_methods(a);
        bool callable = below->kind == TypeKind::arrow;
        if (callable && below->count) {
            callable = !is_free(deref(b->inner));
            for (const TypeParam& p : below->param_span()) callable = callable && p.optional;
        }
        if (callable) {
            if (sub(below->inner, b->inner)) return true;
            mismatch_.given = pool_.arrow({}, mismatch_.given);
            mismatch_.expected = pool_.getter(mismatch_.expected);
            mismatch_.missing_method = {};
            return false;
        }
        if (below->kind == TypeKind::getter && a != below) return sub(below, b);
        if (sub(a, b->inner)) return true;
        mismatch_.expected = pool_.getter(mismatch_.expected);
        mismatch_.missing_method = {};
        return false;
    }
    if (a->kind == TypeKind::record || b->kind == TypeKind::record) return sub_record(a, b);
    if (a->kind != b->kind) return (a->kind == TypeKind::integer && b->kind == TypeKind::floating) || differ(head(a), head(b));
    switch (a->kind) {
        case TypeKind::integer:
        case TypeKind::floating:
        case TypeKind::string:
        case TypeKind::boolean:
        case TypeKind::never: return true;
        case TypeKind::literal: return same_literals(a->name.view(), b->name.view()) || differ(a, b);
        case TypeKind::list: return sub(a->inner, b->inner) || wrap(TypeKind::list);
        case TypeKind::tuple:
            if (a->count != b->count) return differ(head(a), head(b));
            for (std::uint32_t i = 0; i < a->count; ++i)
                if (!sub(a->elements[i], b->elements[i])) return wrap_element(a, i);
            return true;
        case TypeKind::constructor: return sub_constructor(a, b);
        case TypeKind::arrow: return sub_arrow(a, b);
        case TypeKind::getter:
        case TypeKind::nullable:
        case TypeKind::record:
        case TypeKind::variable:
        case TypeKind::ellipsis: break;
    }
    return differ(head(a), head(b));
}

bool Unifier::sub_constructor(Type* a, Type* b) {
    if (a->name != b->name) return differ(head(a), head(b));
    if (b->count == 0) return true;  // source(_) takes any source
    if (a->count != b->count) return differ(a, b);
    for (std::uint32_t i = 0; i < a->count; ++i) {
        // Contents never grow: what a format or a source states holds for all that are joined with it.
        freeze(b->elements[i]);
        if (!sub(a->elements[i], b->elements[i])) return wrap_element(a, i);
        freeze(b->elements[i]);
    }
    return true;
}

bool Unifier::sub_arrow(Type* a, Type* b) {
    std::vector<const TypeParam*> left;
    for (const TypeParam& p : a->param_span()) left.push_back(&p);
    Type* dots = pool_.ellipsis();
    const TypeParam rest{Name(), pool_.dots(), false};
    auto elided = [&](const TypeParam& p) { return TypeParam{p.label, dots, p.optional}; };
    for (std::uint32_t i = 0; i < b->count; ++i) {
        const TypeParam& wanted = b->params[i];
        const auto at = std::find_if(left.begin(), left.end(), [&](const TypeParam* p) { return p->label == wanted.label; });
        std::vector<TypeParam> before;
        auto collect_before = [&] {
            for (std::uint32_t j = 0; j < i; ++j) before.push_back(elided(b->params[j]));
        };
        if (at == left.end()) {
            std::vector<TypeParam> given;
            for (const TypeParam& p : a->param_span()) given.push_back(elided(p));
            collect_before();
            before.push_back(elided(wanted));
            if (i + 1 < b->count) before.push_back(rest);
            return differ(pool_.arrow(given, dots), pool_.arrow(before, dots));
        }
        const TypeParam& own = **at;
        const bool optionality = own.optional || !wanted.optional;
        if (!optionality) differ(dots, dots);
        if (!optionality || !sub(wanted.type, own.type)) {
            collect_before();
            auto around = [&](const TypeParam& p, Type* t) {
                std::vector<TypeParam> params = before;
                params.push_back({p.label, t, p.optional});
                if (i + 1 < b->count) params.push_back(rest);
                return pool_.arrow(params, dots);
            };
            Type* given = around(own, mismatch_.expected);
            Type* expected = around(wanted, mismatch_.given);
            return differ(given, expected);
        }
        left.erase(at);
    }
    for (const TypeParam* p : left) {
        if (p->optional) continue;
        std::vector<TypeParam> given{elided(*p)};
        given.push_back(rest);
        return differ(pool_.arrow(given, dots), pool_.arrow({&rest, 1}, dots));
    }
    if (sub(a->inner, b->inner)) return true;
    std::vector<TypeParam> params;
    if (a->count || b->count) params.push_back(rest);
    return differ(pool_.arrow(params, mismatch_.given), pool_.arrow(params, mismatch_.expected));
}

bool Unifier::sub_field(const TypeField& a, const TypeField& b) {
    Type* given = pool_.instantiate(a, TypePool::quantified_level - 1);
    Type* wanted = pool_.instantiate(b, TypePool::quantified_level - 1);
    Type* known = deref(given);
    bool optionality = true;
    if (a.optional && b.optional && known->kind == TypeKind::never) return true;
    if (b.optional && known->kind == TypeKind::nullable)
        given = known->inner;
    else if (a.optional && !b.optional)
        optionality = false;
    if (optionality && sub(given, wanted)) return true;
    if (!optionality) differ(pool_.ellipsis(), pool_.ellipsis());
    const TypeField left{a.name, mismatch_.given, a.optional}, right{b.name, mismatch_.expected, b.optional};
    return differ(pool_.record({&left, 1}, pool_.ellipsis()), pool_.record({&right, 1}, pool_.ellipsis()));
}

bool Unifier::sub_record(Type* a, Type* b) {
    std::vector<const TypeField*> given, wanted;
    Type* base = split_methods(a, given);
    Type* wanted_base = split_methods(b, wanted);
    std::vector<TypeField> extension;
    for (const TypeField* w : wanted) {
        const auto at = std::find_if(given.begin(), given.end(), [&](const TypeField* f) { return f->name == w->name; });
        if (at != given.end()) {
            if (!sub_field(**at, *w)) return false;
            given.erase(at);
            continue;
        }
        Type* below = deref(base);
        if (below->kind == TypeKind::record) {  // the row was extended meanwhile
            if (const TypeField* f = find_field(below, w->name)) {
                if (!sub_field(*f, *w)) return false;
                continue;
            }
            below = without_methods(below);
        }
        if (is_free(below)) {
            Type* type = deref(w->type);
            if (type->kind == TypeKind::never) continue;
            TypeField field = *w;
            if (type->kind == TypeKind::nullable) {
                field.optional = true;
                field.type = type->inner;
            }
            extension.push_back(field);
            continue;
        }
        if (below->kind == TypeKind::constructor) {
            if (const TypeField* f = methods_(below->name, w->name)) {
                if (!sub_field(*f, *w)) return false;
                continue;
            }
        }
        if (w->optional || deref(w->type)->kind == TypeKind::never) continue;
        const TypeField missing{w->name, pool_.ellipsis(), w->optional};
        differ(a, pool_.record({&missing, 1}, pool_.ellipsis()));
        mismatch_.missing_method = w->name;
        mismatch_.without = a;
        return false;
    }
    if (!extension.empty()) {
        Type* row = without_methods(base);
        Type* fresh = pool_.variable(row->level);
        if (!bind(row, pool_.record(extension, fresh), false)) return differ(a, b);
        base = fresh;
    } else {
        base = deref(base);
        if (base->kind == TypeKind::record) base = without_methods(base);
    }
    Type* target = deref(wanted_base);
    if (is_free(target) && !given.empty()) {
        std::vector<TypeField> rest;
        for (const TypeField* f : given) rest.push_back(*f);
        base = pool_.record(rest, base);
    }
    return sub(base, wanted_base);
}

// --- binding

bool Unifier::bind(Type* variable, Type* t, bool covariant) {
    t = deref(t);
    if (t == variable) return true;
    pool_.next_stamp();
    if (!t->ground && occurs(variable, t, 0)) return false;
    if (variable->constraints && !satisfy(t, variable->constraints)) return false;
    variable->inner = t;
    variable->covariant = covariant;
    return true;
}

// Also lowers the levels in `t`, which from now on live as long as `variable`.
bool Unifier::occurs(Type* variable, Type* t, int depth) {
    if (depth > TypePool::max_depth) throw TypeTooComplex();
    t = deref(t);
    if (t->ground) return false;
    if (t == variable) return true;
    const std::uint32_t stamp = pool_.stamp();
    if (t->stamp == stamp) return false;
    t->stamp = stamp;
    switch (t->kind) {
        case TypeKind::variable:
            if (!t->quantified) t->level = std::min(t->level, variable->level);
            return false;
        case TypeKind::getter:
        case TypeKind::nullable:
        case TypeKind::list: return occurs(variable, t->inner, depth + 1);
        case TypeKind::tuple:
        case TypeKind::constructor:
            for (Type* e : t->element_span())
                if (occurs(variable, e, depth + 1)) return true;
            return false;
        case TypeKind::record:
            for (const TypeField& f : t->field_span())
                if (occurs(variable, f.type, depth + 1)) return true;
            return occurs(variable, t->inner, depth + 1);
        case TypeKind::arrow:
            for (const TypeParam& p : t->param_span())
                if (occurs(variable, p.type, depth + 1)) return true;
            return occurs(variable, t->inner, depth + 1);
        case TypeKind::integer:
        case TypeKind::floating:
        case TypeKind::string:
        case TypeKind::boolean:
        case TypeKind::never:
        case TypeKind::literal:
        case TypeKind::ellipsis: return false;
    }
    return false;
}

}  // namespace castile::lang
