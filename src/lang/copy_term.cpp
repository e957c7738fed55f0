// A deep copy of a term: %argsof gives a function the defaults of another.
#include "lang/checker.h"

namespace castile::lang {

namespace {

struct Copier {
    Arena& arena;

    void copy(Term*& t) { if (t) t = copy_term(arena, t); }
    void copy(Pattern*& p) {
        if (!p) return;
        p = arena.make<Pattern>(*p);
        if (auto* tuple = std::get_if<pat::Tuple>(&p->node))
            for (Pattern*& e : tuple->elements) copy(e);
        if (auto* list = std::get_if<pat::List>(&p->node)) {
            for (Pattern*& e : list->before) copy(e);
            copy(list->rest);
            for (Pattern*& e : list->after) copy(e);
        }
        if (auto* record = std::get_if<pat::Record>(&p->node)) {
            for (pat::Field& f : record->fields) {
                copy(f.pattern);
                copy(f.default_value);
            }
            copy(record->base);
        }
    }
    void arguments(std::vector<term::Argument>& all) { for (term::Argument& a : all) copy(a.value); }

    void operator()(term::Int&) {}
    void operator()(term::Float&) {}
    void operator()(term::String&) {}
    void operator()(term::Bool&) {}
    void operator()(term::Null&) {}
    void operator()(term::Variable&) {}
    void operator()(term::Tuple& t) { for (Term*& e : t.elements) copy(e); }
    void operator()(term::List& l) { for (term::ListItem& i : l.items) copy(i.value); }
    void operator()(term::Function& f) {
        for (term::Param& p : f.params) {
            copy(p.pattern);
            copy(p.default_value);
        }
        copy(f.body);
    }
    void operator()(term::Apply& a) { copy(a.function); arguments(a.arguments); }
    void operator()(term::Let& l) { copy(l.pattern); copy(l.value); copy(l.body); }
    void operator()(term::Decode& d) { arguments(d.options); copy(d.input); }
    void operator()(term::Sequence& s) { copy(s.first); copy(s.second); }
    void operator()(term::Methods& m) {
        copy(m.base);
        for (term::MethodValue& v : m.methods) copy(v.value);
        copy(m.spread);
    }
    void operator()(term::Invoke& i) { copy(i.base); copy(i.otherwise); }
    void operator()(term::Open& o) { copy(o.record); copy(o.body); }
    void operator()(term::Coalesce& c) { copy(c.value); copy(c.otherwise); }
    void operator()(term::And& a) { copy(a.left); copy(a.right); }
    void operator()(term::Or& o) { copy(o.left); copy(o.right); }
    void operator()(term::If& i) { copy(i.condition); copy(i.then); copy(i.otherwise); }
    void operator()(term::While& w) { copy(w.condition); copy(w.body); }
    void operator()(term::For& f) { copy(f.variable); copy(f.from); copy(f.to); copy(f.body); }
    void operator()(term::ForIn& f) { copy(f.variable); copy(f.iterator); copy(f.body); }
    void operator()(term::Try& t) { copy(t.body); copy(t.error); copy(t.errors); copy(t.handler); copy(t.finally); }
    void operator()(term::Ascribe& a) { copy(a.value); }
    void operator()(term::ToFloat& t) { copy(t.value); }
    void operator()(term::Encoder& e) {
        for (term::EncoderParam& p : e.params) {
            copy(p.value);
            copy(p.encoder);
        }
    }
};

}  // namespace

Term* copy_term(Arena& arena, const Term* term) {
    Term* result = arena.make<Term>(*term);
    std::visit(Copier{arena}, result->node);
    return result;
}

}  // namespace castile::lang
