#include "tools/names.h"

#include <cstddef>
#include <variant>

#include "lang/type.h"

namespace castile::tools {

namespace term = lang::term;
namespace pat = lang::pat;

using lang::Term;
using lang::Type;

namespace {

constexpr unsigned max_depth = 4000, max_type_nodes = 1500, max_type_depth = 100;

bool small(const Type* t, unsigned& left, unsigned depth) {
    if (t == nullptr) return true;
    t = lang::deref(t);
    if (left == 0 || depth > max_type_depth) return false;
    --left;
    if (t->kind != lang::TypeKind::variable && !small(t->inner, left, depth + 1)) return false;
    switch (t->kind) {
        case lang::TypeKind::tuple:
        case lang::TypeKind::constructor:
            for (const Type* e : t->element_span())
                if (!small(e, left, depth + 1)) return false;
            return true;
        case lang::TypeKind::record:
            for (const lang::TypeField& f : t->field_span())
                if (!small(f.type, left, depth + 1)) return false;
            return true;
        case lang::TypeKind::arrow:
            for (const lang::TypeParam& p : t->param_span())
                if (!small(p.type, left, depth + 1)) return false;
            return true;
        default: return true;
    }
}

const Type* below(const Type* t) { return t == nullptr ? nullptr : lang::without_methods(t); }

}  // namespace

std::string short_type(const Type* type) {
    unsigned left = max_type_nodes;
    return small(type, left, 0) ? lang::print_type(type) : "...";
}

const Local* NameWalk::find(Name name) const {
    for (auto it = scope_.rbegin(); it != scope_.rend(); ++it)
        if (it->name == name) return &*it;
    return nullptr;
}

const Local* NameWalk::find_extension(const std::string& dotted) const {
    const auto found = extensions_.find(dotted);
    return found == extensions_.end() ? nullptr : &found->second;
}

/// The script's own names stay in scope: what follows it at the prompt sees them.
void NameWalk::walk(const Term* t) { block(t); }

void NameWalk::bind(const lang::Pattern* p, const Type* type, const term::Doc* doc) {
    if (p == nullptr) return;
    if (const auto* v = std::get_if<pat::Variable>(&p->node)) {
        scope_.push_back({v->name, p->span, type, doc});
        bound(scope_.back());
    } else if (const auto* tuple = std::get_if<pat::Tuple>(&p->node)) {
        const Type* t = below(type);
        for (std::size_t i = 0; i < tuple->elements.size(); ++i) {
            const bool known = t != nullptr && t->kind == lang::TypeKind::tuple && i < t->count;
            bind(tuple->elements[i], known ? t->elements[i] : nullptr, nullptr);
        }
    } else if (const auto* list = std::get_if<pat::List>(&p->node)) {
        const Type* t = below(type);
        const Type* element = t != nullptr && t->kind == lang::TypeKind::list ? t->inner : nullptr;
        for (const lang::Pattern* e : list->before) bind(e, element, nullptr);
        bind(list->rest, type, nullptr);
        for (const lang::Pattern* e : list->after) bind(e, element, nullptr);
    } else if (const auto* record = std::get_if<pat::Record>(&p->node)) {
        for (const pat::Field& f : record->fields) {
            const lang::TypeField* field = type != nullptr ? lang::find_field(type, f.name) : nullptr;
            bind(f.pattern, field != nullptr ? field->type : nullptr, nullptr);
        }
        bind(record->base, nullptr, nullptr);
    }
}

/// The end of a block is followed by a loop: it may be as long as the program.
void NameWalk::block(const Term* t) {
    while (t != nullptr) {
        if (const auto* l = std::get_if<term::Let>(&t->node)) {
            let(*l);
            t = l->body;
        } else if (const auto* s = std::get_if<term::Sequence>(&t->node)) {
            const std::size_t outer = scope_.size();
            block(s->first);
            leave(outer);
            t = s->second;
        } else if (const auto* o = std::get_if<term::Open>(&t->node)) {
            const std::size_t outer = scope_.size();
            block(o->record);
            leave(outer);
            t = o->body;
        } else {
            if (++depth_ <= max_depth) node(*t);
            --depth_;
            return;
        }
    }
}

void NameWalk::let(const term::Let& l) {
    const std::size_t outer = scope_.size();
    const Type* type = l.value != nullptr ? l.value->type : nullptr;
    if (l.kind == term::LetKind::recursive) bind(l.pattern, type, l.doc);
    block(l.value);
    leave(outer);
    if (l.path.size() > 1) {
        std::string dotted;
        for (const Name part : l.path) dotted += (dotted.empty() ? "" : ".") + part.str();
        const Local local{l.path.back(), l.pattern->span, type, l.doc};
        extended(local, dotted);
        extensions_.insert_or_assign(dotted, local);
        return;
    }
    bind(l.pattern, type, l.doc);
}

void NameWalk::function(const Term& t, const term::Function& f) {
    const std::size_t outer = scope_.size();
    const Type* arrow = below(t.type);
    if (arrow != nullptr && (arrow->kind != lang::TypeKind::arrow || arrow->count != f.params.size())) arrow = nullptr;
    for (const term::Param& p : f.params) {
        const std::size_t inner = scope_.size();
        block(p.default_value);
        leave(inner);
    }
    for (std::size_t i = 0; i < f.params.size(); ++i) bind(f.params[i].pattern, arrow != nullptr ? arrow->params[i].type : nullptr, nullptr);
    block(f.body);
    leave(outer);
}

void NameWalk::node(const Term& t) {
    const std::size_t outer = scope_.size();
    const auto part = [&](const Term* inner) {
        block(inner);
        leave(outer);
    };
    if (const auto* v = std::get_if<term::Variable>(&t.node)) {
        used(t, v->name, find(v->name));
    } else if (const auto* tuple = std::get_if<term::Tuple>(&t.node)) {
        for (const Term* e : tuple->elements) part(e);
    } else if (const auto* list = std::get_if<term::List>(&t.node)) {
        for (const auto& item : list->items) part(item.value);
    } else if (const auto* f = std::get_if<term::Function>(&t.node)) {
        function(t, *f);
    } else if (const auto* a = std::get_if<term::Apply>(&t.node)) {
        call(*a);
        part(a->function);
        for (const term::Argument& argument : a->arguments) part(argument.value);
    } else if (const auto* d = std::get_if<term::Decode>(&t.node)) {
        for (const term::Argument& option : d->options) part(option.value);
        part(d->input);
    } else if (const auto* m = std::get_if<term::Methods>(&t.node)) {
        part(m->base);
        for (const term::MethodValue& method : m->methods) part(method.value);
        part(m->spread);
    } else if (const auto* invoke = std::get_if<term::Invoke>(&t.node)) {
        std::string dotted;
        const Term* base = invoke->base;
        while (const auto* inner = base != nullptr ? std::get_if<term::Invoke>(&base->node) : nullptr) {
            dotted = "." + inner->method.str() + dotted;
            base = inner->base;
        }
        const auto* root = base != nullptr ? std::get_if<term::Variable>(&base->node) : nullptr;
        const bool global = root != nullptr && find(root->name) == nullptr;
        dotted = global ? root->name.str() + dotted + "." + invoke->method.str() : "";
        member(t, *invoke, dotted);
        part(invoke->base);
        part(invoke->otherwise);
    } else if (const auto* c = std::get_if<term::Coalesce>(&t.node)) {
        part(c->value);
        part(c->otherwise);
    } else if (const auto* both = std::get_if<term::And>(&t.node)) {
        part(both->left);
        part(both->right);
    } else if (const auto* either = std::get_if<term::Or>(&t.node)) {
        part(either->left);
        part(either->right);
    } else if (const auto* i = std::get_if<term::If>(&t.node)) {
        part(i->condition);
        part(i->then);
        part(i->otherwise);
    } else if (const auto* w = std::get_if<term::While>(&t.node)) {
        part(w->condition);
        part(w->body);
    } else if (const auto* count = std::get_if<term::For>(&t.node)) {
        part(count->from);
        part(count->to);
        bind(count->variable, count->from->type, nullptr);
        block(count->body);
        leave(outer);
    } else if (const auto* each = std::get_if<term::ForIn>(&t.node)) {
        part(each->iterator);
        const Type* arrow = below(each->iterator->type);
        const Type* item = arrow != nullptr && arrow->kind == lang::TypeKind::arrow ? below(arrow->inner) : nullptr;
        if (item != nullptr && item->kind == lang::TypeKind::nullable) item = item->inner;
        bind(each->variable, item, nullptr);
        block(each->body);
        leave(outer);
    } else if (const auto* attempt = std::get_if<term::Try>(&t.node)) {
        part(attempt->body);
        part(attempt->errors);
        bind(attempt->error, nullptr, nullptr);
        block(attempt->handler);
        leave(outer);
        part(attempt->finally);
    } else if (const auto* ascribed = std::get_if<term::Ascribe>(&t.node)) {
        part(ascribed->value);
    } else if (const auto* cast = std::get_if<term::ToFloat>(&t.node)) {
        part(cast->value);
    } else if (const auto* e = std::get_if<term::Encoder>(&t.node)) {
        for (const term::EncoderParam& p : e->params) {
            part(p.value);
            part(p.encoder);
        }
    }
}

}  // namespace castile::tools
