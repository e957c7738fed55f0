// Patterns, read as such or found to be one once the `=` is seen.
#include <algorithm>

#include "lang/parser.h"

namespace castile::lang {

/// What is left of `=` has been read as an expression: only now is it known to be a pattern.
ast::Pattern* Parser::pattern_of(ast::Expr* target) {
    const auto refuse = [&]() {
        fail(3, target->span, "Invalid binding: what is left of `=` must be a variable, the path of a field or a pattern such as (x, y) or [x, y].");
    };
    const auto done = [&](decltype(ast::Pattern::node) node) { return arena_.make<ast::Pattern>(target->span, std::move(node)); };
    if (const auto* variable = std::get_if<ast::Variable>(&target->node)) return done(ast::VariablePattern{{variable->name}});
    if (const auto* parens = std::get_if<ast::Parens>(&target->node)) return pattern_of(parens->value);
    if (std::holds_alternative<ast::Access>(target->node)) {
        std::vector<Name> path;
        const ast::Expr* e = target;
        while (const auto* access = std::get_if<ast::Access>(&e->node)) {
            if (access->optional) refuse();
            path.push_back(access->name);
            e = access->base;
        }
        const auto* root = std::get_if<ast::Variable>(&e->node);
        if (root == nullptr) refuse();
        path.push_back(root->name);
        std::reverse(path.begin(), path.end());
        return done(ast::VariablePattern{std::move(path)});
    }
    if (const auto* tuple = std::get_if<ast::Tuple>(&target->node)) {
        ast::TuplePattern p;
        for (ast::Expr* e : tuple->elements) p.elements.push_back(pattern_of(e));
        return done(std::move(p));
    }
    if (const auto* list = std::get_if<ast::List>(&target->node)) {
        ast::ListPattern p;
        for (const ast::Item& item : list->items) {
            if (!item.spread) {
                (p.rest == nullptr ? p.before : p.after).push_back(pattern_of(item.value));
            } else if (p.rest == nullptr) {
                p.rest = pattern_of(item.value);
            } else {
                fail(3, item.value->span, "Invalid binding: a list pattern has at most one spread.");
            }
        }
        return done(std::move(p));
    }
    if (const auto* record = std::get_if<ast::Record>(&target->node)) {
        ast::RecordPattern p;
        if (record->base != nullptr) p.base = pattern_of(record->base);
        for (const ast::Field& field : record->fields) {
            if (field.spread) {
                if (p.base != nullptr) refuse();
                p.base = pattern_of(field.value);
                p.spread = true;
            } else {
                p.fields.push_back({field.name, pattern_of(field.value), false, field.value->span});
            }
        }
        return done(std::move(p));
    }
    refuse();
    return nullptr;
}

ast::Pattern* Parser::make_pattern(std::uint32_t begin, decltype(ast::Pattern::node) node) {
    return arena_.make<ast::Pattern>(since(begin), std::move(node));
}

ast::Pattern* Parser::variable_or_wildcard(std::string_view what) {
    const std::uint32_t begin = peek().begin;
    if (accept(Tok::underscore)) return make_pattern(begin, ast::WildcardPattern{});
    const Name variable = name(what);
    return make_pattern(begin, ast::VariablePattern{{variable}});
}

ast::Pattern* Parser::pattern() {
    const Nest nest(*this);
    const std::uint32_t begin = peek().begin;
    ast::Pattern* p = nullptr;
    switch (peek().kind) {
        case Tok::identifier:
        case Tok::underscore: p = variable_or_wildcard("a pattern"); break;
        case Tok::left_bracket: p = list_pattern(); break;
        case Tok::left_brace: return record_pattern(nullptr, begin);
        case Tok::left_paren: {
            TypeExpr* none = nullptr;
            p = parenthesised_pattern(none);
            if (none != nullptr) fail(3, p->span, "A type cannot be given inside a pattern: give the type of the whole, as in `let (x : t) = ...`.");
            return p;
        }
        default: unexpected("a variable or a pattern");
    }
    if (is(Tok::dot) && is(Tok::left_brace, 1)) {
        take();
        return record_pattern(p, begin);
    }
    return p;
}

/// A tuple, a pattern between parentheses or (pattern : type).
ast::Pattern* Parser::parenthesised_pattern(TypeExpr*& annotated) {
    const Nest nest(*this);
    const Token opening = take();
    ast::TuplePattern tuple;
    ast::Pattern* p = nullptr;
    if (!is(Tok::right_paren)) {
        p = pattern();
        if (accept(Tok::colon)) {
            annotated = annotation();
            expect_closing(Tok::right_paren, opening);
            return p;
        }
        if (is(Tok::comma)) {
            tuple.elements.push_back(p);
            p = nullptr;
            while (accept(Tok::comma) && !is(Tok::right_paren)) tuple.elements.push_back(pattern());
        }
    }
    expect_closing(Tok::right_paren, opening);
    if (p == nullptr) p = make_pattern(opening.begin, std::move(tuple));
    if (is(Tok::dot) && is(Tok::left_brace, 1)) {
        take();
        return record_pattern(p, opening.begin);
    }
    return p;
}

ast::Pattern* Parser::list_pattern() {
    const Token opening = take();
    ast::ListPattern list;
    while (!is(Tok::right_bracket)) {
        if (is(Tok::ellipsis)) {
            const Token spread = take();
            if (list.rest != nullptr) fail(3, span(spread), "A list pattern has at most one spread.");
            list.rest = is(Tok::identifier) || is(Tok::underscore) ? variable_or_wildcard("a variable") : make_pattern(spread.begin, ast::WildcardPattern{});
        } else {
            (list.rest == nullptr ? list.before : list.after).push_back(pattern());
        }
        if (!accept(Tok::comma)) break;
    }
    expect_closing(Tok::right_bracket, opening);
    return make_pattern(opening.begin, std::move(list));
}

ast::Pattern* Parser::record_pattern(ast::Pattern* base, std::uint32_t begin) {
    const Token opening = take();
    ast::RecordPattern record{{}, base, false};
    while (!is(Tok::right_brace)) {
        const Token first = peek();
        if (accept(Tok::ellipsis)) {
            if (record.base != nullptr) fail(3, span(first), "A record pattern has at most one spread.");
            record.base = is(Tok::identifier) || is(Tok::underscore) ? variable_or_wildcard("a variable") : make_pattern(first.begin, ast::WildcardPattern{});
            record.spread = true;
        } else {
            ast::FieldPattern field;
            field.name = name("the name of a field");
            field.optional = accept(Tok::question);
            if (!field.optional && accept(Tok::assign)) field.pattern = pattern();
            field.span = since(first.begin);
            record.fields.push_back(field);
        }
        if (!accept(Tok::comma)) break;
    }
    expect_closing(Tok::right_brace, opening);
    return make_pattern(begin, std::move(record));
}

}  // namespace castile::lang
