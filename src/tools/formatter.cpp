// Statements, definitions, parameters.

#include "tools/formatter.h"

#include <algorithm>
#include <utility>

#include "tools/format.h"

namespace castile::tools {

namespace ast = lang::ast;

DocPtr Formatter::program(const ast::Program& program) {
    Parts parts{statements(*program.block)};
    if (!is(Tok::end_of_file)) lost();
    if (DocPtr rest = dangling()) parts.push_back(rest);
    return docs_.concat(std::move(parts));
}

DocPtr Formatter::statements(const ast::Block& block, Place place) {
    Parts parts;
    const auto skip = [&] {
        while (is(Tok::semicolon)) parts.push_back(token_without_text());
    };
    skip();
    bool first = true;
    Tok before = Tok::end_of_file;
    for (const ast::Statement& s : block.statements) {
        if (!first) {
            if (line_between(tokens_[at_ - 1].end, tokens_[at_].begin) && !(before == Tok::encoder && is(Tok::left_paren))) {
                parts.push_back(docs_.hard(blank_before(at_)));
            } else if (before == Tok::encoder && is(Tok::left_paren)) {
                parts.push_back(docs_.text(";"));   // it would take what follows for its parameters, even on the next line
                parts.push_back(docs_.line());
            } else {
                parts.push_back(docs_.if_broken("", ";"));
                parts.push_back(docs_.line());
            }
        }
        first = false;
        parts.push_back(statement(s, place));
        before = kind_at(at_ - 1);
        skip();
    }
    return docs_.concat(std::move(parts));
}

void Formatter::block(Parts& out, const ast::Block& block, DocPtr edge, Place place) {
    opened_ = true;
    DocPtr body = statements(block, place);
    DocPtr rest = dangling();
    if (!body->parts.empty() || rest != nullptr)
        out.push_back(docs_.nest(docs_.concat({edge, body, rest != nullptr ? rest : docs_.nothing()})));
    out.push_back(edge);
}

DocPtr Formatter::statement(const ast::Statement& s, Place place) {
    if (const auto* e = std::get_if<ast::Evaluate>(&s.node)) return expression(*e->value, place);
    if (const auto* b = std::get_if<ast::Binding>(&s.node)) return b->kind == ast::BindingKind::def ? definition(*b, s.span) : binding(*b);
    if (std::holds_alternative<ast::Include>(s.node)) return token();
    DocPtr open = expect(Tok::kw_open);
    DocPtr value = expression(*std::get<ast::Open>(s.node).value);
    return docs_.concat({open, docs_.space(), value});
}

DocPtr Formatter::binding(const ast::Binding& b) {
    Parts parts;
    if (b.kind == ast::BindingKind::let) {
        parts.push_back(expect(Tok::kw_let));
        parts.push_back(docs_.space());
    }
    parts.push_back(run({}, [this] { return is(Tok::assign); }));
    parts.push_back(docs_.space());
    DocPtr equals = expect(Tok::assign);
    parts.push_back(assigned(equals, *b.value));
    return docs_.concat(std::move(parts));
}

/// Stays on the line of the `=` when it is something that can be broken inside.
DocPtr Formatter::assigned(DocPtr equals, const ast::Expr& value) {
    const bool stays = !std::holds_alternative<ast::Binary>(value.node) && !std::holds_alternative<ast::Ternary>(value.node) &&
                       !std::holds_alternative<ast::If>(value.node) && !std::holds_alternative<ast::While>(value.node) &&
                       !std::holds_alternative<ast::For>(value.node) && !std::holds_alternative<ast::ForEach>(value.node) &&
                       !std::holds_alternative<ast::Try>(value.node) && !std::holds_alternative<ast::Begin>(value.node) &&
                       !std::holds_alternative<ast::StaticIf>(value.node);
    if (stays && !comment_before(at_)) {
        DocPtr right = expression(value);
        return docs_.concat({equals, docs_.space(), right});
    }
    DocPtr right = expression(value, Place::own_line);
    return docs_.group(docs_.concat({equals, docs_.nest(docs_.concat({docs_.line(), right}))}));
}

DocPtr Formatter::definition(const ast::Binding& b, lang::Span span) {
    Parts parts{expect(Tok::kw_def), docs_.space()};
    if (!b.decoration.empty()) {
        parts.push_back(token());
        parts.push_back(docs_.space());
    }
    if (is(Tok::left_paren) && b.type != nullptr) {
        parts.push_back(run_brackets({}));
    } else {
        while (tokens_[at_].begin < b.pattern->span.end && !is(Tok::end_of_file)) parts.push_back(token());
    }
    if (b.params) parts.push_back(params(*b.params));
    bool apart = b.params.has_value() || b.type != nullptr;
    if (is(Tok::assign)) {
        parts.push_back(docs_.space());
        parts.push_back(token());
        apart = true;
    }
    // Brackets on the line of the name would be its parameters.
    block(parts, *b.body, apart ? docs_.line() : docs_.hard());
    parts.push_back(expect(Tok::kw_end));
    return docs_.group(docs_.concat(std::move(parts)), !one_line(span));
}

DocPtr Formatter::params(const std::vector<ast::Param>& params) {
    if (!is(Tok::left_paren)) lost();
    return bracketed(Tok::right_paren, {params.size(), [&](std::size_t i) { return param(params[i]); }});
}

DocPtr Formatter::param(const ast::Param& p) {
    const auto ends = [&] {
        return is(Tok::comma) || is(Tok::right_paren) || (p.default_value != nullptr && is(Tok::assign));
    };
    DocPtr name = run({}, ends);
    if (p.default_value == nullptr) return name;
    DocPtr equals = expect(Tok::assign);
    DocPtr value = expression(*p.default_value);
    return docs_.concat({name, equals, value});
}

DocPtr Formatter::static_if(const ast::StaticIf& node, lang::Span span) {
    Parts parts{token(), docs_.space()};
    switch (node.condition.kind) {
        case ast::Condition::Kind::version:
            parts.push_back(token());
            parts.push_back(docs_.space());
            parts.push_back(token());
            break;
        case ast::Condition::Kind::encoder: parts.push_back(token()); break;
        case ast::Condition::Kind::defined: {
            const auto dots = std::ranges::count(node.condition.name, '.');
            for (auto i = 0 * dots; i < 2 * dots + 1; ++i) parts.push_back(token());
            break;
        }
    }
    // Branches are no deeper: often a whole script stands in one.
    const auto branch = [&](const ast::Block& block) {
        opened_ = true;
        DocPtr body = statements(block);
        DocPtr rest = dangling();
        if (!body->parts.empty() || rest != nullptr) {
            parts.push_back(docs_.line());
            parts.push_back(body);
            if (rest != nullptr) parts.push_back(rest);
        }
        parts.push_back(docs_.line());
    };
    branch(*node.then);
    if (node.otherwise != nullptr) {
        parts.push_back(expect(Tok::static_else));
        branch(*node.otherwise);
    }
    parts.push_back(expect(Tok::static_end));
    return docs_.group(docs_.concat(std::move(parts)), !one_line(span));
}

}  // namespace castile::tools
