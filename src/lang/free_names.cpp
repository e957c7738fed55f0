// Collects names by walking a term.

#include "lang/free_names.h"

namespace castile::lang {

namespace {

struct Collector {
    std::set<std::string>& names;
    const Term* called_ = nullptr;   // the function of the innermost application

    void walk(const Term* t) {
        while (t) {
            // The three that chain are followed without recursion.
            if (auto* let = std::get_if<term::Let>(&t->node)) {
                if (let->path.size() > 1) path(let->path);
                pattern(let->pattern);
                walk(let->value);
                t = let->body;
            } else if (auto* s = std::get_if<term::Sequence>(&t->node)) {
                walk(s->first);
                t = s->second;
            } else if (auto* o = std::get_if<term::Open>(&t->node)) {
                walk(o->record);
                t = o->body;
            } else {
                std::visit(*this, t->node);
                return;
            }
        }
    }

    void path(const std::vector<Name>& parts) {
        std::string dotted;
        for (Name part : parts) dotted += (dotted.empty() ? "" : ".") + part.str();
        names.insert(std::move(dotted));
    }

    void pattern(const Pattern* p) {
        if (!p) return;
        if (auto* tuple = std::get_if<pat::Tuple>(&p->node)) {
            for (const Pattern* e : tuple->elements) pattern(e);
        } else if (auto* list = std::get_if<pat::List>(&p->node)) {
            for (const Pattern* e : list->before) pattern(e);
            for (const Pattern* e : list->after) pattern(e);
        } else if (auto* record = std::get_if<pat::Record>(&p->node)) {
            for (const pat::Field& f : record->fields) {
                walk(f.default_value);
                pattern(f.pattern);
            }
        }
    }

    template <class T> void operator()(const T&) {}   // constants
    void operator()(const term::Variable& n) {
        auto* called = called_ ? std::get_if<term::Variable>(&called_->node) : nullptr;
        names.insert(n.name.str() + (called == &n ? "()" : ""));
    }
    void operator()(const term::Tuple& n) { for (const Term* e : n.elements) walk(e); }
    void operator()(const term::List& n) { for (const auto& i : n.items) walk(i.value); }
    void operator()(const term::Function& n) {
        for (const term::Param& p : n.params) {
            walk(p.default_value);
            pattern(p.pattern);
        }
        for (const term::Argsof& a : n.argsof) names.insert(a.function.str());
        walk(n.body);
    }
    void operator()(const term::Apply& n) {
        called_ = n.function;
        walk(n.function);
        for (const term::Argument& a : n.arguments) {
            if (!a.spread_argsof.empty()) names.insert(a.spread_argsof.str());
            walk(a.value);
        }
    }
    void operator()(const term::Let&) {}
    void operator()(const term::Sequence&) {}
    void operator()(const term::Open&) {}
    void operator()(const term::Decode& n) {
        for (const term::Argument& a : n.options) walk(a.value);
        walk(n.input);
    }
    void operator()(const term::Methods& n) {
        walk(n.base);
        for (const auto& m : n.methods) walk(m.value);
        walk(n.spread);
    }
    void operator()(const term::Invoke& n) {
        std::vector<const term::Invoke*> chain{&n};
        walk(n.otherwise);
        const Term* base = n.base;
        while (base) {
            auto* inner = std::get_if<term::Invoke>(&base->node);
            if (!inner) break;
            walk(inner->otherwise);
            chain.push_back(inner);
            base = inner->base;
        }
        auto* v = base ? std::get_if<term::Variable>(&base->node) : nullptr;
        if (!v) return walk(base);
        std::string dotted = v->name.str();
        for (auto it = chain.rbegin(); it != chain.rend(); ++it) dotted += "." + (*it)->method.str();
        auto* called = called_ ? std::get_if<term::Invoke>(&called_->node) : nullptr;
        names.insert(dotted + (called == &n ? "()" : ""));
    }
    void operator()(const term::Coalesce& n) { walk(n.value), walk(n.otherwise); }
    void operator()(const term::And& n) { walk(n.left), walk(n.right); }
    void operator()(const term::Or& n) { walk(n.left), walk(n.right); }
    void operator()(const term::If& n) { walk(n.condition), walk(n.then), walk(n.otherwise); }
    void operator()(const term::While& n) { walk(n.condition), walk(n.body); }
    void operator()(const term::For& n) { pattern(n.variable), walk(n.from), walk(n.to), walk(n.body); }
    void operator()(const term::ForIn& n) { pattern(n.variable), walk(n.iterator), walk(n.body); }
    void operator()(const term::Try& n) { pattern(n.error), walk(n.body), walk(n.errors), walk(n.handler), walk(n.finally); }
    void operator()(const term::Ascribe& n) { walk(n.value); }
    void operator()(const term::ToFloat& n) { walk(n.value); }
    void operator()(const term::Encoder& n) {
        for (const auto& p : n.params) walk(p.value), walk(p.encoder);
    }
};

}  // namespace

void collect_names(const Term* term, std::set<std::string>& names) { Collector{names}.walk(term); }

}  // namespace castile::lang
