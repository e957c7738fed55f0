// Expressions.

#include <algorithm>
#include <utility>

#include "tools/format.h"
#include "tools/formatter.h"

namespace castile::tools {

namespace ast = lang::ast;

namespace {

template <class... F> struct Overload : F... { using F::operator()...; };
template <class... F> Overload(F...) -> Overload<F...>;  // clang needs it spelt out

constexpr unsigned max_depth = 1500;

/// Operators of one class stand in one list.
int operator_class(std::string_view op) {
    if (op == ":=") return 1;
    if (op == "and") return 2;
    if (op == "or") return 3;
    if (op == "==" || op == "!=" || op == "<" || op == ">" || op == "<=" || op == ">=" || op == "@") return 4;
    if (op == "*" || op == "/" || op == "*." || op == "/." || op == "mod") return 6;
    if (op == "??") return 7;
    if (op == "::") return 8;
    return 5;
}

/// What may stand open at the end of a call's line: f(x, {
bool huggable(const ast::Expr* e) {
    if (e == nullptr) return false;
    if (const auto* f = std::get_if<ast::Function>(&e->node)) return std::holds_alternative<ast::Begin>(f->body->node);
    if (const auto* r = std::get_if<ast::Record>(&e->node)) return r->base == nullptr && !r->fields.empty();
    if (const auto* l = std::get_if<ast::List>(&e->node)) return !l->items.empty();
    return std::holds_alternative<ast::Getter>(e->node);
}

/// A list of numbers or short words: many on a line.
bool plain(const ast::Item& item) {
    const auto& n = item.value->node;
    return !item.spread && (std::holds_alternative<ast::Int>(n) || std::holds_alternative<ast::Float>(n) || std::holds_alternative<ast::Bool>(n));
}

bool is_link(const ast::Expr& e) {
    const auto* record = std::get_if<ast::Record>(&e.node);
    return std::holds_alternative<ast::Access>(e.node) || std::holds_alternative<ast::Call>(e.node) || std::holds_alternative<ast::Index>(e.node) ||
           (record != nullptr && record->base != nullptr);
}

}  // namespace

DocPtr Formatter::expression(const ast::Expr& e, Place place) {
    if (++depth_ > max_depth) throw FormatError("This is nested too deeply to be formatted.", e.span.begin);
    const lang::Span span = e.span;
    DocPtr doc = std::visit(
        Overload{
            [&](const ast::Int&) { return token(); },
            [&](const ast::Float&) { return token(); },
            [&](const ast::String&) { return token(); },
            [&](const ast::RawString&) { return token(); },
            [&](const ast::Interpolation&) { return interpolation(); },
            [&](const ast::Regexp&) { return token(); },
            [&](const ast::Bool&) { return token(); },
            [&](const ast::Null&) { return token(); },
            [&](const ast::Variable&) { return token(); },
            [&](const ast::Time&) { return token(); },
            [&](const ast::Tuple& n) {
                return bracketed(Tok::right_paren, {n.elements.size(), [&](std::size_t i) { return expression(*n.elements[i]); }});
            },
            [&](const ast::List& n) {
                const auto item = [&](std::size_t i) {
                    if (!n.items[i].spread) return expression(*n.items[i].value);
                    DocPtr dots = expect(Tok::ellipsis);
                    DocPtr value = expression(*n.items[i].value);
                    return docs_.concat({dots, value});
                };
                return bracketed(Tok::right_bracket, {n.items.size(), item, false, std::ranges::all_of(n.items, plain)});
            },
            [&](const ast::Record& n) { return n.base != nullptr ? chain(e) : record(n); },
            [&](const ast::Parens& n) {
                DocPtr open = expect(Tok::left_paren);
                DocPtr value = expression(*n.value);
                DocPtr close = expect(Tok::right_paren);
                return docs_.group(docs_.concat({open, value, close}));
            },
            [&](const ast::Ascribe& n) {
                DocPtr open = expect(Tok::left_paren);
                DocPtr value = expression(*n.value);
                DocPtr colon = expect(Tok::colon);
                DocPtr type = run({true, false}, [this] { return is(Tok::right_paren); });
                DocPtr close = expect(Tok::right_paren);
                return docs_.group(docs_.concat({open, value, docs_.space(), colon, docs_.space(), type, close}));
            },
            [&](const ast::Begin& n) {
                Parts parts{expect(Tok::kw_begin)};
                block(parts, *n.block, docs_.line());
                parts.push_back(expect(Tok::kw_end));
                return docs_.group(docs_.concat(std::move(parts)), !one_line(span));
            },
            [&](const ast::Getter& n) {
                Parts parts{expect(Tok::left_brace)};
                block(parts, *n.block, docs_.soft());
                parts.push_back(expect(Tok::right_brace));
                return docs_.group(docs_.concat(std::move(parts)), !one_line(span));
            },
            [&](const ast::Function& n) { return function(n); },
            [&](const ast::Call&) { return chain(e); },
            [&](const ast::Index&) { return chain(e); },
            [&](const ast::Access&) { return chain(e); },
            [&](const ast::Unary& n) {
                DocPtr op = token();
                const bool apart = n.op.view() == "not" || text_of(at_).starts_with('.') || text_of(at_).starts_with('-');
                DocPtr operand = expression(*n.operand);
                return docs_.concat({op, apart ? docs_.space() : docs_.nothing(), operand});
            },
            [&](const ast::Binary&) { return binary(e, place); },
            [&](const ast::Ternary& n) {
                DocPtr condition = expression(*n.condition);
                DocPtr question = expect(Tok::question);
                DocPtr then = expression(*n.then);
                DocPtr colon = expect(Tok::colon);
                DocPtr otherwise = expression(*n.otherwise);
                return docs_.group(docs_.concat({condition, docs_.nest(docs_.concat({docs_.line(), question, docs_.space(), then, docs_.line(), colon,
                                                                                     docs_.space(), otherwise}))}));
            },
            [&](const ast::If& n) { return conditional(n, span); },
            [&](const ast::While& n) {
                DocPtr word = expect(Tok::kw_while);
                DocPtr condition = expression(*n.condition);
                return loop(*n.body, {word, docs_.space(), condition}, span);
            },
            [&](const ast::For& n) {
                Parts head{expect(Tok::kw_for), docs_.space(), token(), docs_.space(), expect(Tok::assign), docs_.space()};
                head.push_back(expression(*n.from));
                head.push_back(docs_.space());
                head.push_back(expect(Tok::kw_to));
                head.push_back(docs_.space());
                head.push_back(expression(*n.to));
                return loop(*n.body, std::move(head), span);
            },
            [&](const ast::ForEach& n) {
                Parts head{expect(Tok::kw_for), docs_.space(), token(), docs_.space(), expect(Tok::assign), docs_.space()};
                head.push_back(expression(*n.iterator));
                return loop(*n.body, std::move(head), span);
            },
            [&](const ast::Try& n) { return attempt(n, span); },
            [&](const ast::Encoder& n) {
                DocPtr name = expect(Tok::encoder);
                if (!is(Tok::left_paren)) return name;
                const auto item = [&](std::size_t i) {
                    const ast::EncoderParam& p = n.params[i];
                    if (p.encoder != nullptr) return expression(*p.encoder);
                    if (!p.word.empty()) return token();
                    if (p.label.empty()) return expression(*p.value);
                    DocPtr label = token();
                    DocPtr equals = expect(Tok::assign);
                    DocPtr value = expression(*p.value);
                    return docs_.concat({label, equals, value});
                };
                DocPtr params = bracketed(Tok::right_paren, {n.params.size(), item});
                return docs_.concat({name, params});
            },
            [&](const ast::StaticIf& n) { return static_if(n, span); },
        },
        e.node);
    --depth_;
    return doc;
}

/// As written, up to its closing quote.
DocPtr Formatter::interpolation() {
    const std::size_t first = at_;
    Parts parts;
    comments_before(first, parts);
    int open = 0;
    do {
        if (is(Tok::end_of_file)) lost();
        if (is(Tok::interpolation_begin)) ++open;
        if (is(Tok::interpolation_end)) --open;
        ++at_;
    } while (open > 0);
    const std::uint32_t begin = tokens_[first].begin;
    parts.push_back(docs_.text(text_.substr(begin, tokens_[at_ - 1].end - begin)));
    opened_ = false;
    comments_after(at_ - 1, parts);
    return docs_.concat(std::move(parts));
}

/// Items between brackets: on one line, or one a line. A line end just after the opening bracket asks for the latter (if they are several).
DocPtr Formatter::bracketed(Tok closing, const Items& items) {
    const bool broken = items.count > 1 && tokens_[std::min(at_ + 1, tokens_.size() - 1)].newline_before;
    const std::uint32_t comments = tokens_[at_].comments;
    DocPtr open = token();
    opened_ = true;
    Parts docs, plain_docs;
    std::vector<bool> blanks;
    bool has_blanks = false;
    for (std::size_t i = 0; i < items.count; ++i) {
        blanks.push_back(i > 0 && blank_before(at_));
        has_blanks = has_blanks || blanks.back();
        DocPtr item = items.make(i);
        DocPtr with_comma = item;
        if (is(Tok::comma)) {
            if (kind_at(at_ + 1) == closing) {
                DocPtr comments = token_without_text();
                item = docs_.concat({item, comments});
                with_comma = docs_.concat({item, docs_.if_broken(",", "")});
            } else {
                with_comma = item = docs_.concat({item, token()});
            }
        }
        docs.push_back(with_comma);
        plain_docs.push_back(item);
    }
    DocPtr rest = dangling();
    const bool commented = tokens_[at_].comments != comments;
    DocPtr close = expect(closing);
    if (items.count == 0 && rest == nullptr) return docs_.concat({open, close});

    Parts inner{docs_.soft()};
    for (std::size_t i = 0; i < docs.size(); ++i) {
        if (i > 0 && items.fill && !commented && !has_blanks) {
            inner.push_back(docs_.group(docs_.concat({docs_.line(), docs[i]})));
            continue;
        }
        if (i > 0) inner.push_back(docs_.line(blanks[i]));
        inner.push_back(docs[i]);
    }
    if (rest != nullptr) inner.push_back(rest);
    DocPtr exploded = docs_.group(docs_.concat({open, docs_.nest(docs_.concat(std::move(inner))), docs_.soft(), close}), broken);
    const bool early = std::any_of(docs.begin(), docs.empty() ? docs.begin() : docs.end() - 1, [](DocPtr d) { return d->forced; });
    if (!items.hug || broken || rest != nullptr || open->forced || early || docs.empty()) return exploded;
    Parts hugged{open};
    for (std::size_t i = 0; i + 1 < docs.size(); ++i) {
        hugged.push_back(docs_.flat(docs[i]));
        hugged.push_back(docs_.space());
    }
    hugged.push_back(plain_docs.back());
    hugged.push_back(close);
    return docs_.choice(docs_.concat(std::move(hugged)), exploded);
}

DocPtr Formatter::argument(const ast::Argument& a) {
    if (a.argsof) return run({}, [this] { return is(Tok::comma) || is(Tok::right_paren); });
    if (a.label.empty()) return expression(*a.value);
    DocPtr label = expect(Tok::identifier);
    DocPtr equals = expect(Tok::assign);
    DocPtr value = expression(*a.value);
    return docs_.concat({label, equals, value});
}

DocPtr Formatter::call(const ast::Call& call) {
    if (!is(Tok::left_paren)) {  // ref x
        DocPtr value = expression(*call.arguments.at(0).value);
        return docs_.concat({docs_.space(), value});
    }
    const bool hug = !call.arguments.empty() && huggable(call.arguments.back().value);
    return bracketed(Tok::right_paren, {call.arguments.size(), [&](std::size_t i) { return argument(call.arguments[i]); }, hug});
}

DocPtr Formatter::record(const ast::Record& record) {
    const auto field = [&](std::size_t i) {
        const ast::Field& f = record.fields[i];
        if (f.spread) {
            DocPtr dots = expect(Tok::ellipsis);
            DocPtr value = expression(*f.value);
            return docs_.concat({dots, value});
        }
        DocPtr name = token();
        if (!is(Tok::assign)) return name;
        DocPtr equals = token();
        return docs_.concat({name, docs_.space(), assigned(equals, *f.value)});
    };
    if (!is(Tok::left_brace)) lost();
    return bracketed(Tok::right_brace, {record.fields.size(), field});
}

/// Calls and methods. A line end before a dot is kept.
DocPtr Formatter::chain(const ast::Expr& e) {
    std::vector<const ast::Expr*> steps;
    const ast::Expr* base = &e;
    while (is_link(*base)) {
        steps.push_back(base);
        base = std::visit(Overload{
                              [](const ast::Access& n) -> const ast::Expr* { return n.base; },
                              [](const ast::Call& n) -> const ast::Expr* { return n.function; },
                              [](const ast::Index& n) -> const ast::Expr* { return n.base; },
                              [](const ast::Record& n) -> const ast::Expr* { return n.base; },
                              [](const auto&) -> const ast::Expr* { return nullptr; },
                          },
                          base->node);
    }
    DocPtr head = expression(*base);
    Parts links;
    bool lines = false;
    const auto dot = [&] {
        if (!is(Tok::dot) && !is(Tok::question_dot)) lost();
        const Tok before = kind_at(at_ - 1);
        if (tokens_[at_].newline_before) {
            links.push_back(docs_.hard());
            lines = true;
        } else if (before == Tok::integer || before == Tok::encoder || before == Tok::static_end) {
            links.push_back(kind_at(at_ + 1) == Tok::left_brace && before == Tok::integer ? docs_.nothing() : docs_.space());
        }
        links.push_back(token());
    };
    for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
        if (std::holds_alternative<ast::Access>((*step)->node)) {
            dot();
            links.push_back(token());
        } else if (const auto* c = std::get_if<ast::Call>(&(*step)->node)) {
            links.push_back(call(*c));
        } else if (const auto* index = std::get_if<ast::Index>(&(*step)->node)) {
            links.push_back(expect(Tok::left_bracket));
            links.push_back(expression(*index->key));
            links.push_back(expect(Tok::right_bracket));
        } else {
            dot();
            links.push_back(record(std::get<ast::Record>((*step)->node)));
        }
    }
    DocPtr tail = docs_.concat(std::move(links));
    return docs_.concat({head, lines ? docs_.nest(tail) : tail});
}

/// Lines end after operators: before them, `- x` would be a statement.
DocPtr Formatter::binary(const ast::Expr& e, Place place) {
    const int kind = operator_class(std::get<ast::Binary>(e.node).op.view());
    std::vector<const ast::Binary*> spine;
    const ast::Expr* left = &e;
    for (;;) {
        const auto* node = std::get_if<ast::Binary>(&left->node);
        if (node == nullptr || operator_class(node->op.view()) != kind) break;
        spine.push_back(node);
        left = node->left;
    }
    DocPtr first = expression(*left);
    Parts rest;
    for (auto node = spine.rbegin(); node != spine.rend(); ++node) {
        rest.push_back(docs_.space());
        rest.push_back(token());
        rest.push_back(docs_.line());
        rest.push_back(expression(*(*node)->right));
    }
    DocPtr tail = docs_.concat(std::move(rest));
    return docs_.group(docs_.concat({first, place == Place::own_line ? tail : docs_.nest(tail)}));
}

DocPtr Formatter::function(const ast::Function& f) {
    DocPtr fun = expect(Tok::kw_fun);
    DocPtr arguments = params(f.params);
    DocPtr arrow = expect(Tok::arrow);
    const auto& body = f.body->node;
    const auto* record = std::get_if<ast::Record>(&body);
    const bool stays = std::holds_alternative<ast::Begin>(body) || std::holds_alternative<ast::List>(body) || std::holds_alternative<ast::Getter>(body) ||
                       std::holds_alternative<ast::Function>(body) || (record != nullptr && record->base == nullptr);
    const bool apart = comment_before(at_);
    DocPtr head = docs_.concat({fun, docs_.space(), arguments, docs_.space(), arrow});
    if (stays && !apart) {
        DocPtr value = expression(*f.body);
        return docs_.concat({head, docs_.space(), value});
    }
    DocPtr value = expression(*f.body, Place::own_line);
    return docs_.group(docs_.concat({head, docs_.nest(docs_.concat({docs_.line(), value}))}));
}

DocPtr Formatter::conditional(const ast::If& node, lang::Span span) {
    Parts parts;
    for (const ast::Branch& branch : node.branches) {
        if (!is(Tok::kw_if) && !is(Tok::kw_elsif)) lost();
        Parts head{token()};
        block(head, *branch.condition, docs_.line(), Place::own_line);
        head.push_back(expect(Tok::kw_then));
        parts.push_back(docs_.group(docs_.concat(std::move(head))));
        block(parts, *branch.then, docs_.line());
    }
    if (node.otherwise != nullptr) {
        parts.push_back(expect(Tok::kw_else));
        block(parts, *node.otherwise, docs_.line());
    }
    parts.push_back(expect(Tok::kw_end));
    return docs_.group(docs_.concat(std::move(parts)), !one_line(span));
}

DocPtr Formatter::loop(const ast::Block& body, Parts head, lang::Span span) {
    head.push_back(docs_.space());
    head.push_back(expect(Tok::kw_do));
    block(head, body, docs_.line());
    head.push_back(expect(Tok::kw_end));
    return docs_.group(docs_.concat(std::move(head)), !one_line(span));
}

DocPtr Formatter::attempt(const ast::Try& node, lang::Span span) {
    Parts parts{expect(Tok::kw_try)};
    block(parts, *node.body, docs_.line());
    if (node.handler != nullptr) {
        parts.push_back(expect(Tok::kw_catch));
        parts.push_back(docs_.space());
        parts.push_back(token());
        parts.push_back(docs_.space());
        if (node.errors != nullptr) {
            parts.push_back(token());  // : or in
            parts.push_back(docs_.space());
            parts.push_back(expression(*node.errors));
            parts.push_back(docs_.space());
        }
        parts.push_back(expect(Tok::kw_do));
        block(parts, *node.handler, docs_.line());
    }
    if (node.finally != nullptr) {
        parts.push_back(expect(Tok::kw_finally));
        block(parts, *node.finally, docs_.line());
    }
    parts.push_back(expect(Tok::kw_end));
    return docs_.group(docs_.concat(std::move(parts)), !one_line(span));
}

}  // namespace castile::tools
