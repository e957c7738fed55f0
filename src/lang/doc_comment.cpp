#include "lang/doc_comment.h"

#include <algorithm>

namespace castile::lang {

namespace {

constexpr std::string_view blanks = " \t\r";

std::string_view trim(std::string_view text) {
    const std::size_t first = text.find_first_not_of(blanks);
    return first == std::string_view::npos ? "" : text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// A line without the sign of a comment, with its indentation; a line that is only # is a rule, and empty.
std::string_view comment_line(std::string_view line) {
    const std::string_view trimmed = trim(line);
    if (trimmed.find_first_not_of('#') == std::string_view::npos) return "";
    if (!trimmed.starts_with('#')) return line;
    std::string_view rest = trimmed.substr(1);
    if (rest.starts_with(' ') || rest.starts_with('\t')) rest.remove_prefix(1);
    return rest;
}

void append_lines(std::vector<std::string_view>& lines, std::string_view text) {
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        lines.push_back(comment_line(text.substr(0, end)));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
}

}  // namespace

term::Doc doc_of(std::string_view text, std::span<const Comment> comments) {
    std::size_t first = comments.size();
    while (first > 0) {
        const Comment& c = comments[first - 1];
        if (!c.own_line) break;
        if (first < comments.size()) {
            const std::string_view between = text.substr(c.end, comments[first].begin - c.end);
            if (std::count(between.begin(), between.end(), '\n') > 1) break;
        }
        --first;
    }
    std::vector<std::string_view> lines;
    for (std::size_t i = first; i < comments.size(); ++i) {
        std::string_view comment = text.substr(comments[i].begin, comments[i].end - comments[i].begin);
        if (comment.starts_with("#<")) comment = comment.substr(2, comment.size() - 4);
        append_lines(lines, comment);
    }
    term::Doc doc;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const std::string_view line = trim(lines[i]);
        if (line.size() > 1 && line[0] == '@' && line[1] >= 'a' && line[1] <= 'z') {
            const std::size_t end = std::min(line.find_first_of(blanks), line.size());
            std::string value(trim(line.substr(end)));
            while (value.ends_with('\\') && i + 1 < lines.size()) {
                value.pop_back();
                value += trim(lines[++i]);
            }
            doc.tags.emplace_back(line.substr(0, end), std::move(value));
        } else {
            doc.text += lines[i];
            doc.text += '\n';
        }
    }
    doc.text.erase(0, std::min(doc.text.find_first_not_of(" \t\r\n"), doc.text.size()));
    while (!doc.text.empty() && std::string_view(" \t\r\n").find(doc.text.back()) != std::string_view::npos) doc.text.pop_back();
    return doc;
}

}  // namespace castile::lang
