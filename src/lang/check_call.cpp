// Functions, calls, methods and %argsof.
#include <algorithm>
#include <string>

#include "lang/builtin_table.h"
#include "lang/checker.h"
#include "lang/old_arguments.h"
#include "lang/parse.h"

namespace castile::lang {

Type* Checker::infer_function(Term& term, term::Function& function, TypeNode* self) {
    constexpr std::size_t most_params = 5000;   // they are compared with each other
    if (function.params.size() > most_params) fail(6, term.span, "A function has at most " + std::to_string(most_params) + " parameters.");
    std::vector<Type*> known;
    if (!function.argsof.empty()) expand_argsof(term.span, function, known);
    known.resize(function.params.size(), nullptr);
    const std::size_t mark = scope_.size();
    std::vector<TypeParam> params;
    std::vector<Bound> bound;
    for (std::size_t i = 0; i < function.params.size(); ++i) {
        term::Param& p = function.params[i];
        for (std::size_t j = 0; j < i && !p.label.empty(); ++j)
            if (function.params[j].label == p.label)
                fail(6, p.pattern ? p.pattern->span : term.span,
                     "Function has multiple arguments with the same label: " + p.label.str());
        Type* type = known[i] ? known[i] : p.annotation ? ascribed(p.annotation, term.span) : fresh();
        if (p.default_value) {
            infer(p.default_value);
            require(p.default_value, type);
        }
        const bool optional = p.optional || p.default_value;
        params.push_back({p.label, type, optional});
        if (p.pattern) collect(p.pattern, type, bound);
    }
    for (const Bound& b : bound) bind_variable(b.name, {b.type}, b.span, false);
    Type* result = function.result ? ascribed(function.result, term.span) : nullptr;
    if (self) {
        if (!result) result = fresh();
        self->own = {pool_.arrow(params, result)};
    }
    Type* body = infer(function.body);
    if (result)
        require(function.body, result);
    else
        result = body;
    leave(mark);
    return pool_.arrow(params, result);
}

// --- calls

/// A recursive function may be called from its own body with a record in which a field that it wants is optional: what a
/// branch without `else` gives. Liquidsoap compares no more there.
bool Checker::may_lack_a_field(const Term* value, Type* wanted) {
    if (subtype(value->type, wanted, value->span)) return false;
    const Unifier::Mismatch& m = env_.unifier.mismatch();
    return m.missing_method.empty() && m.inner_given->kind == TypeKind::ellipsis && m.inner_expected->kind == TypeKind::ellipsis;
}

Type* Checker::on(Term& term, term::Apply& apply) {
    Type* function = infer(apply.function);
    expand_arguments(term.span, apply);
    for (term::Argument& a : apply.arguments) infer(a.value);
    mend_old_arguments(apply);
    Type* below = without_methods(function);
    if (below->kind != TypeKind::arrow) {
        std::vector<TypeParam> params;
        for (const term::Argument& a : apply.arguments) params.push_back({a.label, a.value->type, false});
        Type* result = fresh();
        if (!subtype(function, pool_.arrow(params, result), apply.function->span)) fail_type(apply.function->span);
        return result;
    }
    const auto* variable = std::get_if<term::Variable>(&apply.function->node);
    const TypeNode* node = variable ? lookup(variable->name) : nullptr;
    const bool self = node && node->self;
    std::vector<bool> given(below->count);
    for (term::Argument& a : apply.arguments) {
        std::uint32_t i = 0;
        while (i < below->count && (given[i] || below->params[i].label != a.label)) ++i;
        if (i == below->count) {
            bool once = false;
            std::vector<std::string> labels;
            for (std::uint32_t j = 0; j < below->count; ++j) {
                once = once || below->params[j].label == a.label;
                if (!given[j] && !below->params[j].label.empty()) labels.push_back(below->params[j].label.str());
            }
            std::string message = std::string("Cannot apply that parameter because the function has ") + (once ? "no more " : "no ") +
                                  (a.label.empty() ? "unlabeled argument" : "argument labeled \"" + a.label.str() + "\"") + "!";
            const std::string near = a.label.empty() ? "" : nearest_name(a.label.view(), labels);
            if (!near.empty()) message += " Did you mean `" + near + "`?";
            fail(6, a.value->span, std::move(message));
        }
        given[i] = true;
        std::uint32_t position = 0;
        for (std::uint32_t j = 0; j <= i && a.label.empty(); ++j) position += below->params[j].label.empty();
        passed_ = {apply.function, a.value, a.label, position, a.value->span};
        if (self && may_lack_a_field(a.value, below->params[i].type)) continue;
        require(a.value, below->params[i].type);
    }
    passed_ = {};
    std::string missing;
    for (std::uint32_t i = 0; i < below->count; ++i) {
        const TypeParam& p = below->params[i];
        if (given[i] || p.optional) continue;
        missing += (missing.empty() ? "" : ", ") + (p.label.empty() ? "" : p.label.str() + " : ") + print_type(p.type);
    }
    if (!missing.empty()) fail(15, term.span, "Missing arguments in function application: " + missing + ".");
    return below->inner;
}

/// Old arguments of builtins: their declaration says what to write instead.
void Checker::mend_old_arguments(term::Apply& apply) {
    std::vector<term::Argument*> unlabeled;
    for (term::Argument& a : apply.arguments)
        if (a.label.empty()) unlabeled.push_back(&a);
    const bool function_first = unlabeled.size() == 2 && without_methods(unlabeled[0]->value->type)->kind == TypeKind::arrow &&
                                without_methods(unlabeled[1]->value->type)->kind != TypeKind::arrow;
    if (!warns() || (unlabeled.size() == apply.arguments.size() && !function_first)) return;
    const std::string function = dotted_path(apply.function);
    if (function.empty() || locals_.contains(split_dotted(function)[0])) return;
    const TypeNode* node = env_.find(function);
    if (!node || node->text.empty()) return;   // a definition of the script's own
    const std::string* order = function_first ? old_argument(function, "") : nullptr;
    if (order) {
        warn(5, unlabeled[0]->value->span, "Deprecated: the order of the arguments of `" + function + "`: " + *order);
        std::swap(*unlabeled[0], *unlabeled[1]);
    }
    for (const term::Argument& a : apply.arguments) {
        const std::string* advice = a.label.empty() ? nullptr : old_argument(function, a.label.view());
        if (advice && env_.old_arguments_told.insert(function + "." + a.label.str()).second)
            warn(5, a.value->span, "Deprecated: the argument `" + a.label.str() + "` of `" + function + "`: " + *advice);
    }
}

// --- methods

/// The node of x, x.m, x.m.n, as far as it is a path of variables; nullptr when it is not.
TypeNode* Checker::path_node(Term* term) {
    if (auto* variable = std::get_if<term::Variable>(&term->node)) {
        TypeNode* node = lookup_or_fail(variable->name, term->span);
        term->type = pool_.unit();
        return node;
    }
    auto* invoke = std::get_if<term::Invoke>(&term->node);
    if (!invoke || invoke->optional || invoke->otherwise) return nullptr;
    TypeNode* base = path_node(invoke->base);
    if (!base) return nullptr;
    TypeNode* node = env_.child(base, invoke->method);
    if (node) {
        use(base, invoke->base->span);
        term->type = pool_.unit();
    }
    return node;
}

Type* Checker::on(Term& term, term::Invoke& invoke) {
    const bool optional = invoke.optional || invoke.otherwise;
    Type* type = nullptr;
    if (TypeNode* base = path_node(invoke.base)) {
        // Straight to the member: a module's other members are not looked at.
        use(base, invoke.base->span);
        if (TypeNode* node = env_.child(base, invoke.method)) {
            use(node, term.span);
            type = pool_.instantiate(env_.whole(node), level_);
        } else if (const Scheme& own = env_.own(base); own.type) {
            invoke.base->type = pool_.instantiate(own, level_);
            if (!base->children.empty() && !optional && deref(own.type)->kind != TypeKind::variable && !find_field(own.type, invoke.method) &&
                without_methods(own.type)->kind != TypeKind::constructor)
                fail_method(nullptr, base, invoke.method, term.span);
            type = method_type(invoke.base->type, invoke.method, optional, term.span);
        } else if (optional) {
            type = fresh();
        } else {
            fail_method(nullptr, base, invoke.method, term.span);
        }
    } else {
        type = method_type(infer(invoke.base), invoke.method, optional, term.span);
    }
    if (!optional) return type;
    const TypeField* field = invoke.otherwise ? find_field(invoke.base->type, invoke.method) : nullptr;
    const bool may_be_null = field && !field->optional && deref(type)->kind == TypeKind::nullable;
    if (deref(type)->kind == TypeKind::nullable) type = deref(type)->inner;
    if (!invoke.otherwise) return pool_.nullable(type);
    infer(invoke.otherwise);
    // An alternative of which nothing is known may be null like the method.
    if (may_be_null && deref(invoke.otherwise->type)->kind == TypeKind::variable) {
        require(invoke.otherwise, pool_.nullable(type));
        return pool_.nullable(type);
    }
    if (deref(type)->kind == TypeKind::never) return invoke.otherwise->type;
    Type* result = fresh();
    if (!subtype(type, result, term.span)) fail_type(term.span);
    require(invoke.otherwise, result);
    return result;
}

Type* Checker::method_type(Type* base, Name method, bool optional, Span span) {
    if (const TypeField* f = find_field(base, method)) {
        Type* type = pool_.instantiate(*f, level_);
        if (deref(type)->kind == TypeKind::never) {
            if (optional) return type;
            fail_method(base, nullptr, method, span);
        }
        if (!f->optional || optional) return type;
    }
    Type* below = without_methods(base);
    if (optional && below->kind == TypeKind::nullable) return method_type(below->inner, method, true, span);
    if (below->kind == TypeKind::constructor)
        if (const TypeField* f = env_.constructor_method(below->name, method)) return pool_.instantiate(*f, level_);
    Type* type = fresh();
    const TypeField field{method, type, optional};
    if (!subtype(base, pool_.record({&field, 1}, fresh()), span)) fail_type(span);
    return type;
}

// --- %argsof

Term* Checker::default_of(TypeNode* node, Name function, Name label, Span span) {
    if (node->function) {
        for (const term::Param& p : node->function->params)
            if (p.label == label && p.default_value) return copy_term(arena_, p.default_value);
        return nullptr;
    }
    const Builtin* builtin = find_builtin(function.view());
    if (!builtin) return nullptr;
    for (const BuiltinParam& p : builtin->params) {
        if (p.label != label.view() || !p.default_value) continue;
        const std::uint32_t file = source_map().add("default of " + label.str() + " of " + function.str(), p.default_value);
        std::vector<Diagnostic> warnings;
        Term* term = parse_script(arena_, file, ParseContext{}, warnings);
        if (auto* sequence = std::get_if<term::Sequence>(&term->node)) term = sequence->second;
        return term;
    }
    return nullptr;
}

std::vector<std::pair<TypeParam, Term*>> Checker::params_of(Name function, const std::vector<Name>& only,
                                                            const std::vector<Name>& except, Span span, bool defaults) {
    TypeNode* node = nullptr;
    for (Name part : split_dotted(function.view())) {
        node = node ? env_.child(node, part) : lookup_or_fail(part, span);
        if (!node) fail(3, span, function.str() + " is not defined.");
        use(node, span);
    }
    const Scheme& scheme = env_.own(node);
    Type* arrow = scheme.type ? without_methods(pool_.instantiate(scheme, level_)) : nullptr;
    if (!arrow || arrow->kind != TypeKind::arrow) fail(3, span, function.str() + " is not a function!");
    for (const std::vector<Name>* names : {&only, &except})
        for (Name name : *names)
            if (std::none_of(arrow->params, arrow->params + arrow->count, [&](const TypeParam& p) { return p.label == name; }))
                fail(3, span, function.str() + " does not have an argument named " + name.str());
    std::vector<std::pair<TypeParam, Term*>> result;
    for (const TypeParam& p : arrow->param_span()) {
        if (p.label.empty() || std::find(except.begin(), except.end(), p.label) != except.end()) continue;
        if (!only.empty() && std::find(only.begin(), only.end(), p.label) == only.end()) continue;
        Term* value = defaults && p.optional ? default_of(node, function, p.label, span) : nullptr;
        if (defaults && p.optional && !value)
            fail(3, span, "The default of the argument " + p.label.str() + " of " + function.str() + " is not known here.");
        result.emplace_back(p, value);
    }
    return result;
}

void Checker::expand_argsof(Span span, term::Function& function, std::vector<Type*>& known) {
    std::vector<term::Param> params;
    for (const term::Argsof& argsof : function.argsof) {
        for (auto& [param, value] : params_of(argsof.function, argsof.only, argsof.except, argsof.span, true)) {
            Pattern* pattern = arena_.make<Pattern>();
            pattern->span = argsof.span;
            pattern->node = pat::Variable{param.label};
            params.push_back({param.label, pattern, nullptr, value, param.optional});
            known.push_back(param.type);
        }
    }
    function.argsof.clear();
    function.params.insert(function.params.begin(), params.begin(), params.end());
}

void Checker::expand_arguments(Span span, term::Apply& apply) {
    if (std::none_of(apply.arguments.begin(), apply.arguments.end(), [](const term::Argument& a) { return !a.spread_argsof.empty(); }))
        return;
    std::vector<term::Argument> arguments;
    for (term::Argument& a : apply.arguments) {
        if (a.spread_argsof.empty()) {
            arguments.push_back(a);
            continue;
        }
        for (const auto& [param, value] : params_of(a.spread_argsof, a.only, a.except, span, false)) {
            Term* variable = arena_.make<Term>();
            variable->span = span;
            variable->node = term::Variable{param.label};
            term::Argument argument;
            argument.label = param.label;
            argument.value = variable;
            arguments.push_back(argument);
        }
    }
    apply.arguments = std::move(arguments);
}

}  // namespace castile::lang
