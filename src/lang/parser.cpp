#include "lang/parser.h"

#include <fmt/format.h>

namespace castile::lang {

Parser::Nest::Nest(Parser& parser) : parser_(parser) {
    if (parser_.nesting_ >= max_nesting)
        parser_.fail(3, parser_.span(parser_.peek()), fmt::format("This is nested too deeply: more than {} levels.", max_nesting));
    ++parser_.nesting_;
}

Parser::Parser(Arena& tree, Arena& types, std::uint32_t file, std::vector<Diagnostic>& warnings)
    : arena_(tree), types_(types), lexer_(file), warnings_(warnings) {}

ast::Program Parser::program() {
    ast::Block* statements = block();
    if (!is(Tok::end_of_file)) unexpected("an expression or a definition");
    return {lexer_.file(), statements, lexer_.comments()};
}

TypeExpr* Parser::only_type() {
    lexer_.set_types(true);
    TypeExpr* t = type();
    type_constraints(t);
    if (!is(Tok::end_of_file)) unexpected("the end of the type");
    return t;
}

Token Parser::peek(std::size_t ahead) {
    while (tokens_.size() <= position_ + ahead) tokens_.push_back(lexer_.next());
    return tokens_[position_ + ahead];
}

Token Parser::take() {
    const Token t = peek();
    if (++position_ == tokens_.size()) {
        tokens_.clear();
        position_ = 0;
    }
    if (recorded_ != nullptr) recorded_->push_back(t);
    last_end_ = t.end;
    comments_seen_ = t.comments;
    return t;
}

bool Parser::accept(Tok kind) {
    if (!is(kind)) return false;
    take();
    return true;
}

Token Parser::expect(Tok kind, std::string_view where) {
    if (!is(kind)) unexpected(fmt::format("{}{}{}", describe(kind), where.empty() ? "" : " ", where));
    return take();
}

Token Parser::expect_closing(Tok kind, const Token& opening) {
    if (is(kind)) return take();
    const Token t = peek();
    fail(2, span(t), fmt::format("Parse error: expected {}, found {}.", describe(kind), found(t)),
         {{span(opening), fmt::format("It would close this `{}`.", text(opening))}});
}

std::string Parser::found(const Token& t) const {
    switch (t.kind) {
        case Tok::end_of_file: return "the end of the script";
        case Tok::string:
        case Tok::raw_string:
        case Tok::interpolation_begin:
        case Tok::interpolation_text: return "a string";
        case Tok::interpolation_end: return "the end of the string";
        case Tok::regexp: return "a regular expression";
        default: break;
    }
    const std::string_view shown = text(t);
    return shown.size() > 60 ? std::string(describe(t.kind)) : fmt::format("`{}`", shown);
}

void Parser::fail(int code, Span where, std::string message, std::vector<Diagnostic::Note> notes) const {
    throw ScriptError({Severity::error, code, where, std::move(message), std::move(notes), where.begin >= lexer_.text().size()});
}

void Parser::unexpected(std::string_view expected) {
    const Token t = peek();
    fail(2, span(t), fmt::format("Parse error: expected {}, found {}.", expected, found(t)));
}

void Parser::deprecated(Span where, std::string message) {
    warnings_.push_back({Severity::warning, 5, where, "Deprecated: " + std::move(message), {}});
}

Name Parser::name(std::string_view what) {
    if (!is(Tok::identifier)) unexpected(what);
    return text(take());
}

Name Parser::method_name() {
    if (!is(Tok::identifier) && !is_keyword(peek().kind)) unexpected("the name of a field or method");
    return text(take());
}

std::string Parser::string_value(const Token& t) const {
    std::string_view raw = text(t);
    const bool escaped = raw[0] == '\\';
    const char quote = raw[escaped ? 1 : 0];
    const std::size_t delimiter = escaped ? 2 : 1;
    return unescape(raw.substr(delimiter, raw.size() - 2 * delimiter), quote);
}

}  // namespace castile::lang
