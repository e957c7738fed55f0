// Patterns and types: printed by their tokens alone, since the tree keeps less than what was written.

#include "tools/formatter.h"

namespace castile::tools {

namespace {

bool opens(lang::Tok kind) {
    return kind == lang::Tok::left_paren || kind == lang::Tok::left_bracket || kind == lang::Tok::left_brace;
}
bool closes(lang::Tok kind) {
    return kind == lang::Tok::right_paren || kind == lang::Tok::right_bracket || kind == lang::Tok::right_brace;
}
bool word(lang::Tok kind) { return kind == lang::Tok::identifier || kind == lang::Tok::underscore || lang::is_keyword(kind); }

}  // namespace

bool Formatter::spaced(std::size_t previous, std::size_t next, Run where) const {
    const Tok p = kind_at(previous), n = kind_at(next);
    if (closes(n) || n == Tok::comma || n == Tok::semicolon || opens(p)) return false;
    if (n == Tok::dot || n == Tok::question_dot || p == Tok::dot || p == Tok::question_dot) return p == Tok::integer;
    if (p == Tok::tilde || p == Tok::ellipsis || p == Tok::bang || p == Tok::arguments_of) return false;
    const bool touching = tokens_[previous].end == tokens_[next].begin;
    if (n == Tok::left_paren && word(p)) return !where.types && !touching;
    if (n == Tok::left_bracket && word(p)) return !touching;
    const auto prefix = [&](std::size_t question) {
        const Tok before = question == 0 ? Tok::comma : kind_at(question - 1);
        return opens(before) || before == Tok::comma;
    };
    if (n == Tok::question || n == Tok::coalesce) return prefix(next) && p == Tok::comma;
    if (p == Tok::question && prefix(previous)) return false;
    // ~label:pattern
    const auto after_label = [&](std::size_t colon) { return colon >= 2 && kind_at(colon - 2) == Tok::tilde; };
    if (n == Tok::colon) return !after_label(next);
    if (p == Tok::colon) return !after_label(previous);
    if (n == Tok::assign || p == Tok::assign) return where.braces && !where.types;
    if (n == Tok::star && where.types) return !closes(kind_at(next + 1)) && kind_at(next + 1) != Tok::comma;
    return true;
}

DocPtr Formatter::run(Run where, const std::function<bool()>& ends) {
    Parts parts;
    bool first = true;
    while (!is(Tok::end_of_file) && !ends()) {
        if (!first) {
            if (is(Tok::comma)) {
                parts.push_back(token());
                if (!ends()) parts.push_back(docs_.line());
                first = true;
                continue;
            }
            if (spaced(at_ - 1, at_, where)) parts.push_back(docs_.space());
        }
        first = false;
        if (opens(kind_at(at_))) {
            parts.push_back(run_brackets(where));
        } else if (is(Tok::interpolation_begin)) {
            parts.push_back(interpolation());
        } else {
            // What follows the colon of (pattern : type) is a type.
            const bool typed = is(Tok::colon) && !(at_ >= 2 && kind_at(at_ - 2) == Tok::tilde);
            parts.push_back(token());
            if (typed) where.types = true;
        }
    }
    return docs_.concat(std::move(parts));
}

DocPtr Formatter::run_brackets(Run where) {
    if (++depth_ > 1500) lost();
    where.braces = is(Tok::left_brace);
    DocPtr open = token();
    if (closes(kind_at(at_))) {
        --depth_;
        return docs_.concat({open, token()});
    }
    DocPtr inner = run(where, [this] { return closes(kind_at(at_)); });
    DocPtr rest = dangling();
    if (rest == nullptr) rest = docs_.nothing();
    if (!closes(kind_at(at_))) lost();
    DocPtr close = token();
    --depth_;
    return docs_.group(docs_.concat({open, docs_.nest(docs_.concat({docs_.soft(), inner, rest})), docs_.soft(), close}));
}

}  // namespace castile::tools
