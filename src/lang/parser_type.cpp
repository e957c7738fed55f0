// Types, as written in scripts and, more freely, in the declarations of builtins.
#include <fmt/format.h>

#include "lang/parser.h"

namespace castile::lang {

TypeExpr* Parser::annotation() {
    lexer_.set_types(true);
    TypeExpr* t = type();
    lexer_.set_types(false);
    return t;
}

TypeExpr* Parser::make_type(std::uint32_t begin, decltype(TypeExpr::node) node) {
    return types_.make<TypeExpr>(since(begin), std::move(node), std::vector<TypeConstraint>{});
}

TypeExpr* Parser::type() {
    const Nest nest(*this);
    const std::uint32_t begin = peek().begin;
    TypeExpr* first = type_postfix(type_primary());
    if (!is(Tok::star)) return first;
    if (const Tok after = peek(1).kind; after == Tok::right_paren || after == Tok::comma || after == Tok::end_of_file) {
        const auto* named = std::get_if<texpr::Named>(&first->node);
        if (named == nullptr) unexpected("a type on both sides of `*`");
        const std::string family = named->name.str() + "*";  // pcm*: PCM in any representation
        take();
        return make_type(begin, texpr::Named{family});
    }
    texpr::Tuple tuple{{first}};
    while (accept(Tok::star)) tuple.elements.push_back(type_postfix(type_primary()));
    return make_type(begin, std::move(tuple));
}

TypeExpr* Parser::type_postfix(TypeExpr* t) {
    const std::uint32_t begin = t->span.begin;
    for (unsigned links = 0;; ++links) {
        if (links == max_nesting) fail(3, span(peek()), "This type is nested too deeply.");
        switch (peek().kind) {
            case Tok::question:
            case Tok::coalesce:
                take();
                if (!std::holds_alternative<texpr::Nullable>(t->node)) t = make_type(begin, texpr::Nullable{t});  // t?? is t?
                break;
            case Tok::question_dot:
                take();
                t = make_type(begin, texpr::Nullable{t});
                if (!is(Tok::left_brace)) unexpected("`{` and methods");
                t = make_type(begin, texpr::Record{t, type_methods(take())});
                break;
            case Tok::dot: {
                take();
                if (std::holds_alternative<texpr::Variable>(t->node) && !is(Tok::left_brace)) return type();  // 'a.t: t for all 'a
                if (!is(Tok::left_brace)) {
                    t = type_of_method(t);
                    break;
                }
                auto methods = type_methods(take());
                t = make_type(begin, texpr::Record{t, std::move(methods)});
                break;
            }
            default: return t;
        }
    }
}

/// {m : t}.m is t.
TypeExpr* Parser::type_of_method(TypeExpr* t) {
    const auto* record = std::get_if<texpr::Record>(&t->node);
    if (record == nullptr) unexpected("`{` and methods");
    const Token where = peek();
    const Name wanted = method_name();
    for (auto m = record->methods.rbegin(); m != record->methods.rend(); ++m) {
        if (m->name == wanted) return m->type;
    }
    fail(3, span(where), fmt::format("This type has no method `{}`.", wanted.view()));
}

TypeExpr* Parser::type_primary() {
    const Token t = peek();
    switch (t.kind) {
        case Tok::underscore: take(); return make_type(t.begin, texpr::Wildcard{});
        case Tok::type_variable: take(); return make_type(t.begin, texpr::Variable{text(t).substr(1)});
        case Tok::left_bracket: return type_list();
        case Tok::left_paren: return type_parens();
        case Tok::left_brace: return type_braces();
        case Tok::identifier:
        case Tok::kw_null: return type_named();
        default: unexpected("a type");
    }
}

TypeExpr* Parser::type_list() {
    const Token opening = take();
    TypeExpr* element = type();
    expect_closing(Tok::right_bracket, opening);
    texpr::List list{element};
    if (is(Tok::identifier) && text(peek()) == "as") {
        take();
        const Token kind = peek();
        std::string words;
        for (const Name part : path()) words += (words.empty() ? "" : ".") + part.str();
        if (words != "json.object") fail(3, since(kind.begin), fmt::format("Expected `json.object` after `as`, found `{}`.", words));
        const auto* pair = std::get_if<texpr::Tuple>(&element->node);
        const auto* key = pair != nullptr && pair->elements.size() == 2 ? std::get_if<texpr::Named>(&pair->elements[0]->node) : nullptr;
        if (key == nullptr || key->name != Name("string"))
            fail(3, element->span, "`as json.object` makes an object of a list of keys and values: it is for [(string * t)] only.");
        list.json_object = true;
    }
    return make_type(opening.begin, list);
}

/// The type of an argument: t, label : t, ?label : t, ?t.
texpr::Param Parser::type_param() {
    texpr::Param p{};
    p.optional = accept(Tok::question);
    if (!p.optional) accept(Tok::tilde);
    if ((is(Tok::identifier) || is_keyword(peek().kind)) && is(Tok::colon, 1)) {
        p.label = text(take());
        take();
    }
    p.type = type();
    return p;
}

TypeExpr* Parser::type_parens() {
    const Token opening = take();
    std::vector<texpr::Param> params;
    while (!is(Tok::right_paren)) {
        params.push_back(type_param());
        if (!accept(Tok::comma)) break;
    }
    expect_closing(Tok::right_paren, opening);
    if (accept(Tok::arrow)) {
        TypeExpr* result = type();
        return make_type(opening.begin, texpr::Arrow{std::move(params), result});
    }
    if (params.empty()) return make_type(opening.begin, texpr::Tuple{});
    if (params.size() > 1 || params[0].optional || !params[0].label.empty()) unexpected("`->` and the type of the result");
    return params[0].type;
}

/// {t}: a getter, or a record of methods.
TypeExpr* Parser::type_braces() {
    const Token opening = take();
    const bool labelled = (is(Tok::identifier) || is_keyword(peek().kind)) && (is(Tok::colon, 1) || (is(Tok::question, 1) && is(Tok::colon, 2)));
    if (labelled || is(Tok::right_brace) || is(Tok::string)) {
        auto methods = type_methods(opening);
        return make_type(opening.begin, texpr::Record{nullptr, std::move(methods)});
    }
    TypeExpr* t = type();
    expect_closing(Tok::right_brace, opening);
    return make_type(opening.begin, texpr::Getter{t});
}

std::vector<texpr::Method> Parser::type_methods(const Token& opening) {
    std::vector<texpr::Method> methods;
    while (!is(Tok::right_brace)) {
        texpr::Method m{};
        if (is(Tok::string)) {
            m.json_name = string_value(take());
            const Token as = expect(Tok::identifier, "(`as` and the name of the method)");
            if (text(as) != "as") fail(3, span(as), fmt::format("Expected `as`, found `{}`.", text(as)));
        }
        m.name = method_name();
        m.optional = accept(Tok::question);
        expect(Tok::colon, "and the type of the method");
        m.type = type();
        methods.push_back(std::move(m));
        if (!accept(Tok::comma)) break;
    }
    expect_closing(Tok::right_brace, opening);
    return methods;
}

TypeExpr* Parser::type_named() {
    const Token first = take();
    std::string full(text(first));
    while (is(Tok::dot) && (is(Tok::identifier, 1) || is_keyword(peek(1).kind))) {
        take();
        full += "." + method_name().str();
    }
    if (!is(Tok::left_paren) || peek().newline_before) return make_type(first.begin, texpr::Named{full});
    const Token opening = take();
    texpr::Apply apply{full, {}};
    while (!is(Tok::right_paren)) {
        apply.args.push_back(type_argument());
        if (!accept(Tok::comma)) break;
    }
    expect_closing(Tok::right_paren, opening);
    return make_type(first.begin, std::move(apply));
}

/// audio=pcm('a), ?audio=pcm('a), stereo, 5.1, "text", ..., ...'a
texpr::ApplyArg Parser::type_argument() {
    texpr::ApplyArg a{};
    if (accept(Tok::ellipsis)) {
        a.rest = true;
        if (is(Tok::type_variable)) a.type = type_primary();
        return a;
    }
    a.optional = accept(Tok::question);
    if (is(Tok::identifier) && is(Tok::assign, 1)) {
        a.label = text(take());
        take();
    }
    switch (peek().kind) {
        case Tok::integer:
        case Tok::floating: a.literal = text(take()); break;
        case Tok::string: a.literal = string_value(take()); break;
        default: a.type = type();
    }
    return a;
}

/// `where 'a, 'b is a number type, 'c is an orderable type`, after a whole type.
void Parser::type_constraints(TypeExpr* t) {
    if (!is(Tok::identifier) || text(peek()) != "where") return;
    take();
    do {
        std::vector<Token> variables{expect(Tok::type_variable)};
        while (accept(Tok::comma)) variables.push_back(expect(Tok::type_variable));
        const Token is_word = expect(Tok::identifier, "(`is` and a constraint)");
        if (text(is_word) != "is") fail(2, span(is_word), fmt::format("Parse error: expected `is`, found {}.", found(is_word)));
        const std::uint32_t begin = peek().begin;
        while (!is(Tok::end_of_file) && !(is(Tok::comma) && is(Tok::type_variable, 1))) take();
        std::string_view kind = lexer_.text().substr(begin, last_end_ > begin ? last_end_ - begin : 0);
        for (const std::string_view article : {"a ", "an "}) {
            if (kind.starts_with(article)) kind.remove_prefix(article.size());
        }
        if (kind.ends_with(" type")) kind.remove_suffix(5);
        for (const Token& variable : variables) t->where.push_back({text(variable).substr(1), std::string(kind)});
    } while (accept(Tok::comma));
}

}  // namespace castile::lang
