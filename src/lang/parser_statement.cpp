// Blocks and definitions.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "lang/parser.h"

namespace castile::lang {

namespace {

/// What may follow `let`: the first word and, after a dot, the second.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> decoders{{
    {"json", "parse"}, {"yaml", "parse"}, {"xml", "parse"}, {"sqlite", "row"}, {"sqlite", "query"},
}};

}  // namespace

bool Parser::ends_block() {
    switch (peek().kind) {
        case Tok::end_of_file:
        case Tok::kw_end:
        case Tok::kw_then:
        case Tok::kw_else:
        case Tok::kw_elsif:
        case Tok::kw_do:
        case Tok::kw_to:
        case Tok::kw_catch:
        case Tok::kw_finally:
        case Tok::static_else:
        case Tok::static_end:
        case Tok::right_brace:
        case Tok::right_paren:
        case Tok::right_bracket:
        case Tok::comma:
        case Tok::interpolation_text:
        case Tok::interpolation_end: return true;
        default: return false;
    }
}

ast::Block* Parser::block() {
    const Nest nest(*this);
    auto* result = arena_.make<ast::Block>();
    const std::uint32_t begin = peek().begin;
    while (accept(Tok::semicolon)) {}
    while (!ends_block()) {
        statement(*result, false);
        while (accept(Tok::semicolon)) {}
    }
    result->span = {lexer_.file(), begin, std::max(begin, last_end_)};
    return result;
}

void Parser::statement(ast::Block& into, bool first_of_getter) {
    ast::Statement s;
    const Token first = peek();
    s.comments_begin = comments_seen_;
    s.comments_end = first.comments;
    switch (first.kind) {
        case Tok::kw_def: s.node = definition(); break;
        case Tok::kw_let: s.node = let(); break;
        case Tok::kw_open:
            take();
            s.node = ast::Open{expression()};
            break;
        case Tok::include:
        case Tok::include_extra:
        case Tok::include_library: {
            const std::string_view whole = text(take());
            const std::size_t open = whole.find(first.kind == Tok::include_library ? '<' : '"');
            s.node = ast::Include{first.kind == Tok::include         ? ast::Include::Kind::file
                                  : first.kind == Tok::include_extra ? ast::Include::Kind::extra
                                                                     : ast::Include::Kind::library,
                                  std::string(whole.substr(open + 1, whole.size() - open - 2))};
            break;
        }
        case Tok::underscore:
            take();
            if (!is(Tok::assign)) fail(2, span(first), "Parse error: `_` is not a value; it can only be bound, as in `_ = f()`.");
            s.node = ast::Binding{ast::BindingKind::bare, "", {}, make_pattern(first.begin, ast::WildcardPattern{}), nullptr, {}, nullptr, nullptr};
            take();
            std::get<ast::Binding>(s.node).value = expression();
            break;
        default: {
            ast::Expr* value = expression();
            if (!is(Tok::assign)) {
                s.node = ast::Evaluate{value};
                break;
            }
            if (first_of_getter)
                fail(3, span(peek()), "Parse error: the first definition between braces must be written `let x = ...`: `{x = ...}` is a record.");
            s.node = bare(value, first.begin);
        }
    }
    s.span = since(first.begin);
    into.statements.push_back(std::move(s));
}

ast::Binding Parser::bare(ast::Expr* target, std::uint32_t begin) {
    ast::Binding b{ast::BindingKind::bare, "", {}, nullptr, nullptr, {}, nullptr, nullptr};
    if (const auto* ascription = std::get_if<ast::Ascribe>(&target->node)) {
        b.type = ascription->type;
        target = ascription->value;
    }
    b.pattern = pattern_of(target);
    b.pattern->span = since(begin);
    take();
    b.value = expression();
    return b;
}

std::vector<Name> Parser::path() {
    std::vector<Name> result{name("a name")};
    while (is(Tok::dot) && (is(Tok::identifier, 1) || is_keyword(peek(1).kind))) {
        take();
        result.push_back(method_name());
    }
    return result;
}

ast::Binding Parser::definition() {
    const Token def = take();
    ast::Binding b{ast::BindingKind::def, "", {}, nullptr, nullptr, {}, nullptr, nullptr};
    if (is(Tok::identifier) && (text(peek()) == "rec" || text(peek()) == "replaces") && (is(Tok::identifier, 1) || is(Tok::underscore, 1)))
        b.decoration = text(take());
    const std::uint32_t begin = peek().begin;
    if (is(Tok::left_paren)) {
        const Token opening = take();
        b.pattern = variable_or_wildcard("the name of what is defined");
        expect(Tok::colon);
        b.type = annotation();
        expect_closing(Tok::right_paren, opening);
    } else if (is(Tok::underscore)) {
        take();
        b.pattern = make_pattern(begin, ast::WildcardPattern{});
    } else if (is(Tok::identifier)) {
        b.pattern = make_pattern(begin, ast::VariablePattern{path()});
        b.pattern->span = since(begin);
    } else {
        unexpected("the name of what is defined");
    }
    if (is(Tok::left_paren) && !peek().newline_before && b.type == nullptr) b.params = params(take());
    if (b.decoration == "rec" && !b.params) fail(3, span(def), "`def rec` only applies to functions.");
    accept(Tok::assign);
    b.body = block();
    expect_closing(Tok::kw_end, def);
    return b;
}

void Parser::decoration(ast::Binding& binding) {
    if (!is(Tok::identifier)) return;
    const std::string_view word = text(peek());
    const auto starts_pattern = [&](std::size_t ahead) {
        const Tok kind = peek(ahead).kind;
        return kind == Tok::identifier || kind == Tok::underscore || kind == Tok::left_paren || kind == Tok::left_bracket || kind == Tok::left_brace;
    };
    if ((word == "replaces" || word == "eval") && starts_pattern(1)) {
        binding.decoration = text(take());
        return;
    }
    const bool known_first = std::any_of(decoders.begin(), decoders.end(), [&](const auto& d) { return d.first == word; });
    if (!known_first || !is(Tok::dot, 1) || !is(Tok::identifier, 2) || !starts_pattern(3)) return;
    for (const auto& [first, second] : decoders) {
        if (first != word || second != text(peek(2))) continue;
        take();
        take();
        take();
        binding.decoration = fmt::format("{}.{}", first, second);
        if (binding.decoration != "json.parse" || !is(Tok::left_bracket)) return;
        const Token opening = take();
        do {
            const Token option = peek();
            const Name label = name("the name of an option");
            if (label != Name("json5")) fail(3, span(option), fmt::format("`let json.parse` has no option `{}`; it has `json5`.", label.view()));
            ast::Expr* value = accept(Tok::assign) ? expression() : make(option.begin, ast::Variable{label});
            binding.options.push_back({label, value, {}});
        } while (accept(Tok::comma));
        expect_closing(Tok::right_bracket, opening);
        return;
    }
}

ast::Binding Parser::let() {
    take();
    ast::Binding b{ast::BindingKind::let, "", {}, nullptr, nullptr, {}, nullptr, nullptr};
    decoration(b);
    const std::uint32_t begin = peek().begin;
    if (is(Tok::left_paren)) {
        b.pattern = parenthesised_pattern(b.type);
    } else if (is(Tok::identifier) && is(Tok::dot, 1) && !is(Tok::left_brace, 2)) {
        auto names = path();
        b.pattern = make_pattern(begin, ast::VariablePattern{std::move(names)});
    } else {
        b.pattern = pattern();
    }
    expect(Tok::assign, "and a value");
    b.value = expression();
    return b;
}

std::vector<ast::Param> Parser::params(const Token& opening) {
    std::vector<ast::Param> result;
    while (!is(Tok::right_paren)) {
        result.push_back(param());
        if (!accept(Tok::comma)) break;
    }
    expect_closing(Tok::right_paren, opening);
    return result;
}

ast::Param Parser::param() {
    ast::Param p;
    const std::uint32_t begin = peek().begin;
    if (is(Tok::ellipsis) && is(Tok::arguments_of, 1)) take();
    if (is(Tok::arguments_of)) {
        p.argsof = argsof();
        p.span = since(begin);
        return p;
    }
    if (accept(Tok::tilde)) {
        if (is(Tok::left_paren)) {
            const Token opening = take();
            p.label = name("the label of an argument");
            expect(Tok::colon);
            p.type = annotation();
            expect_closing(Tok::right_paren, opening);
        } else {
            p.label = name("the label of an argument");
            if (accept(Tok::colon)) {
                p.pattern = is(Tok::left_paren) ? parenthesised_pattern(p.type) : pattern();
            } else if (is(Tok::assign) && is(Tok::underscore, 1)) {
                take();
                const std::uint32_t wildcard = take().begin;
                p.pattern = make_pattern(wildcard, ast::WildcardPattern{});
                deprecated(since(begin), fmt::format("write `~{}:_` instead of `~{}=_`.", p.label.view(), p.label.view()));
            }
        }
    } else if (is(Tok::left_paren)) {
        p.pattern = parenthesised_pattern(p.type);
    } else {
        p.pattern = pattern();
    }
    p.span = since(begin);
    if (accept(Tok::assign)) p.default_value = expression();
    return p;
}

ast::Argsof Parser::argsof() {
    const std::uint32_t begin = take().begin;
    ast::Argsof a;
    const Token opening = expect(Tok::left_paren);
    std::string function;
    for (const Name part : path()) function += (function.empty() ? "" : ".") + part.str();
    a.function = function;
    if (is(Tok::left_bracket)) {
        const Token bracket = take();
        while (!is(Tok::right_bracket)) {
            const bool except = accept(Tok::bang);
            (except ? a.except : a.only).push_back(name("the label of an argument"));
            if (!accept(Tok::comma)) break;
        }
        expect_closing(Tok::right_bracket, bracket);
    }
    expect_closing(Tok::right_paren, opening);
    a.span = since(begin);
    return a;
}

}  // namespace castile::lang
