#include "lang/desugar.h"

#include <algorithm>

#include <fmt/format.h>

#include "lang/desugar_names.h"

namespace castile::lang {

namespace {

template <class... F> struct Overload : F... { using F::operator()...; };
template <class... F> Overload(F...) -> Overload<F...>;  // clang needs it spelt out

}  // namespace

Desugar::Depth::Depth(Desugar& desugar, Span where, std::size_t levels) : desugar_(desugar), levels_(levels) {
    if (desugar.depth_ + levels > max_term_depth)
        desugar.fail(where, fmt::format("This is nested too deeply: more than {} levels. Give a name to a part of it.", max_term_depth));
    desugar.depth_ += levels;
}

void Desugar::fail(Span where, std::string message, std::vector<Diagnostic::Note> notes) const {
    throw ScriptError({Severity::error, 3, where, std::move(message), std::move(notes)});
}

Term* Desugar::method(Span span, Name object, Name method) { return make(span, term::Invoke{variable(span, object), method, false, nullptr}); }

Term* Desugar::apply(Span span, Term* function, std::vector<Term*> arguments) {
    term::Apply call{function, {}};
    for (Term* a : arguments) call.arguments.push_back({{}, a, {}, {}, {}});
    return make(span, std::move(call));
}

Term* Desugar::term(const ast::Expr* e) {
    const Depth depth(*this, e->span, 1);
    const Span span = e->span;
    return std::visit(
        Overload{
            [&](const ast::Int& n) { return make(span, term::Int{n.value}); },
            [&](const ast::Float& n) { return make(span, term::Float{n.value}); },
            [&](const ast::String& n) { return make(span, term::String{n.value}); },
            [&](const ast::RawString& n) { return make(span, term::String{n.value}); },
            [&](const ast::Interpolation& n) { return interpolation(n, span); },
            [&](const ast::Regexp& n) { return regexp(n, span); },
            [&](const ast::Bool& n) { return make(span, term::Bool{n.value}); },
            [&](const ast::Null&) { return make(span, term::Null{}); },
            [&](const ast::Variable& n) { return variable(span, n.name); },
            [&](const ast::Tuple& n) {
                term::Tuple tuple;
                for (const ast::Expr* element : n.elements) tuple.elements.push_back(term(element));
                return make(span, std::move(tuple));
            },
            [&](const ast::List& n) { return list(n, span); },
            [&](const ast::Record& n) { return record(n, span); },
            [&](const ast::Parens& n) { return term(n.value); },
            [&](const ast::Ascribe& n) { return make(span, term::Ascribe{term(n.value), n.type}); },
            [&](const ast::Begin& n) { return block(*n.block); },
            [&](const ast::Getter& n) {
                term::Function f{};
                f.body = block(*n.block);
                return make(span, std::move(f));
            },
            [&](const ast::Function& n) {
                term::Function f = function(n.params, {});
                f.body = term(n.body);
                return make(span, std::move(f));
            },
            [&](const ast::Call&) { return links(e, nullptr); },
            [&](const ast::Index& n) { return apply(span, variable(span, desugar_names::index), {term(n.base), term(n.key)}); },
            [&](const ast::Access&) { return links(e, nullptr); },
            [&](const ast::Unary& n) { return unary(n, span); },
            [&](const ast::Binary& n) { return binary(n, span); },
            [&](const ast::Ternary& n) { return make(span, term::If{term(n.condition), term(n.then), term(n.otherwise)}); },
            [&](const ast::If& n) { return conditional(n, span); },
            [&](const ast::While& n) { return make(span, term::While{term(n.condition), block(*n.body)}); },
            [&](const ast::For& n) { return make(span, term::For{pattern(*n.variable), term(n.from), term(n.to), block(*n.body)}); },
            [&](const ast::ForEach& n) { return make(span, term::ForIn{pattern(*n.variable), term(n.iterator), block(*n.body)}); },
            [&](const ast::Try& n) {
                term::Try t{};
                t.body = block(*n.body);
                if (n.error != nullptr) t.error = pattern(*n.error);
                if (n.errors != nullptr) t.errors = term(n.errors);
                if (n.handler != nullptr) t.handler = block(*n.handler);
                if (n.finally != nullptr) t.finally = block(*n.finally);
                return make(span, t);
            },
            [&](const ast::Encoder& n) { return encoder(n, span); },
            [&](const ast::Time& n) { return time(n, span); },
            [&](const ast::StaticIf& n) {
                const ast::Block* branch = taken(n);
                return branch != nullptr ? block(*branch) : unit(span);
            },
        },
        e->node);
}

Term* Desugar::list(const ast::List& node, Span span) {
    term::List list;
    for (const ast::Item& item : node.items) list.items.push_back({term(item.value), item.spread});
    return make(span, std::move(list));
}

Term* Desugar::interpolation(const ast::Interpolation& node, Span span) {
    const Depth depth(*this, span, 2);
    term::List pieces;
    for (const ast::Part& part : node.parts) {
        if (part.value == nullptr) {
            pieces.items.push_back({make(part.span, term::String{part.text}), false});
        } else {
            pieces.items.push_back({apply(part.span, variable(part.span, desugar_names::string), {term(part.value)}), false});
        }
    }
    return apply(span, method(span, desugar_names::string, desugar_names::string_concat), {make(span, std::move(pieces))});
}

Term* Desugar::regexp(const ast::Regexp& node, Span span) {
    term::List flags;
    for (const char flag : node.flags) flags.items.push_back({make(span, term::String{std::string(1, flag)}), false});
    term::Apply call{variable(span, desugar_names::regexp), {}};
    call.arguments.push_back({desugar_names::regexp_flags, make(span, std::move(flags)), {}, {}, {}});
    call.arguments.push_back({{}, make(span, term::String{node.pattern}), {}, {}, {}});
    return make(span, std::move(call));
}

/// Fields apply from left to right: a later one, or what a later spread holds, replaces an earlier one.
Term* Desugar::record(const ast::Record& node, Span span) {
    Term* base = node.base != nullptr ? term(node.base) : nullptr;
    const auto spreads = std::count_if(node.fields.begin(), node.fields.end(), [](const ast::Field& f) { return f.spread; });
    const Depth depth(*this, span, static_cast<std::size_t>(spreads));
    term::Methods current{base, {}, nullptr};
    for (const ast::Field& field : node.fields) {
        if (current.spread != nullptr) current = term::Methods{make(span, std::move(current)), {}, nullptr};
        if (field.spread) {
            current.spread = term(field.value);
        } else {
            current.methods.push_back({field.name, term(field.value)});
        }
    }
    return make(span, std::move(current));
}

Term* Desugar::conditional(const ast::If& node, Span span) {
    Term* otherwise = nullptr;
    {
        const Depth depth(*this, span, node.branches.size());
        otherwise = node.otherwise != nullptr ? block(*node.otherwise) : unit(span);
    }
    for (std::size_t i = node.branches.size(); i-- > 0;) {
        const Depth depth(*this, span, i);
        const ast::Branch& branch = node.branches[i];
        Term* condition = block(*branch.condition);
        Term* then = block(*branch.then);
        const Span whole = i == 0 ? span : Span{span.file, branch.condition->span.begin, span.end};
        otherwise = make(whole, term::If{condition, then, otherwise});
    }
    return otherwise;
}

Term* Desugar::unary(const ast::Unary& node, Span span) {
    if (node.op == Name("!")) return apply(span, term(node.operand), {});
    if (node.op == Name("not")) return apply(span, variable(span, desugar_names::negation), {term(node.operand)});
    if (const auto* i = std::get_if<ast::Int>(&node.operand->node)) return make(span, term::Int{-i->value});
    if (const auto* f = std::get_if<ast::Float>(&node.operand->node)) return make(span, term::Float{-f->value});
    return apply(span, variable(span, desugar_names::negate), {term(node.operand)});
}

Term* Desugar::binary(const ast::Binary& node, Span span) {
    const std::string_view op = node.op.view();
    if (op == "??") {
        if (std::holds_alternative<ast::Access>(node.left->node)) return links(node.left, node.right);
        return make(span, term::Coalesce{term(node.left), term(node.right)});
    }
    Term* left = term(node.left);
    Term* right = term(node.right);
    if (op == "and") return make(span, term::And{left, right});
    if (op == "or") return make(span, term::Or{left, right});
    if (op == "::") return make(span, term::List{{{left, false}, {right, true}}});
    if (op == "@") return apply(span, right, {left});
    if (op == ":=") {
        Term* call = apply(span, make(span, term::Invoke{left, desugar_names::set, false, nullptr}), {right});
        auto* type = arena_.make<TypeExpr>(span, texpr::Named{"unit"}, std::vector<TypeConstraint>{});
        return make(span, term::Ascribe{call, type});
    }
    return apply(span, variable(span, node.op), {left, right});
}

Term* Desugar::time(const ast::Time& node, Span span) {
    const auto range = time_range(node.from, node.to);
    if (!range) fail(span, "Both ends of a time interval must start with the same unit, as in 10h-12h30 or 1w10h-1w12h.");
    return apply(span, variable(span, desugar_names::time_in_mod),
                 {make(span, term::Int{range->from}), make(span, term::Int{range->to}), make(span, term::Int{range->modulus})});
}

Term* Desugar::encoder(const ast::Encoder& node, Span span) {
    term::Encoder result{node.name, {}};
    for (const ast::EncoderParam& p : node.params) {
        term::EncoderParam param{};
        param.label = p.label;
        param.word = p.word;
        if (p.value != nullptr) param.value = term(p.value);
        if (p.encoder != nullptr) param.encoder = term(p.encoder);
        result.params.push_back(param);
    }
    return make(span, std::move(result));
}

std::vector<term::Argument> Desugar::arguments(const std::vector<ast::Argument>& arguments) {
    std::vector<term::Argument> result;
    for (const ast::Argument& a : arguments) {
        if (a.argsof) {
            result.push_back({{}, nullptr, a.argsof->function, a.argsof->only, a.argsof->except});
        } else {
            result.push_back({a.label, term(a.value), {}, {}, {}});
        }
    }
    return result;
}

/// Calls and methods, unrolled: a chain may be long.
Term* Desugar::links(const ast::Expr* e, const ast::Expr* otherwise) {
    std::vector<const ast::Expr*> steps;  // outermost first
    std::size_t optional = 0;
    for (;;) {
        if (const auto* access = std::get_if<ast::Access>(&e->node)) {
            if (access->optional && !steps.empty()) ++optional;
            steps.push_back(e);
            e = access->base;
        } else if (const auto* call = std::get_if<ast::Call>(&e->node)) {
            steps.push_back(e);
            e = call->function;
        } else {
            break;
        }
    }
    const Depth depth(*this, steps.front()->span, steps.size() + 2 * optional);
    Term* value = term(e);
    Term* last = otherwise != nullptr ? term(otherwise) : nullptr;
    if (optional == 0 || last == nullptr) return follow(value, steps, steps.size(), last);
    // What may be skipped cannot hold the alternative.
    return make(steps.front()->span, term::Coalesce{follow(value, steps, steps.size(), make(last->span, term::Null{})), last});
}

/// The first `left` of the steps, innermost last, applied to value.
Term* Desugar::follow(Term* value, const std::vector<const ast::Expr*>& steps, std::size_t left, Term* otherwise) {
    while (left > 0) {
        const ast::Expr* step = steps[--left];
        const Span span = step->span;
        if (const auto* call = std::get_if<ast::Call>(&step->node)) {
            value = make(span, term::Apply{value, arguments(call->arguments)});
            continue;
        }
        const auto& access = std::get<ast::Access>(step->node);
        value = make(span, term::Invoke{value, access.name, access.optional, left == 0 ? otherwise : nullptr});
        if (!access.optional || left == 0) continue;
        const Span whole = steps.front()->span;
        Term* defined = apply(span, method(span, desugar_names::null, desugar_names::null_defined), {variable(span, desugar_names::link_variable)});
        Term* found = apply(span, method(span, desugar_names::null, desugar_names::null_get), {variable(span, desugar_names::link_variable)});
        Term* rest = follow(found, steps, left, otherwise);
        auto* name = arena_.make<Pattern>(span, pat::Variable{desugar_names::link_variable}, nullptr);
        return make(whole, term::Let{term::LetKind::plain, name, {}, value, make(whole, term::If{defined, rest, make(whole, term::Null{})}), nullptr, false});
    }
    return value;
}

}  // namespace castile::lang
