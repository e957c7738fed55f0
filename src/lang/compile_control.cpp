// Blocks, branches, loops, errors caught.

#include "lang/compile.h"
#include "lang/diag.h"
#include "lang/eval.h"
#include "lang/globals.h"

namespace castile::lang {

namespace {

struct UnitCode final : Code {
    Value run(Frame&) const override { return Value(); }
};

/// A step of a block: gives ().
struct StoreLocal final : Code {
    StoreLocal(int s, const Code* v) : slot(s), value(v) {}
    Value run(Frame& frame) const override {
        frame.locals[slot] = value->run(frame);
        return Value();
    }
    const int slot;
    const Code* const value;
};

struct BindCode final : Code {
    BindCode(const Binder* b, const Code* v) : binder(b), value(v) {}
    Value run(Frame& frame) const override {
        binder->bind(value->run(frame), frame);
        return Value();
    }
    const Binder* const binder;
    const Code* const value;
};

struct Block final : Code {
    Block(std::vector<const Code*> s, const Code* r) : steps(std::move(s)), result(r) {}
    Value run(Frame& frame) const override {
        for (const Code* step : steps) step->run(frame);
        return result->run(frame);
    }
    const std::vector<const Code*> steps;
    const Code* const result;
};

struct Choice final : Code {
    Choice(const Code* c, const Code* t, const Code* o) : condition(c), then(t), otherwise(o) {}
    Value run(Frame& frame) const override { return (condition->test(frame) ? then : otherwise)->run(frame); }
    bool test(Frame& frame) const override { return (condition->test(frame) ? then : otherwise)->test(frame); }
    const Code *const condition, *const then, *const otherwise;
};

/// Both of `left` and `right`, or one of them: what decides it is `left` being `decisive`.
struct Shortcut final : Code {
    Shortcut(const Code* l, const Code* r, bool d) : left(l), right(r), decisive(d) {}
    Value run(Frame& frame) const override { return left->test(frame) == decisive ? Value::boolean(decisive) : right->run(frame); }
    bool test(Frame& frame) const override { return left->test(frame) == decisive ? decisive : right->test(frame); }
    const Code *const left, *const right;
    const bool decisive;
};

struct CoalesceCode final : Code {
    CoalesceCode(const Code* v, const Code* o) : value(v), otherwise(o) {}
    Value run(Frame& frame) const override {
        Value v = value->run(frame);
        return v.is_null() ? otherwise->run(frame) : v;
    }
    const Code *const value, *const otherwise;
};

struct WhileCode final : Code {
    WhileCode(const Code* c, const Code* b) : condition(c), body(b) {}
    Value run(Frame& frame) const override {
        while (condition->test(frame)) body->run(frame);
        return Value();
    }
    const Code *const condition, *const body;
};

struct ForCode final : Code {
    ForCode(const Binder* v, const Code* f, const Code* t, const Code* b) : variable(v), from(f), to(t), body(b) {}
    Value run(Frame& frame) const override {
        const std::int64_t first = from->run(frame).as_int(), last = to->run(frame).as_int();
        for (std::int64_t i = first; i <= last; ++i) {
            if (variable) variable->bind(Value::integer(i), frame);
            body->run(frame);
            if (i == last) break;   // the greatest integer has no next
        }
        return Value();
    }
    const Binder* const variable;
    const Code *const from, *const to, *const body;
};

struct ForInCode final : Code {
    ForInCode(const Binder* v, const Code* i, const Code* b, Span s) : variable(v), iterator(i), body(b), span(s) {}
    Value run(Frame& frame) const override {
        Value next = iterator->run(frame);
        for (;;) {
            Value item = ValueAccess::apply(next, {}, span);
            if (item.is_null()) return Value();
            if (variable) variable->bind(std::move(item), frame);
            body->run(frame);
        }
    }
    const Binder* const variable;
    const Code *const iterator, *const body;
    const Span span;
};

struct Catch final : Code {
    Catch(const Code* b, const Binder* e, const Code* k, const Code* h) : body(b), error(e), kinds(k), handler(h) {}
    Value run(Frame& frame) const override {
        Value caught;
        try {
            return body->run(frame);
        } catch (const RuntimeError& e) {
            caught = to_value(e);
            if (!handles(e, frame)) throw;
        } catch (const ScriptError& e) {
            // An encoder that cannot be made, sources that cannot meet: told with their place when nobody catches it.
            const int code = e.diagnostic().code;
            const bool clocks = code == 10 || code == 11 || code == 16 || code == 17;
            const RuntimeError refused(clocks ? "eval" : "encoder", e.diagnostic().message);
            caught = to_value(refused);
            if (!handles(refused, frame)) throw;
        }
        if (error) error->bind(std::move(caught), frame);
        return handler->run(frame);
    }
    bool handles(const RuntimeError& e, Frame& frame) const {
        if (!kinds) return true;
        Value wanted = kinds->run(frame);
        if (wanted.kind() != Value::Kind::list) return error_info(wanted).kind == e.kind();
        for (const Value& kind : wanted.elements())
            if (error_info(kind).kind == e.kind()) return true;
        return false;
    }
    const Code* const body;
    const Binder* const error;
    const Code *const kinds, *const handler;
};

struct Finally final : Code {
    Finally(const Code* b, const Code* l) : body(b), last(l) {}
    Value run(Frame& frame) const override {
        Value result;
        try {
            result = body->run(frame);
        } catch (const RuntimeError&) {
            last->run(frame);
            throw;
        } catch (const ScriptError&) {
            last->run(frame);
            throw;
        }
        last->run(frame);
        return result;
    }
    const Code *const body, *const last;
};

const Code* compile_let(Compiler& c, const term::Let& let) {
    const Code* value = c.compile(let.value);
    if (!let.pattern) return value;
    auto* variable = std::get_if<pat::Variable>(&let.pattern->node);
    if (variable && !variable->global && variable->slot >= 0) return c.make<StoreLocal>(variable->slot, value);
    const Binder* binder = c.binder(let.pattern);
    return binder ? c.make<BindCode>(binder, value) : value;
}

/// A chain of lets, sequences and opens, which may be as long as the program.
const Code* compile_chain(Compiler& c, const Term* t, bool last) {
    std::vector<const Code*> steps;
    while (t) {
        if (auto* let = std::get_if<term::Let>(&t->node)) {
            steps.push_back(compile_let(c, *let));
            t = let->body;
        } else if (auto* sequence = std::get_if<term::Sequence>(&t->node)) {
            steps.push_back(c.compile(sequence->first));
            t = sequence->second;
        } else if (auto* open = std::get_if<term::Open>(&t->node)) {
            const Code* record = c.compile(open->record);
            steps.push_back(open->slot >= 0 ? c.make<StoreLocal>(open->slot, record) : record);
            t = open->body;
        } else {
            break;
        }
    }
    return c.make<Block>(std::move(steps), t ? c.compile(t, last) : c.make<UnitCode>());
}

}  // namespace

const Code* compile_node(Compiler& c, const term::Let&, Place place) { return compile_chain(c, &place.term, place.last); }
const Code* compile_node(Compiler& c, const term::Sequence&, Place place) { return compile_chain(c, &place.term, place.last); }
const Code* compile_node(Compiler& c, const term::Open&, Place place) { return compile_chain(c, &place.term, place.last); }

const Code* compile_node(Compiler& c, const term::Coalesce& n, Place place) {
    return c.make<CoalesceCode>(c.compile(n.value), c.compile(n.otherwise, place.last));
}
const Code* compile_node(Compiler& c, const term::And& n, Place place) {
    return c.make<Shortcut>(c.compile(n.left), c.compile(n.right, place.last), false);
}
const Code* compile_node(Compiler& c, const term::Or& n, Place place) {
    return c.make<Shortcut>(c.compile(n.left), c.compile(n.right, place.last), true);
}
const Code* compile_node(Compiler& c, const term::If& n, Place place) {
    const Code* otherwise = n.otherwise ? c.compile(n.otherwise, place.last) : c.make<UnitCode>();
    return c.make<Choice>(c.compile(n.condition), c.compile(n.then, place.last), otherwise);
}
const Code* compile_node(Compiler& c, const term::While& n, Place) { return c.make<WhileCode>(c.compile(n.condition), c.compile(n.body)); }

const Code* compile_node(Compiler& c, const term::For& n, Place) {
    return c.make<ForCode>(c.binder(n.variable), c.compile(n.from), c.compile(n.to), c.compile(n.body));
}
const Code* compile_node(Compiler& c, const term::ForIn& n, Place place) {
    return c.make<ForInCode>(c.binder(n.variable), c.compile(n.iterator), c.compile(n.body), place.term.span);
}
const Code* compile_node(Compiler& c, const term::Try& n, Place place) {
    const bool last = place.last && !n.finally;
    const Code* code = n.handler ? c.make<Catch>(c.compile(n.body), c.binder(n.error), c.compile_optional(n.errors), c.compile(n.handler, last))
                                 : c.compile(n.body, last);
    return n.finally ? c.make<Finally>(code, c.compile(n.finally)) : code;
}

}  // namespace castile::lang
