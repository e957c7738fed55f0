// Definitions: generalisation, patterns, methods added to variables.
#include <algorithm>

#include "lang/checker.h"

namespace castile::lang {

namespace {

/// Are all variables of a call's result bound later by a mandatory argument? Then it can be generalised: fun () -> fun (x) -> x.
/// Inside a record a call may have made cells, whose setters are functions too: only what encloses the record counts there.
/// `left`: nodes that may still be looked at, since a type that shares its parts is as large as all paths through it.
bool result_is_closed(const Type* t, std::vector<const Type*>& bound, int depth, unsigned& left, bool in_record = false) {
    if (depth > TypePool::max_depth || left-- == 0) throw TypeTooComplex();
    t = deref(t);
    if (t->ground) return true;
    switch (t->kind) {
        case TypeKind::variable: return t->quantified || std::find(bound.begin(), bound.end(), t) != bound.end();
        case TypeKind::tuple:
        case TypeKind::constructor:
            for (const Type* e : t->element_span())
                if (!result_is_closed(e, bound, depth + 1, left, in_record)) return false;
            return true;
        case TypeKind::record:
            for (const TypeField& f : t->field_span())
                if (!result_is_closed(f.type, bound, depth + 1, left, true)) return false;
            return result_is_closed(t->inner, bound, depth + 1, left, true);
        case TypeKind::arrow: {
            auto collect = [&](auto&& self, const Type* p, int d) -> void {
                if (d > TypePool::max_depth || left-- == 0) throw TypeTooComplex();
                p = deref(p);
                if (p->ground) return;
                if (p->kind == TypeKind::variable) return bound.push_back(p);
                if (p->kind == TypeKind::tuple || p->kind == TypeKind::constructor)
                    for (const Type* e : p->element_span()) self(self, e, d + 1);
                if (p->kind == TypeKind::record)
                    for (const TypeField& f : p->field_span()) self(self, f.type, d + 1);
                if (p->kind == TypeKind::arrow)
                    for (const TypeParam& q : p->param_span()) self(self, q.type, d + 1);
                if (p->inner) self(self, p->inner, d + 1);
            };
            const std::size_t outer = bound.size();
            for (const TypeParam& p : t->param_span())
                if (!p.optional && !in_record) collect(collect, p.type, depth + 1);
            const bool closed = result_is_closed(t->inner, bound, depth + 1, left, in_record);
            bound.resize(outer);
            return closed;
        }
        case TypeKind::getter:
        case TypeKind::nullable:
        case TypeKind::list: return result_is_closed(t->inner, bound, depth + 1, left, in_record);
        default: return true;
    }
}

}  // namespace

// The value restriction: only what computes nothing may be generalised.
bool Checker::is_value(const Term* term) const {
    for (;;) {
        const auto& node = term->node;
        if (std::holds_alternative<term::Int>(node) || std::holds_alternative<term::Float>(node) ||
            std::holds_alternative<term::String>(node) || std::holds_alternative<term::Bool>(node) ||
            std::holds_alternative<term::Null>(node) || std::holds_alternative<term::Variable>(node) ||
            std::holds_alternative<term::Function>(node) || std::holds_alternative<term::Encoder>(node))
            return true;
        if (const auto* list = std::get_if<term::List>(&node))
            return std::all_of(list->items.begin(), list->items.end(), [&](const term::ListItem& i) { return !i.spread && is_value(i.value); });
        if (const auto* tuple = std::get_if<term::Tuple>(&node))
            return std::all_of(tuple->elements.begin(), tuple->elements.end(), [&](const Term* e) { return is_value(e); });
        if (const auto* methods = std::get_if<term::Methods>(&node)) {
            for (const term::MethodValue& m : methods->methods)
                if (!is_value(m.value)) return false;
            return (!methods->base || is_value(methods->base)) && (!methods->spread || is_value(methods->spread));
        }
        if (const auto* invoke = std::get_if<term::Invoke>(&node)) {
            if (invoke->otherwise) return false;
            term = invoke->base;  // a member of a module
            continue;
        }
        if (const auto* apply = std::get_if<term::Apply>(&node)) {
            const Type* function = apply->function->type ? without_methods(apply->function->type) : nullptr;
            std::vector<const Type*> bound;
            unsigned left = 10 * TypePool::max_instance;
            return function && function->kind == TypeKind::arrow && result_is_closed(function->inner, bound, 0, left);
        }
        if (const auto* ascription = std::get_if<term::Ascribe>(&node)) {
            term = ascription->value;
            continue;
        }
        if (const auto* cast = std::get_if<term::ToFloat>(&node)) {
            term = cast->value;
            continue;
        }
        if (const auto* let = std::get_if<term::Let>(&node)) {
            if (!is_value(let->value)) return false;
            if (!let->body) return true;
            term = let->body;
            continue;
        }
        return false;
    }
}

void Checker::infer_let(Term& term, term::Let& let, bool top) {
    const auto* variable = std::get_if<pat::Variable>(&let.pattern->node);
    auto* function = std::get_if<term::Function>(&let.value->node);
    ++level_;
    Type* type;
    if (let.kind == term::LetKind::recursive && function && variable) {
        const std::size_t mark = scope_.size();
        TypeNode* self = make_node(false);
        self->own = {fresh()};
        self->self = true;
        const Name name = let.path.empty() ? variable->name : let.path.back();
        locals_.try_emplace(name, nullptr);
        scope_.emplace_back(name, locals_[name]);
        locals_[name] = self;
        if (++depth_ > max_depth) fail(5, term.span, "This expression is nested too deeply.");
        type = let.value->type = infer_function(*let.value, *function, self);
        --depth_;
        leave(mark);
    } else {
        type = infer(let.value);
    }
    if (let.pattern->annotation) {
        Type* annotation = ascribed(let.pattern->annotation, let.pattern->span);
        require(let.value, annotation);
        type = annotation;
    }
    std::vector<Bound> bound;
    if (!variable) collect(let.pattern, type, bound);
    --level_;
    Scheme scheme{type};
    if (is_value(let.value))
        scheme = pool_.generalise(type, level_);
    else
        pool_.lower_levels(type, level_);
    if (!let.path.empty()) return bind_path(term, let, scheme, top, function);
    if (variable) {
        TypeNode* old = let.kind == term::LetKind::replaces ? lookup(variable->name) : nullptr;
        if (let.kind == term::LetKind::replaces && !old) lookup_or_fail(variable->name, let.pattern->span);
        TypeNode* node = make_node(top);
        node->own = scheme;
        node->name = variable->name;
        node->span = let.pattern->span;
        node->function = function;
        node->is_let = true;
        node->at_top = top;
        node->tell_unused = !old;
        if (old) {
            // The new value keeps the methods of the old one.
            node->fallback = old;
            std::vector<const TypeField*> fields;
            if (Type* before = env_.own(old).type) split_methods(before, fields);
            std::vector<TypeField> kept;
            for (const TypeField* f : fields) kept.push_back(*f);
            node->own.type = pool_.record(kept, node->own.type);
            node->library = old->library && !warns();  // told once
        }
        if (old && top) {
            tell_override(variable->name, node->span);
            TypeNode*& slot = env_.globals[variable->name];
            changes_.push_back({nullptr, variable->name, slot});
            slot = node;
        } else {
            bind(variable->name, node, top);
        }
        return;
    }
    for (const Bound& b : bound) {
        TypeNode* node = make_node(top);
        node->own = {b.type, scheme.quantified_count, scheme.quantified};
        node->name = b.name;
        node->span = b.span;
        node->is_let = true;
        node->at_top = top;
        node->tell_unused = true;
        bind(b.name, node, top);
    }
}

// `def a.b.c`: from here on the value a.b has a method c.
void Checker::bind_path(Term& term, term::Let& let, const Scheme& scheme, bool top, const term::Function* function) {
    const std::vector<Name>& path = let.path;
    TypeNode* root = lookup_or_fail(path[0], let.pattern->span);
    TypeNode* node = root;
    auto overlay = [&](TypeNode* old) {
        TypeNode* copy = make_node(false);
        copy->own = env_.own(old);
        copy->fallback = old;
        copy->function = old->function;
        copy->name = old->name;
        copy->span = old->span;
        return copy;
    };
    if (top && !locals_.contains(path[0])) {
        root->whole = {};
    } else {
        node = overlay(root);
        TypeNode*& slot = locals_[path[0]];
        scope_.emplace_back(path[0], slot);
        slot = node;
    }
    const bool in_place = node == root;
    auto put = [&](TypeNode* parent, Name name, TypeNode* value) {
        if (in_place) {
            TypeNode* old = nullptr;
            for (const auto& [known, entry] : parent->children)
                if (known == name) old = entry;
            changes_.push_back({parent, name, old});
        }
        env_.set_child(parent, name, value);
    };
    for (std::size_t i = 1; i < path.size(); ++i) {
        const bool last = i + 1 == path.size();
        TypeNode* old = env_.child(node, path[i]);
        const TypeField* field = nullptr;
        if (!old && env_.own(node).type) field = find_field(node->own.type, path[i]);
        if (last) {
            TypeNode* value = make_node(in_place);
            value->own = scheme;
            value->function = function;
            value->span = let.pattern->span;
            if (let.kind == term::LetKind::replaces) {
                std::vector<const TypeField*> fields;
                if (old && env_.own(old).type) split_methods(old->own.type, fields);
                if (field) split_methods(field->type, fields);
                std::vector<TypeField> kept;
                for (const TypeField* f : fields) kept.push_back(*f);
                value->own.type = pool_.record(kept, scheme.type);
                value->fallback = old;
            }
            put(node, path[i], value);
            return;
        }
        if (!old && !field) fail_method(nullptr, node, path[i], let.pattern->span);
        TypeNode* next;
        if (old && in_place) {
            next = old;
            next->whole = {};
        } else if (old) {
            next = overlay(old);
            put(node, path[i], next);
        } else {
            next = make_node(in_place);
            next->own = {field->type, field->quantified_count, field->quantified};
            put(node, path[i], next);
        }
        node = next;
    }
}

void Checker::collect(Pattern* pattern, Type* type, std::vector<Bound>& bound) {
    if (++depth_ > max_depth) fail(5, pattern->span, "This pattern is nested too deeply.");
    if (pattern->annotation) {
        Type* annotation = ascribed(pattern->annotation, pattern->span);
        if (!subtype(type, annotation, pattern->span)) fail_type(pattern->span);
        type = annotation;
    }
    if (auto* variable = std::get_if<pat::Variable>(&pattern->node)) {
        bound.push_back({variable->name, type, pattern->span});
    } else if (auto* tuple = std::get_if<pat::Tuple>(&pattern->node)) {
        Type* known = without_methods(type);
        std::vector<Type*> elements;
        if (known->kind == TypeKind::tuple && known->count == tuple->elements.size()) {
            elements.assign(known->elements, known->elements + known->count);
        } else {
            for (std::size_t i = 0; i < tuple->elements.size(); ++i) elements.push_back(fresh());
            if (!subtype(type, pool_.tuple(elements), pattern->span)) fail_type(pattern->span);
        }
        for (std::size_t i = 0; i < elements.size(); ++i) collect(tuple->elements[i], elements[i], bound);
    } else if (auto* list = std::get_if<pat::List>(&pattern->node)) {
        Type* known = without_methods(type);
        Type* element;
        if (known->kind == TypeKind::list) {
            element = known->inner;
        } else {
            element = fresh();
            if (!subtype(type, pool_.list(element), pattern->span)) fail_type(pattern->span);
        }
        for (Pattern* p : list->before) collect(p, element, bound);
        if (list->rest) collect(list->rest, pool_.list(element), bound);
        for (Pattern* p : list->after) collect(p, element, bound);
    } else if (auto* record = std::get_if<pat::Record>(&pattern->node)) {
        std::vector<Name> names;
        for (pat::Field& f : record->fields) {
            const bool optional = f.optional || f.default_value;
            Type* member = method_type(type, f.name, optional, f.pattern ? f.pattern->span : pattern->span);
            names.push_back(f.name);
            if (optional && deref(member)->kind == TypeKind::nullable) member = deref(member)->inner;
            if (optional && deref(member)->kind == TypeKind::never) member = fresh();
            if (f.default_value) {
                infer(f.default_value);
                Type* result = fresh();
                if (!subtype(member, result, pattern->span)) fail_type(pattern->span);
                require(f.default_value, result);
                member = result;
            } else if (optional) {
                member = pool_.nullable(member);
            }
            if (f.pattern)
                collect(f.pattern, member, bound);
            else
                bound.push_back({f.name, member, pattern->span});
        }
        if (record->base) collect(record->base, hide(type, names), bound);
    }
    --depth_;
}

// The type without some of its methods.
Type* Checker::hide(Type* type, const std::vector<Name>& names) {
    std::vector<const TypeField*> fields;
    Type* base = split_methods(type, fields);
    std::vector<TypeField> left;
    for (const TypeField* f : fields)
        if (std::find(names.begin(), names.end(), f->name) == names.end()) left.push_back(*f);
    if (base->kind == TypeKind::variable)
        for (Name name : names) left.push_back({name, pool_.never(), true});
    return pool_.record(left, base);
}

}  // namespace castile::lang
