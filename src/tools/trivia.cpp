// Tokens and the comments around them.

#include <algorithm>

#include "tools/format.h"
#include "tools/formatter.h"

namespace castile::tools {

using lang::Comment;
using lang::Token;

namespace {

bool opens(lang::Tok kind) {
    return kind == lang::Tok::left_paren || kind == lang::Tok::left_bracket || kind == lang::Tok::left_brace;
}

/// Tokens that stand close to the one before: a comment between the two belongs to that one.
bool clings(lang::Tok kind) {
    using lang::Tok;
    return kind == Tok::right_paren || kind == Tok::right_bracket || kind == Tok::right_brace || kind == Tok::comma || kind == Tok::semicolon ||
           kind == Tok::dot || kind == Tok::question_dot || kind == Tok::left_paren || kind == Tok::left_bracket || kind == Tok::end_of_file;
}

}  // namespace

Formatter::Formatter(Docs& docs, std::string_view text, std::vector<Token> tokens, const std::vector<Comment>& comments)
    : docs_(docs), text_(text), tokens_(std::move(tokens)), comments_(comments) {
    Token end;
    end.begin = end.end = static_cast<std::uint32_t>(text.size());
    end.comments = static_cast<std::uint32_t>(comments.size());
    end.newline_before = true;
    tokens_.push_back(end);
    leading_.reserve(tokens_.size());
    std::uint32_t before = 0;
    for (const Token& t : tokens_) {
        leading_.push_back(before);
        before = t.comments;
    }
}

void Formatter::lost() const {
    const Token& t = tokens_[std::min(at_, tokens_.size() - 1)];
    throw FormatError("The formatter lost its way before `" + std::string(text_.substr(t.begin, std::min<std::size_t>(t.end - t.begin, 40))) + "`.", t.begin);
}

std::string_view Formatter::text_of(std::size_t index) const {
    if (index >= tokens_.size()) lost();
    return text_.substr(tokens_[index].begin, tokens_[index].end - tokens_[index].begin);
}

bool Formatter::line_between(std::size_t begin, std::size_t end) const {
    return begin < end && text_.substr(begin, end - begin).find('\n') != std::string_view::npos;
}

bool Formatter::blank_before(std::size_t token) const {
    const std::uint32_t first = leading_[token];
    const std::uint32_t earlier = token == 0 ? 0 : tokens_[token - 1].comments;
    const std::size_t begin = first > earlier ? comments_[first - 1].end : token == 0 ? 0 : tokens_[token - 1].end;
    const std::size_t end = first < tokens_[token].comments ? comments_[first].begin : tokens_[token].begin;
    if (end <= begin) return false;
    const std::string_view between = text_.substr(begin, end - begin);
    return std::ranges::count(between, '\n') > 1;
}

bool Formatter::comment_before(std::size_t token) const {
    if (token >= tokens_.size() || (token == 0 ? 0 : tokens_[token - 1].comments) == tokens_[token].comments) return false;
    return line_between(token == 0 ? 0 : tokens_[token - 1].end, tokens_[token].begin);
}

bool Formatter::trails(std::size_t index, std::size_t token) const {
    const Comment& c = comments_[index];
    const std::size_t before = index > tokens_[token].comments ? comments_[index - 1].end : tokens_[token].end;
    if (line_between(before, c.begin)) return false;
    if (text_.substr(c.begin, 2) != "#<") return true;
    const Token& next = tokens_[token + 1];
    const std::size_t after = index + 1 < next.comments ? comments_[index + 1].begin : next.begin;
    if (line_between(c.end, after)) return true;
    return clings(next.kind) && !opens(tokens_[token].kind);
}

DocPtr Formatter::comment(const Comment& c) {
    std::string_view text = text_.substr(c.begin, c.end - c.begin);
    while (text.ends_with(' ') || text.ends_with('\t') || text.ends_with('\r')) text.remove_suffix(1);
    return docs_.text(text);
}

void Formatter::comments_before(std::size_t token, Parts& out) {
    const std::uint32_t end = tokens_[token].comments;
    for (std::uint32_t i = leading_[token]; i < end; ++i) {
        const Comment& c = comments_[i];
        const std::uint32_t earlier = token == 0 ? 0 : tokens_[token - 1].comments;
        const std::size_t before = i > earlier ? comments_[i - 1].end : token == 0 ? 0 : tokens_[token - 1].end;
        const std::size_t after = i + 1 < end ? comments_[i + 1].begin : tokens_[token].begin;
        const auto lines = [&](std::size_t from, std::size_t to) {
            return from < to ? std::ranges::count(text_.substr(from, to - from), '\n') : 0;
        };
        if (lines(before, c.begin) > 0) out.push_back(docs_.fresh(!opened_ && lines(before, c.begin) > 1));
        out.push_back(comment(c));
        opened_ = false;
        if (lines(c.end, after) > 0) {
            out.push_back(docs_.hard(i + 1 == end && lines(c.end, after) > 1));
        } else {
            out.push_back(docs_.space());
        }
    }
    leading_[token] = end;
}

void Formatter::comments_after(std::size_t token, Parts& out) {
    if (token + 1 >= tokens_.size()) return;
    std::uint32_t i = tokens_[token].comments;
    for (; i < tokens_[token + 1].comments && trails(i, token); ++i) {
        const Comment& c = comments_[i];
        const std::size_t after = i + 1 < tokens_[token + 1].comments ? comments_[i + 1].begin : tokens_[token + 1].begin;
        if (text_.substr(c.begin, 2) != "#<" || line_between(c.end, after)) {
            out.push_back(docs_.suffix(comment(c)->text));
        } else {
            out.push_back(docs_.space());
            out.push_back(comment(c));
        }
    }
    leading_[token + 1] = i;
}

DocPtr Formatter::token() {
    Parts parts;
    const std::size_t index = at_;
    if (index + 1 >= tokens_.size()) lost();
    ++at_;
    comments_before(index, parts);
    parts.push_back(docs_.text(text_of(index)));
    opened_ = false;
    comments_after(index, parts);
    return parts.size() == 1 ? parts.front() : docs_.concat(std::move(parts));
}

DocPtr Formatter::expect(Tok kind) {
    if (!is(kind)) lost();
    return token();
}

DocPtr Formatter::token_without_text() {
    Parts parts;
    const std::size_t index = at_++;
    comments_before(index, parts);
    comments_after(index, parts);
    return docs_.concat(std::move(parts));
}

DocPtr Formatter::dangling() {
    const std::uint32_t end = tokens_[at_].comments;
    const std::size_t before = at_ == 0 ? 0 : tokens_[at_ - 1].end;
    if (leading_[at_] == end) return nullptr;
    const bool last = is(Tok::end_of_file);
    if (!last && !line_between(before, tokens_[at_].begin)) return nullptr;
    // What stands no deeper than the `else` after it belongs to that.
    const auto column = [&](std::size_t offset) {
        const std::size_t line = text_.rfind('\n', offset == 0 ? 0 : offset - 1);
        return line == std::string_view::npos ? offset : offset - line - 1;
    };
    const bool word = is(Tok::kw_else) || is(Tok::kw_elsif) || is(Tok::kw_catch) || is(Tok::kw_finally) || is(Tok::static_else);
    const std::size_t limit = word && tokens_[at_].newline_before ? column(tokens_[at_].begin) : 0;
    Parts parts;
    std::uint32_t i = leading_[at_];
    for (; i < end; ++i) {
        const Comment& c = comments_[i];
        if (word && tokens_[at_].newline_before && column(c.begin) <= limit) break;
        const std::uint32_t earlier = at_ == 0 ? 0 : tokens_[at_ - 1].comments;
        const std::size_t from = i > earlier ? comments_[i - 1].end : before;
        const auto lines = from < c.begin ? std::ranges::count(text_.substr(from, c.begin - from), '\n') : 0;
        parts.push_back(docs_.fresh(!opened_ && lines > 1));
        parts.push_back(comment(c));
        opened_ = false;
    }
    leading_[at_] = i;
    return parts.empty() ? nullptr : docs_.concat(std::move(parts));
}

}  // namespace castile::tools
