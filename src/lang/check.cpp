// Scopes, variables and messages of the checker; the terms are in check_term.cpp, check_call.cpp and check_let.cpp.
#include "lang/check.h"

#include <algorithm>

#include "lang/checker.h"

namespace castile::lang {

namespace {

/// A type of a message: long ones are cut.
std::string brief(const Type* type) {
    std::string text = print_type(type);
    if (text.size() > 300) text = text.substr(0, 300) + "...";
    return text;
}

}  // namespace

Type* check(Arena& arena, TypeEnvironment& environment, Term* term, std::vector<Diagnostic>& warnings, CheckRole role) {
    return Checker(arena, environment.impl(), role, warnings).run(term);
}

CheckResult check(Arena& arena, TypeEnvironment& environment, Term* term, CheckRole role) {
    CheckResult result;
    result.type = check(arena, environment, term, result.warnings, role);
    return result;
}

Type* Checker::run(Term* term) {
    pool_.start_program();
    const auto in_order = [this] {
        std::stable_sort(warnings_.begin() + static_cast<std::ptrdiff_t>(first_warning_), warnings_.end(),
                         [](const Diagnostic& a, const Diagnostic& b) { return a.span.file == b.span.file && a.span.begin < b.span.begin; });
    };
    try {
        Type* type = infer_block(term, true);
        for (const TypeNode* node : top_) tell_unused(*node);
        for (TypeNode* node : top_) {
            node->tell_unused = false;
            node->library = node->library || role_ == CheckRole::library;
        }
        in_order();
        return type;
    } catch (const TypeTooComplex& error) {
        in_order();
        roll_back();
        fail(5, term->span, error.what());
    } catch (...) {
        in_order();
        roll_back();
        throw;
    }
}

void Checker::roll_back() {
    while (!changes_.empty()) {
        const Change& c = changes_.back();
        if (c.parent) {
            std::erase_if(c.parent->children, [&](const auto& entry) { return entry.first == c.name; });
            if (c.old) c.parent->children.emplace_back(c.name, c.old);
            c.parent->whole = {};
        } else if (c.old) {
            env_.globals[c.name] = c.old;
        } else {
            env_.globals.erase(c.name);
        }
        changes_.pop_back();
    }
    // Types of whole modules may have been made with what is gone.
    auto forget = [](auto&& self, TypeNode* node) -> void {
        node->whole = {};
        for (const auto& [name, below] : node->children) self(self, below);
    };
    for (const auto& [name, node] : env_.globals) forget(forget, node);
}

// --- variables

TypeNode* Checker::lookup(Name name) const {
    if (const auto at = locals_.find(name); at != locals_.end()) return at->second;
    const auto at = env_.globals.find(name);
    return at == env_.globals.end() ? nullptr : at->second;
}

TypeNode* Checker::lookup_or_fail(Name name, Span span) {
    if (TypeNode* node = lookup(name)) return node;
    std::vector<std::string> candidates;
    for (const auto& [known, node] : locals_) candidates.push_back(known.str());
    for (const auto& [known, node] : env_.globals) candidates.push_back(known.str());
    std::sort(candidates.begin(), candidates.end());
    std::string message = "Undefined variable " + name.str();
    if (const std::string near = nearest_name(name.view(), candidates); !near.empty()) message += ". Did you mean `" + near + "`?";
    fail(4, span, std::move(message));
}

void Checker::use(TypeNode* node, Span span) {
    for (TypeNode* n = node; n; n = n->fallback) n->used = true;
    if (node->deprecated && !node->deprecation_told && warns()) {
        node->deprecation_told = true;
        warn(5, span, "Deprecated: " + *node->deprecated);
    }
}

/// Warning 6, for arguments and local variables too: what follows in their scope may mean the library's variable.
void Checker::tell_override(Name name, Span span) {
    if (!warns() || name.view().starts_with('_') || locals_.contains(name)) return;
    const auto at = env_.globals.find(name);
    if (at != env_.globals.end() && at->second->library) warn(6, span, "Top-level variable " + name.str() + " is overridden!");
}

void Checker::bind(Name name, TypeNode* node, bool top) {
    tell_override(name, node->span);
    if (top) {
        TypeNode*& slot = env_.globals[name];
        changes_.push_back({nullptr, name, slot});
        slot = node;
        top_.push_back(node);
        return;
    }
    TypeNode*& slot = locals_[name];
    scope_.emplace_back(name, slot);
    slot = node;
}

TypeNode* Checker::bind_variable(Name name, Scheme scheme, Span span, bool top) {
    TypeNode* node = make_node(top);
    node->own = scheme;
    node->name = name;
    node->span = span;
    node->tell_unused = true;
    bind(name, node, top);
    return node;
}

void Checker::leave(std::size_t mark) {
    while (scope_.size() > mark) {
        const auto [name, hidden] = scope_.back();
        scope_.pop_back();
        const auto at = locals_.find(name);
        tell_unused(*at->second);
        if (hidden)
            at->second = hidden;
        else
            locals_.erase(at);
    }
}

void Checker::tell_unused(const TypeNode& node) {
    if (node.used || !node.tell_unused || !warns() || node.name.view().starts_with("_0_")) return;
    const Type* type = without_methods(node.own.type);
    if (node.is_let && (is_unit(type) || type->kind == TypeKind::variable)) return;
    if (node.at_top && type->kind == TypeKind::arrow) return;
    warn(4, node.span, "Unused variable " + node.name.str());
}

// --- messages

void Checker::warn(int code, Span span, std::string message) {
    Diagnostic d;
    d.severity = Severity::warning;
    d.code = code;
    d.span = span;
    d.message = std::move(message);
    warnings_.push_back(std::move(d));
}

void Checker::fail(int code, Span span, std::string message) const {
    Diagnostic d;
    d.code = code;
    d.span = span;
    d.message = std::move(message);
    throw ScriptError(std::move(d));
}

void Checker::fail_type(Span span) const {
    const Unifier::Mismatch& m = env_.unifier.mismatch();
    if (!m.missing_method.empty()) const_cast<Checker*>(this)->fail_method(m.without, nullptr, m.missing_method, span);
    Diagnostic d;
    d.code = 5;
    d.span = span;
    d.message = "this value has type\n  " + brief(m.given) + "\nbut it should be a subtype of\n  " + brief(m.expected);
    explain(d);
    throw ScriptError(std::move(d));
}

void Checker::fail_method(Type* base, TypeNode* module, Name method, Span span) {
    std::vector<std::string> candidates;
    if (module) {
        std::vector<std::pair<Name, TypeNode*>> children;
        env_.children_of(module, children);
        for (const auto& [name, node] : children) candidates.push_back(name.str());
        if (!base) base = env_.own(module).type;
    }
    if (base) {
        std::vector<const TypeField*> fields;
        const Type* below = split_methods(base, fields);
        for (const TypeField* f : fields) candidates.push_back(f->name.str());
        std::vector<Name> given;
        if (below->kind == TypeKind::constructor) env_.all_constructor_methods(below->name, given);
        for (Name name : given) candidates.push_back(name.str());
    }
    std::string message = "this value has no method `" + method.str() + "`";
    if (const std::string near = nearest_name(method.view(), candidates); !near.empty()) message += ". Did you mean `" + near + "`?";
    if (base) message += "\n  Its type is " + brief(base) + ".";
    fail(5, span, std::move(message));
}

// --- types of terms

bool Checker::subtype(Type* a, Type* b, Span span) {
    try {
        return env_.unifier.subtype(a, b);
    } catch (const TypeTooComplex& error) {
        fail(5, span, error.what());
    }
}

void Checker::require(Term*& term, Type* expected) {
    if (!subtype(term->type, expected, term->span)) fail_type(term->span);
    if (deref(term->type)->kind != TypeKind::integer) return;
    const Type* wanted = deref(expected);
    while (wanted->kind == TypeKind::nullable || wanted->kind == TypeKind::getter) wanted = deref(wanted->inner);
    if (wanted->kind != TypeKind::floating) return;
    Term* cast = arena_.make<Term>();
    cast->span = term->span;
    cast->node = term::ToFloat{term};
    cast->type = pool_.floating();
    term = cast;
}

Type* Checker::ascribed(const TypeExpr* annotation, Span span) {
    try {
        return env_.reader.annotation(*annotation, level_);
    } catch (const TypeTooComplex& error) {
        fail(5, span, error.what());
    }
}

}  // namespace castile::lang
