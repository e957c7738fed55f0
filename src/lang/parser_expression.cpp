// Operators, chains and what stands between them.
#include <fmt/format.h>

#include "lang/parser.h"

namespace castile::lang {

namespace {

// How tightly operators hold, loosest first. `or` holds tighter than `and`.
enum Level : int {
    level_set = 1,
    level_question,
    level_and,
    level_or,
    level_not,
    level_comparison,
    level_additive,
    level_multiplicative,
    level_coalesce,
    level_cons,
};

int level(Tok kind) {
    switch (kind) {
        case Tok::set: return level_set;
        case Tok::question: return level_question;
        case Tok::kw_and: return level_and;
        case Tok::kw_or: return level_or;
        case Tok::comparison:
        case Tok::at: return level_comparison;
        case Tok::additive:
        case Tok::minus: return level_additive;
        case Tok::multiplicative:
        case Tok::star:
        case Tok::kw_mod: return level_multiplicative;
        case Tok::coalesce: return level_coalesce;
        case Tok::colon_colon: return level_cons;
        default: return 0;
    }
}

}  // namespace

ast::Expr* Parser::expression(int minimum) {
    const Nest nest(*this);
    const std::uint32_t begin = peek().begin;
    ast::Expr* left = operand();
    for (;;) {
        const Token op = peek();
        const int tightness = level(op.kind);
        if (tightness == 0 || tightness < minimum) return left;
        // On a line of its own, -x is the next expression.
        if (op.kind == Tok::minus && op.newline_before) return left;
        if (op.kind == Tok::question) {
            left = choice(left, begin);
            continue;
        }
        take();
        const bool right = op.kind == Tok::set || op.kind == Tok::colon_colon || op.kind == Tok::coalesce;
        ast::Expr* operand_right = expression(right ? tightness : tightness + 1);
        left = make(begin, ast::Binary{text(op), left, operand_right});
    }
}

/// The last operand is a chain or another choice: a ? b : c + d is (a ? b : c) + d.
ast::Expr* Parser::choice(ast::Expr* condition, std::uint32_t begin) {
    const Nest nest(*this);
    take();
    ast::Expr* then = expression();
    expect(Tok::colon, "and what the choice is otherwise");
    const std::uint32_t last = peek().begin;
    ast::Expr* otherwise = operand();
    if (is(Tok::question)) otherwise = choice(otherwise, last);
    return make(begin, ast::Ternary{condition, then, otherwise});
}

ast::Expr* Parser::operand() {
    const Nest nest(*this);
    const Token first = peek();
    switch (first.kind) {
        case Tok::minus: {
            take();
            ast::Expr* value = operand();
            return make(first.begin, ast::Unary{"-", value});
        }
        case Tok::bang: {
            take();
            ast::Expr* value = operand();
            deprecated(since(first.begin), "the value of a reference x is x(), not !x.");
            return make(first.begin, ast::Unary{"!", value});
        }
        case Tok::kw_not: {
            take();
            ast::Expr* value = expression(level_comparison);
            return make(first.begin, ast::Unary{"not", value});
        }
        default: return postfix(primary(), first.begin);
    }
}

ast::Expr* Parser::postfix(ast::Expr* value, std::uint32_t begin) {
    for (;;) {
        const bool optional = is(Tok::question_dot);
        if (!optional && !is(Tok::dot)) return value;
        take();
        if (!optional && is(Tok::left_brace)) {
            value = record(value, take(), begin);
            continue;
        }
        const Name method = method_name();
        value = make(begin, ast::Access{value, method, optional});
        if (peek().newline_before) continue;
        if (is(Tok::left_paren)) {
            value = call(value, begin);
        } else if (is(Tok::left_bracket) && !optional) {
            value = index(value, begin);
        }
    }
}

ast::Expr* Parser::index(ast::Expr* base, std::uint32_t begin) {
    const Token opening = take();
    ast::Expr* key = expression();
    expect_closing(Tok::right_bracket, opening);
    return make(begin, ast::Index{base, key});
}

ast::Expr* Parser::call(ast::Expr* function, std::uint32_t begin) {
    const Token opening = take();
    ast::Call call{function, {}};
    while (!is(Tok::right_paren)) {
        ast::Argument a;
        if (is(Tok::ellipsis) && is(Tok::arguments_of, 1)) take();
        if (is(Tok::arguments_of)) {
            a.argsof = argsof();
        } else {
            if (is(Tok::identifier) && is(Tok::assign, 1)) {
                a.label = text(take());
                take();
            }
            a.value = expression();
        }
        call.arguments.push_back(std::move(a));
        if (!accept(Tok::comma)) break;
    }
    expect_closing(Tok::right_paren, opening);
    return make(begin, std::move(call));
}

ast::Expr* Parser::primary() {
    switch (peek().kind) {
        case Tok::integer:
        case Tok::floating:
        case Tok::string:
        case Tok::raw_string:
        case Tok::regexp:
        case Tok::kw_true:
        case Tok::kw_false:
        case Tok::time:
        case Tok::interval: return literal();
        case Tok::identifier:
        case Tok::kw_null: return identifier();
        case Tok::interpolation_begin: return interpolation();
        case Tok::left_paren: return parenthesised();
        case Tok::left_bracket: return list();
        case Tok::left_brace: return braces();
        case Tok::kw_fun: return function();
        case Tok::kw_if: return conditional();
        case Tok::kw_while:
        case Tok::kw_for: return loop();
        case Tok::kw_try: return attempt();
        case Tok::encoder: return encoder();
        case Tok::kw_begin: {
            const Token begin = take();
            ast::Block* body = block();
            expect_closing(Tok::kw_end, begin);
            return make(begin.begin, ast::Begin{body});
        }
        case Tok::if_defined:
        case Tok::if_not_defined:
        case Tok::if_version:
        case Tok::if_encoder:
        case Tok::if_not_encoder: return static_if();
        case Tok::kw_def:
        case Tok::kw_let:
            fail(2, span(peek()), fmt::format("Parse error: expected an expression, found {}. A definition in an expression goes between `begin` and `end`.", found(peek())));
        default: unexpected("an expression");
    }
}

ast::Expr* Parser::literal() {
    const Token t = take();
    const std::string_view written = text(t);
    switch (t.kind) {
        case Tok::integer: {
            const auto value = parse_integer(written);
            if (!value) fail(3, span(t), "This integer does not fit in 64 bits.");
            return make(t.begin, ast::Int{*value});
        }
        case Tok::floating: {
            const auto value = parse_floating(written);
            if (!value) fail(3, span(t), fmt::format("Invalid float value: {}.", written.substr(0, 60)));
            return make(t.begin, ast::Float{*value});
        }
        case Tok::string: return make(t.begin, ast::String{string_value(t), written.back()});
        case Tok::raw_string: {
            const std::size_t id = written.find('|') - 1;
            return make(t.begin, ast::RawString{std::string(written.substr(1, id)), std::string(written.substr(id + 2, written.size() - 2 * id - 4))});
        }
        case Tok::regexp: {
            const std::size_t close = written.rfind('/');
            return make(t.begin, ast::Regexp{unescape(written.substr(2, close - 2), '/'), std::string(written.substr(close + 1))});
        }
        case Tok::time: return make(t.begin, ast::Time{parse_time(written), std::nullopt});
        case Tok::interval: {
            const std::size_t dash = written.find('-');
            const std::string_view from = written.substr(0, time_length(written));
            const std::string_view to = written.substr(written.find_first_of("0123456789", dash));
            return make(t.begin, ast::Time{parse_time(from), parse_time(to)});
        }
        default: return make(t.begin, ast::Bool{t.kind == Tok::kw_true});
    }
}

ast::Expr* Parser::identifier() {
    const Token t = take();
    const bool null = t.kind == Tok::kw_null;
    const bool adjacent = !peek().newline_before;
    const bool called = adjacent && is(Tok::left_paren);
    // The word alone is a value; null(x) and null.get(x) concern the function and its methods.
    if (null && !called && !(is(Tok::dot) && (is(Tok::identifier, 1) || is_keyword(peek(1).kind)))) return make(t.begin, ast::Null{});
    ast::Expr* variable = make(t.begin, ast::Variable{text(t)});
    if (called) {
        if (null && is(Tok::right_paren, 1)) deprecated(span(t), "use `null` instead of `null()`.");
        return call(variable, t.begin);
    }
    if (!adjacent || null) return variable;
    if (text(t) != "ref") return is(Tok::left_bracket) && text(t) != "in" ? index(variable, t.begin) : variable;
    switch (peek().kind) {
        case Tok::integer:
        case Tok::floating:
        case Tok::string:
        case Tok::interpolation_begin:
        case Tok::kw_true:
        case Tok::kw_false:
        case Tok::kw_null:
        case Tok::left_bracket:
        case Tok::identifier: {
            ast::Expr* value = operand();
            deprecated(since(t.begin), "a reference is made with ref(x), not ref x.");
            return make(t.begin, ast::Call{variable, {ast::Argument{{}, value, {}}}});
        }
        default: return variable;
    }
}

ast::Expr* Parser::interpolation() {
    const Token first = take();
    const char quote = text(first).back();
    ast::Interpolation result{{}, quote};
    for (;;) {
        const Token t = peek();
        if (t.kind == Tok::interpolation_text) {
            take();
            if (t.begin != t.end) result.parts.push_back({span(t), unescape(text(t), quote), nullptr});
            continue;
        }
        if (t.kind == Tok::interpolation_end) break;
        ast::Expr* value = expression();
        if (!is(Tok::interpolation_text)) unexpected("the `}` that ends the `#{` of a string");
        result.parts.push_back({value->span, "", value});
    }
    take();
    return make(first.begin, std::move(result));
}

ast::Expr* Parser::parenthesised() {
    const Token opening = take();
    if (accept(Tok::right_paren)) return make(opening.begin, ast::Tuple{});
    ast::Expr* value = expression();
    if (accept(Tok::colon)) {
        TypeExpr* t = annotation();
        expect_closing(Tok::right_paren, opening);
        return make(opening.begin, ast::Ascribe{value, t});
    }
    if (!is(Tok::comma)) {
        expect_closing(Tok::right_paren, opening);
        return make(opening.begin, ast::Parens{value});
    }
    ast::Tuple tuple{{value}};
    while (accept(Tok::comma)) tuple.elements.push_back(expression());
    expect_closing(Tok::right_paren, opening);
    return make(opening.begin, std::move(tuple));
}

ast::Expr* Parser::list() {
    const Token opening = take();
    ast::List list;
    while (!is(Tok::right_bracket)) {
        const bool spread = accept(Tok::ellipsis);
        list.items.push_back({expression(), spread});
        if (!accept(Tok::comma)) break;
    }
    expect_closing(Tok::right_bracket, opening);
    return make(opening.begin, std::move(list));
}

}  // namespace castile::lang
