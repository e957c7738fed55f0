// The resolver.

#include "lang/resolve.h"

#include <algorithm>

#include "lang/decode.h"
#include "lang/diag.h"
#include "lang/objects.h"

namespace castile::lang {

namespace {

/// One function being resolved: what its activation holds and what it captures.
struct FunctionScope {
    FunctionScope* outer = nullptr;
    struct Binding { Name name; int slot; bool opened; };   // opened: the slot holds a record whose methods are in scope
    std::vector<Binding> bindings;                          // visible ones, innermost last
    std::vector<term::Capture> captures;
    int next = 0, most = 0;

    int add(Name name, bool opened = false) {
        int slot = next++;
        most = std::max(most, next);
        bindings.push_back({name, slot, opened});
        return slot;
    }
};

/// Where a name may be found: the records opened around it, innermost first, then a variable.
struct Reference { term::Scope scope; int slot; bool opened; };

class Resolver {
public:
    Resolver(Arena& arena, GlobalScope& globals) : arena_(arena), globals_(globals) {}

    Program run(Term* term) {
        FunctionScope top;
        scope_ = &top;
        spine(term);
        return {term, top.most, &arena_};
    }

private:
    using Scope = term::Scope;

    // --- the top level: definitions become globals; a long chain is followed without recursion

    void spine(Term* t) {
        while (t) {
            if (auto* let = std::get_if<term::Let>(&t->node)) {
                top_level_let(*let, t->span);
                t = let->body;
            } else if (auto* sequence = std::get_if<term::Sequence>(&t->node)) {
                resolve(sequence->first);
                t = sequence->second;
            } else if (auto* open = std::get_if<term::Open>(&t->node)) {
                if (GlobalNode* module = module_of(open->record)) {
                    for (const auto& [name, node] : std::map(module->members)) globals_.alias(name, node);
                    open->record = arena_.make<Term>(Term{open->record->span, term::Tuple{}});
                } else {
                    resolve(open->record);
                    open->slot = scope_->add(Name(), true);   // stays open to the end of the program
                }
                t = open->body;
            } else {
                resolve(t);
                return;
            }
        }
    }

    void top_level_let(term::Let& let, Span span) {
        if (let.path.size() > 1) return top_level_path(let, span);
        Name single = let.path.empty() ? Name() : let.path[0];
        auto* variable = let.pattern ? std::get_if<pat::Variable>(&let.pattern->node) : nullptr;
        if (variable) single = variable->name;
        if (single.empty()) {
            resolve(let.value);
            if (let.pattern) bind(let.pattern, true);
            return;
        }
        if (!variable) let.pattern = arena_.make<Pattern>(Pattern{span, pat::Variable{single}});
        auto& target = std::get<pat::Variable>(let.pattern->node);
        target.global = true;
        if (let.kind == term::LetKind::recursive) {
            bind_global(target, is_unit(let.value));
            resolve(let.value);
            return;
        }
        if (let.kind == term::LetKind::replaces) {
            let.value = keeping_methods(let.value, variable_term(single, span));
            resolve(let.value);
            GlobalNode* node = globals_.find(single);
            auto members = node ? node->members : decltype(node->members){};
            bool module = node && node->module;
            bind_global(target, module);
            globals_.find(single)->members = std::move(members);
            return;
        }
        bool module = is_unit(let.value);
        resolve(let.value);
        bind_global(target, module);
    }

    void bind_global(pat::Variable& target, bool module) {
        target.slot = new_global_slot();
        target.global = true;
        GlobalNode& node = globals_.bind(target.name);
        node.slot = target.slot;
        node.module = module;
    }

    /// def a.b.c(...): a member of module a.b, or a method of the value of a.
    void top_level_path(term::Let& let, Span span) {
        GlobalNode* node = lookup_local(let.path[0]).empty() ? globals_.find(let.path[0]) : nullptr;
        for (std::size_t i = 1; node && i + 1 < let.path.size(); ++i) {
            if (node->module && !node->member(let.path[i])) {   // (let a.b.c with a new a.b)
                node = nullptr;
                break;
            }
            node = node->member(let.path[i]);
        }
        if (!node || !node->module) {
            rewrite_path(let, span);
            return top_level_let(let, span);
        }
        Name last = let.path.back();
        pat::Variable target{last, -1, true};
        auto fresh = std::make_shared<GlobalNode>();
        if (let.kind == term::LetKind::replaces) {
            if (GlobalNode* old = node->member(last)) {
                fresh->members = old->members;
                fresh->module = old->module;
            }
            let.value = keeping_methods(let.value, path_term(let.path, let.path.size(), span));
        }
        if (is_unit(let.value)) fresh->module = true;
        fresh->slot = target.slot = new_global_slot();
        if (let.kind == term::LetKind::recursive) node->members[last] = fresh;
        resolve(let.value);
        node->members[last] = fresh;
        let.pattern = arena_.make<Pattern>(Pattern{span, target});
        let.path.clear();
    }

    // --- terms

    void resolve(Term*& t, bool callee = false) {
        check_stack();
        while (t) {
            if (std::holds_alternative<term::Let>(t->node)) {
                local_block(t);
                return;
            }
            if (auto* sequence = std::get_if<term::Sequence>(&t->node)) {
                resolve(sequence->first);
                if (std::holds_alternative<term::Sequence>(sequence->second->node)) {
                    follow_sequence(*sequence);
                    return;
                }
                resolve(sequence->second);
                return;
            }
            std::visit([&](auto& node) { visit(t, node, callee); }, t->node);
            return;
        }
    }

    void follow_sequence(term::Sequence& first) {
        term::Sequence* s = &first;
        while (auto* next = std::get_if<term::Sequence>(&s->second->node)) {
            resolve(next->first);
            s = next;
        }
        resolve(s->second);
    }

    /// A chain of lets (and sequences between them), without recursion along it.
    void local_block(Term* t) {
        std::size_t visible = scope_->bindings.size();
        int next = scope_->next;
        for (;;) {
            if (auto* let = std::get_if<term::Let>(&t->node)) {
                local_let(*let, t->span);
                if (!let->body) break;
                if (!chained(let->body)) {
                    resolve(let->body);
                    break;
                }
                t = let->body;
            } else {
                auto& sequence = std::get<term::Sequence>(t->node);
                resolve(sequence.first);
                if (!chained(sequence.second)) {
                    resolve(sequence.second);
                    break;
                }
                t = sequence.second;
            }
        }
        scope_->bindings.resize(visible);
        scope_->next = next;
    }

    static bool chained(const Term* t) {
        return std::holds_alternative<term::Let>(t->node) || std::holds_alternative<term::Sequence>(t->node);
    }

    void local_let(term::Let& let, Span span) {
        if (let.path.size() > 1) rewrite_path(let, span);
        if (let.path.size() == 1 && !let.pattern) let.pattern = arena_.make<Pattern>(Pattern{span, pat::Variable{let.path[0]}});
        auto* variable = let.pattern ? std::get_if<pat::Variable>(&let.pattern->node) : nullptr;
        if (let.kind == term::LetKind::replaces && variable) let.value = keeping_methods(let.value, variable_term(variable->name, span));
        if (let.kind == term::LetKind::recursive && variable) {
            Term* value = let.value;
            while (auto* ascribe = std::get_if<term::Ascribe>(&value->node)) value = ascribe->value;
            if (auto* function = std::get_if<term::Function>(&value->node)) self_name_ = {function, variable->name};
        }
        resolve(let.value);
        if (let.pattern) bind(let.pattern, false);
    }

    template <class T> void visit(Term*&, T&, bool) {}   // constants

    void visit(Term*& t, term::String& s, bool) {
        Value constant = Value::string(std::move(s.value));
        t->node = term::Variable{Name(), Scope::global, new_global_slot(std::move(constant))};
    }
    void visit(Term*& t, term::Variable& v, bool callee) {
        if (v.scope == Scope::unresolved) variable(t, v.name, callee);
    }
    void visit(Term*&, term::Tuple& n, bool) { for (Term*& e : n.elements) resolve(e); }
    void visit(Term*&, term::List& n, bool) { for (term::ListItem& i : n.items) resolve(i.value); }
    void visit(Term*&, term::Function& f, bool) { function(f); }
    void visit(Term*&, term::Apply& n, bool) {
        resolve(n.function, true);
        for (term::Argument& a : n.arguments)
            if (a.value) resolve(a.value);
    }
    void visit(Term*&, term::Let&, bool) {}
    void visit(Term*&, term::Sequence&, bool) {}
    void visit(Term*& t, term::Decode& n, bool) {
        for (term::Argument& a : n.options) resolve(a.value);
        resolve(n.input);
        n.shape = arena_.make<Shape>(shape_of(t->type));
    }
    void visit(Term*&, term::Methods& n, bool) {
        if (n.base) resolve(n.base);
        for (term::MethodValue& m : n.methods) resolve(m.value);
        if (n.spread) resolve(n.spread);
    }
    void visit(Term*& t, term::Invoke& n, bool callee) {
        std::size_t depth = 0;
        if (GlobalNode* node = longest_module_path(t, depth)) {
            if (depth == 0) return value_of(t, *node, callee);
            // The rest of the chain are methods of the value found.
            Term** base = &t;
            for (std::size_t i = 0; i < depth; ++i) {
                auto& invoke = std::get<term::Invoke>((*base)->node);
                if (invoke.otherwise) resolve(invoke.otherwise);
                base = &invoke.base;
            }
            return value_of(*base, *node, node->has_value() && !invoked_optionally_);
        }
        if (n.base) resolve(n.base);
        if (n.otherwise) resolve(n.otherwise);
    }
    void visit(Term*&, term::Open& n, bool) {
        std::size_t visible = scope_->bindings.size();
        int next = scope_->next;
        resolve(n.record);
        n.slot = scope_->add(Name(), true);
        resolve(n.body);
        scope_->bindings.resize(visible);
        scope_->next = next;
    }
    void visit(Term*&, term::Coalesce& n, bool) { resolve(n.value), resolve(n.otherwise); }
    void visit(Term*&, term::And& n, bool) { resolve(n.left), resolve(n.right); }
    void visit(Term*&, term::Or& n, bool) { resolve(n.left), resolve(n.right); }
    void visit(Term*&, term::If& n, bool) { resolve(n.condition), resolve(n.then), resolve(n.otherwise); }
    void visit(Term*&, term::While& n, bool) { resolve(n.condition), resolve(n.body); }
    void visit(Term*&, term::For& n, bool) {
        resolve(n.from), resolve(n.to);
        scoped(n.variable, n.body);
    }
    void visit(Term*&, term::ForIn& n, bool) {
        resolve(n.iterator);
        // The iterator keeps a slot of its own beside the variable's.
        scoped(n.variable, n.body);
    }
    void visit(Term*&, term::Try& n, bool) {
        resolve(n.body);
        if (n.errors) resolve(n.errors);
        if (n.handler) scoped(n.error, n.handler);
        if (n.finally) resolve(n.finally);
    }
    void visit(Term*&, term::Ascribe& n, bool) { resolve(n.value); }
    void visit(Term*&, term::ToFloat& n, bool) { resolve(n.value); }
    void visit(Term*&, term::Encoder& n, bool) {
        for (term::EncoderParam& p : n.params) {
            if (p.value) resolve(p.value);
            if (p.encoder) resolve(p.encoder);
        }
    }

    void scoped(Pattern* pattern, Term*& body) {
        std::size_t visible = scope_->bindings.size();
        int next = scope_->next;
        if (pattern) bind(pattern, false);
        resolve(body);
        scope_->bindings.resize(visible);
        scope_->next = next;
    }

    void function(term::Function& f) {
        for (term::Param& p : f.params)
            if (p.default_value) resolve(p.default_value);
        FunctionScope inner;
        inner.outer = scope_;
        inner.next = inner.most = static_cast<int>(f.params.size());
        Name self = self_name_.first == &f ? self_name_.second : Name();
        self_name_ = {};
        scope_ = &inner;
        if (!self.empty()) f.self_slot = inner.add(self);
        for (std::size_t i = 0; i < f.params.size(); ++i) {
            Pattern* pattern = f.params[i].pattern;
            if (!pattern) continue;
            if (auto* v = std::get_if<pat::Variable>(&pattern->node)) {
                v->slot = static_cast<int>(i);
                inner.bindings.push_back({v->name, v->slot, false});
            } else {
                bind(pattern, false);
            }
        }
        resolve(f.body);
        scope_ = inner.outer;
        f.captures = std::move(inner.captures);
        f.locals = inner.most;
    }

    void bind(Pattern* pattern, bool global) {
        check_stack();
        if (!pattern) return;
        if (auto* v = std::get_if<pat::Variable>(&pattern->node)) {
            if (global) bind_global(*v, false);
            else v->slot = scope_->add(v->name);
        } else if (auto* tuple = std::get_if<pat::Tuple>(&pattern->node)) {
            for (Pattern* p : tuple->elements) bind(p, global);
        } else if (auto* list = std::get_if<pat::List>(&pattern->node)) {
            for (Pattern* p : list->before) bind(p, global);
            bind(list->rest, global);
            for (Pattern* p : list->after) bind(p, global);
        } else if (auto* record = std::get_if<pat::Record>(&pattern->node)) {
            for (pat::Field& f : record->fields)
                if (f.default_value) resolve(f.default_value);
            bind(record->base, global);
            for (pat::Field& f : record->fields) bind(f.pattern, global);
        }
    }

    // --- names

    std::vector<Reference> lookup_local(Name name) { return lookup_in(*scope_, name); }

    /// Empty: no local of that name and no opened record around.
    std::vector<Reference> lookup_in(FunctionScope& scope, Name name) {
        std::vector<Reference> found;
        for (auto it = scope.bindings.rbegin(); it != scope.bindings.rend(); ++it) {
            if (it->opened) found.push_back({Scope::local, it->slot, true});
            else if (it->name == name) {
                found.push_back({Scope::local, it->slot, false});
                return found;
            }
        }
        if (!scope.outer) return found;
        for (const Reference& r : lookup_in(*scope.outer, name)) {
            auto same = [&](const term::Capture& c) { return c.scope == r.scope && c.slot == r.slot; };
            auto it = std::ranges::find_if(scope.captures, same);
            int index = static_cast<int>(it - scope.captures.begin());
            if (it == scope.captures.end()) scope.captures.push_back({r.opened ? Name() : name, r.scope, r.slot});
            found.push_back({Scope::captured, index, r.opened});
        }
        return found;
    }

    void variable(Term*& t, Name name, bool callee) {
        std::vector<Reference> found = lookup_local(name);
        Span span = t->span;
        Term* otherwise = nullptr;
        if (!found.empty() && !found.back().opened) {
            Reference last = found.back();
            found.pop_back();
            otherwise = t;
            t->node = term::Variable{name, last.scope, last.slot};
        } else if (GlobalNode* node = globals_.find(name)) {
            otherwise = t;
            value_of(otherwise, *node, callee);
        } else if (found.empty()) {
            throw ScriptError(Diagnostic{Severity::error, 4, span, "Undefined variable " + name.str()});
        }
        for (auto it = found.rbegin(); it != found.rend(); ++it) {
            Term* record = arena_.make<Term>(Term{span, term::Variable{Name(), it->scope, it->slot}});
            otherwise = arena_.make<Term>(Term{span, term::Invoke{record, name, false, otherwise}, t->type});
        }
        t = otherwise;
    }

    /// The innermost module value that a chain of invokes on a global starts with; `rest`: invokes left over.
    GlobalNode* longest_module_path(Term* t, std::size_t& rest) {
        invoked_optionally_ = false;
        std::vector<term::Invoke*> chain;
        while (auto* invoke = std::get_if<term::Invoke>(&t->node)) {
            if (!invoke->base) return nullptr;
            chain.push_back(invoke);
            t = invoke->base;
        }
        auto* v = std::get_if<term::Variable>(&t->node);
        if (!v || v->scope != Scope::unresolved || !lookup_local(v->name).empty()) return nullptr;
        GlobalNode* node = globals_.find(v->name);
        if (!node) return nullptr;
        rest = chain.size();
        while (rest > 0) {
            term::Invoke* invoke = chain[rest - 1];
            GlobalNode* member = node->member(invoke->method);
            if (!member || invoke->otherwise) {
                invoked_optionally_ = invoke->optional || invoke->otherwise;
                break;
            }
            node = member;
            --rest;
        }
        return node;
    }

    GlobalNode* module_of(Term* t) {
        std::size_t rest = 0;
        GlobalNode* node = nullptr;
        if (auto* v = std::get_if<term::Variable>(&t->node))
            node = v->scope == Scope::unresolved && lookup_local(v->name).empty() ? globals_.find(v->name) : nullptr;
        else if (std::holds_alternative<term::Invoke>(t->node))
            node = longest_module_path(t, rest);
        return node && rest == 0 && node->module && !node->members.empty() ? node : nullptr;
    }

    /// Turns `t` into the value of a global: only the function when it is called, else with its members as methods.
    void value_of(Term*& t, GlobalNode& node, bool callee) {
        if (node.members.empty() || (callee && node.has_value())) {
            t->node = term::Variable{Name(), Scope::global, node.value_slot()};
            return;
        }
        term::Methods record{nullptr, {}};
        if (node.has_value()) record.base = arena_.make<Term>(Term{t->span, term::Variable{Name(), Scope::global, node.value_slot()}});
        for (const auto& [name, member] : node.members) {
            Term* value = arena_.make<Term>(Term{Span{}, term::Null{}});
            value_of(value, *member, false);
            record.methods.push_back({name, value});
        }
        t->node = std::move(record);
    }

    // --- rewriting

    Term* variable_term(Name name, Span span) { return arena_.make<Term>(Term{span, term::Variable{name}}); }

    Term* path_term(const std::vector<Name>& path, std::size_t length, Span span) {
        Term* t = variable_term(path[0], span);
        for (std::size_t i = 1; i < length; ++i) t = arena_.make<Term>(Term{span, term::Invoke{t, path[i]}});
        return t;
    }

    /// `let replaces`: the new value with the methods that the old one has.
    Term* keeping_methods(Term* value, Term* old) { return arena_.make<Term>(Term{value->span, term::Methods{value, {}, old}, value->type}); }

    /// let a.b.c = v: let a = a.{b = a.b.{c = v}}
    void rewrite_path(term::Let& let, Span span) {
        Term* value = let.value;
        if (let.kind == term::LetKind::replaces) value = keeping_methods(value, path_term(let.path, let.path.size(), span));
        for (std::size_t i = let.path.size() - 1; i > 0; --i) {
            term::Methods extended{path_term(let.path, i, span), {{let.path[i], value}}};
            value = arena_.make<Term>(Term{let.value->span, std::move(extended)});
        }
        let.value = value;
        let.kind = term::LetKind::plain;
        let.pattern = arena_.make<Pattern>(Pattern{span, pat::Variable{let.path[0]}});
        let.path.clear();
    }

    static bool is_unit(const Term* t) {
        auto* tuple = std::get_if<term::Tuple>(&t->node);
        return tuple && tuple->elements.empty();
    }

    Arena& arena_;
    GlobalScope& globals_;
    FunctionScope* scope_ = nullptr;
    std::pair<const term::Function*, Name> self_name_;   // the function about to be resolved is recursive under this name
    bool invoked_optionally_ = false;
};

}  // namespace

Program resolve(Arena& arena, GlobalScope& scope, Term* term) {
    return Resolver(arena, scope).run(term);
}

}  // namespace castile::lang
