// Braces, functions, control structures, encoders, %ifdef.
#include <array>

#include <fmt/format.h>

#include "lang/parser.h"

namespace castile::lang {

/// A record or a getter: `{a = 1}`, `{a, b}`, `{}` and `{...r}` are records, everything else is a block to run.
ast::Expr* Parser::braces() {
    const Token opening = take();
    if (is(Tok::right_brace) || is(Tok::ellipsis) || (is(Tok::identifier) && (is(Tok::assign, 1) || is(Tok::comma, 1))))
        return record(nullptr, opening, opening.begin);
    auto* body = arena_.make<ast::Block>();
    const std::uint32_t begin = peek().begin;
    bool first = true;
    while (!ends_block()) {
        statement(*body, first);
        first = false;
        while (accept(Tok::semicolon)) {}
    }
    body->span = since(begin);
    if (is(Tok::assign) && body->statements.size() == 1)
        fail(3, span(peek()), "Parse error: the first definition between braces must be written `let x = ...`: `{x = ...}` is a record.");
    expect_closing(Tok::right_brace, opening);
    return make(opening.begin, ast::Getter{body});
}

ast::Expr* Parser::record(ast::Expr* base, const Token& opening, std::uint32_t begin) {
    ast::Record record{base, {}};
    while (!is(Tok::right_brace)) {
        if (accept(Tok::ellipsis)) {
            record.fields.push_back({{}, expression(), true});
        } else {
            const std::uint32_t field_begin = peek().begin;
            const Name field = name("the name of a field");
            if (is(Tok::comma) || is(Tok::right_brace)) {
                record.fields.push_back({field, make(field_begin, ast::Variable{field}), false});
            } else {
                expect(Tok::assign, "and the value of the field");
                record.fields.push_back({field, expression(), false});
            }
        }
        if (!accept(Tok::comma)) break;
    }
    expect_closing(Tok::right_brace, opening);
    return make(begin, std::move(record));
}

ast::Expr* Parser::function() {
    const Token fun = take();
    if (!is(Tok::left_paren)) unexpected("`(` and the arguments of the function");
    auto arguments = params(take());
    expect(Tok::arrow, "and the body of the function");
    ast::Expr* body = expression();
    return make(fun.begin, ast::Function{std::move(arguments), body});
}

ast::Expr* Parser::conditional() {
    const Token opening = take();
    ast::If result;
    do {
        ast::Block* condition = block();
        if (condition->statements.empty()) unexpected("a condition");
        expect(Tok::kw_then, "after the condition");
        result.branches.push_back({condition, block()});
    } while (accept(Tok::kw_elsif));
    if (accept(Tok::kw_else)) result.otherwise = block();
    expect_closing(Tok::kw_end, opening);
    return make(opening.begin, std::move(result));
}

ast::Expr* Parser::loop() {
    const Token opening = take();
    if (opening.kind == Tok::kw_while) {
        ast::Expr* condition = expression();
        expect(Tok::kw_do, "after the condition");
        ast::Block* body = block();
        expect_closing(Tok::kw_end, opening);
        return make(opening.begin, ast::While{condition, body});
    }
    ast::Pattern* variable = variable_or_wildcard("the variable of the loop");
    expect(Tok::assign, "and what to iterate on");
    ast::Expr* from = expression();
    ast::Expr* to = accept(Tok::kw_to) ? expression() : nullptr;
    expect(Tok::kw_do, "before what to repeat");
    ast::Block* body = block();
    expect_closing(Tok::kw_end, opening);
    if (to == nullptr) return make(opening.begin, ast::ForEach{variable, from, body});
    return make(opening.begin, ast::For{variable, from, to, body});
}

ast::Expr* Parser::attempt() {
    const Token opening = take();
    ast::Try result{block()};
    if (accept(Tok::kw_catch)) {
        result.error = variable_or_wildcard("the variable of the error");
        const bool in = is(Tok::identifier) && text(peek()) == "in";
        if (in) take();
        if (in || accept(Tok::colon)) result.errors = expression();
        expect(Tok::kw_do, "before what to do after an error");
        result.handler = block();
    }
    if (accept(Tok::kw_finally)) result.finally = block();
    if (result.handler == nullptr && result.finally == nullptr) unexpected("`catch` or `finally`");
    expect_closing(Tok::kw_end, opening);
    return make(opening.begin, result);
}

ast::Expr* Parser::encoder() {
    const Nest nest(*this);
    const Token first = take();
    ast::Encoder result{text(first).substr(1), {}};
    if (is(Tok::left_paren)) {
        const Token opening = take();
        while (!is(Tok::right_paren)) {
            result.params.push_back(encoder_param());
            if (!accept(Tok::comma)) break;
        }
        expect_closing(Tok::right_paren, opening);
    }
    return make(first.begin, std::move(result));
}

ast::EncoderParam Parser::encoder_param() {
    const Token t = peek();
    ast::EncoderParam p;
    if (t.kind == Tok::encoder) {
        p.encoder = encoder();
    } else if ((t.kind == Tok::identifier || t.kind == Tok::string || is_keyword(t.kind)) && is(Tok::assign, 1)) {
        take();
        take();
        p.label = t.kind == Tok::string ? Name(string_value(t)) : Name(text(t));
        p.value = expression();
    } else if (t.kind == Tok::identifier && (is(Tok::comma, 1) || is(Tok::right_paren, 1))) {
        p.word = text(take());
    } else {
        p.value = expression();
    }
    return p;
}

ast::Expr* Parser::static_if() {
    const Token first = take();
    ast::Condition condition{ast::Condition::Kind::defined, false, "", ""};
    switch (first.kind) {
        case Tok::if_version: {
            condition.kind = ast::Condition::Kind::version;
            condition.op = text(expect(Tok::comparison, "and a version, as in `%ifversion >= 2.3.0`"));
            if (condition.op == "!=") fail(3, span(first), "`%ifversion` compares with ==, <, <=, > or >=.");
            condition.name = text(expect(Tok::version, "such as 2.3.0"));
            break;
        }
        case Tok::if_encoder:
        case Tok::if_not_encoder:
            condition.kind = ast::Condition::Kind::encoder;
            condition.negated = first.kind == Tok::if_not_encoder;
            condition.name = text(expect(Tok::encoder, "such as %mp3")).substr(1);
            break;
        default:
            condition.negated = first.kind == Tok::if_not_defined;
            // What is tested stands on the line of %ifdef: what follows may start with a dot.
            for (const Name part : path()) condition.name += (condition.name.empty() ? "" : ".") + part.str();
    }
    ast::Block* then = block();
    ast::Block* otherwise = accept(Tok::static_else) ? block() : nullptr;
    expect_closing(Tok::static_end, first);
    return make(first.begin, ast::StaticIf{std::move(condition), then, otherwise});
}

}  // namespace castile::lang
