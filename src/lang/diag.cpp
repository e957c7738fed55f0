#include "lang/diag.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace castile::lang {

namespace {

constexpr std::size_t most_of_message = 1500;  ///< bytes shown of the start and of the end of a long one
constexpr std::size_t context_bytes = 100;  ///< of a long line shown before and after the span

/// A byte that starts a UTF-8 character.
bool starts_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }

std::size_t characters(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), starts_character));
}

/// A line as shown: tabs and control characters become a space, so that carets stay below what they mark.
std::string printable(std::string_view text) {
    std::string out(text);
    for (char& c : out) {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
    }
    return out;
}

/// The part of the line [begin, end) to show so that [from, to) is seen, both as offsets into `text`.
std::pair<std::size_t, std::size_t> window(std::string_view text, std::size_t begin, std::size_t end, std::size_t from, std::size_t to) {
    if (end - begin <= 2 * context_bytes) return {begin, end};
    std::size_t first = from > begin + context_bytes ? from - context_bytes : begin;
    std::size_t last = std::min(end, std::min(to, from + context_bytes) + context_bytes);
    while (first > begin && !starts_character(text[first])) --first;
    while (last < end && !starts_character(text[last])) ++last;
    return {first, last};
}

/// Names and types in a message may be as long as the script that has them.
std::string shortened(const std::string& message) {
    if (message.size() <= 2 * most_of_message) return message;
    std::size_t first = most_of_message, last = message.size() - most_of_message;
    while (!starts_character(message[first])) --first;
    while (last < message.size() && !starts_character(message[last])) ++last;
    return message.substr(0, first) + " ... " + message.substr(last);
}

}  // namespace

std::uint32_t SourceMap::add(std::string name, std::string text) {
    File file{std::move(name), std::move(text), {0}};
    for (std::size_t i = 0; i < file.text.size(); ++i) {
        if (file.text[i] == '\n') file.lines.push_back(static_cast<std::uint32_t>(i + 1));
    }
    files_.push_back(std::move(file));
    return static_cast<std::uint32_t>(files_.size() - 1);
}

SourceMap::Position SourceMap::position(std::uint32_t file, std::uint32_t offset) const {
    const File& f = files_.at(file);
    offset = std::min(offset, static_cast<std::uint32_t>(f.text.size()));
    auto next = std::upper_bound(f.lines.begin(), f.lines.end(), offset);
    const std::uint32_t begin = *(next - 1);
    return {static_cast<unsigned>(next - f.lines.begin()),
            static_cast<unsigned>(characters(std::string_view(f.text).substr(begin, offset - begin)))};
}

std::string SourceMap::describe(Span span) const {
    if (!known(span)) return "unknown position";
    const Position from = position(span.file, span.begin);
    const Position to = position(span.file, span.end);
    const std::string& file = name(span.file);
    const std::string prefix = file.empty() ? "at " : "at " + file + ", ";
    if (from.line != to.line)
        return fmt::format("{}line {} char {} - line {} char {}", prefix, from.line, from.column, to.line, to.column);
    if (to.column <= from.column + 1) return fmt::format("{}line {}, char {}", prefix, from.line, from.column);
    return fmt::format("{}line {}, char {}-{}", prefix, from.line, from.column, to.column);
}

std::string SourceMap::excerpt(Span span) const {
    if (!known(span)) return "";
    const File& f = files_[span.file];
    const std::string_view text = f.text;
    const std::size_t from = std::min<std::size_t>(span.begin, text.size());
    const std::size_t to = std::clamp<std::size_t>(span.end, from, text.size());
    const auto line = [&](std::size_t offset) {
        const auto next = std::upper_bound(f.lines.begin(), f.lines.end(), offset);
        std::size_t end = next == f.lines.end() ? text.size() : *next - 1;
        return std::pair<std::size_t, std::size_t>{*(next - 1), end};
    };
    const auto show = [&](std::size_t begin, std::size_t end, std::size_t mark, std::size_t mark_end) {
        const auto [first, last] = window(text, begin, end, mark, mark_end);
        mark_end = std::clamp(mark_end, mark, last);
        const std::string before = first > begin ? "..." : "";
        return fmt::format("{}{}{}\n{:{}}{:^>{}}", before, printable(text.substr(first, last - first)), last < end ? "..." : "", "",
                           before.size() + characters(text.substr(first, mark - first)), "",
                           std::max<std::size_t>(1, characters(text.substr(mark, mark_end - mark))));
    };
    const auto [begin, end] = line(from);
    if (to <= end) return show(begin, end, from, to);
    std::string out = show(begin, end, from, end);
    const auto [last_begin, last_end] = line(to > from ? to - 1 : to);
    if (last_begin == begin) return out;
    if (last_begin > end + 1) out += "\n...";
    std::size_t mark = last_begin;
    while (mark < to && (text[mark] == ' ' || text[mark] == '\t')) ++mark;
    if (mark == to) mark = last_begin;
    return out + "\n" + show(last_begin, last_end, mark, std::min(to, last_end));
}

SourceMap& source_map() {
    // File 0 is nowhere: a default Span has no position.
    static SourceMap& map = *[] {
        auto* created = new SourceMap;
        created->add("", "");
        return created;
    }();
    return map;
}

std::string render(const Diagnostic& d, bool colour) {
    const auto paint = [&](const char* code, std::string text) {
        return colour ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::move(text);
    };
    const auto place = [&](Span span) {
        std::string where = source_map().describe(span);
        where[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(where[0])));
        const std::string excerpt = source_map().excerpt(span);
        return paint("1", where) + ":\n" + (excerpt.empty() ? "" : excerpt + "\n");
    };
    std::string out = place(d.span);
    out += d.severity == Severity::error ? paint("31;1", "Error") : paint("35;1", "Warning");
    out += fmt::format(" {}: {}", d.code, shortened(d.message));
    for (const auto& note : d.notes) out += "\n" + (note.span.file == 0 ? "" : place(note.span)) + note.message;
    return out;
}

ScriptError::ScriptError(Diagnostic d) : diagnostic_(std::move(d)), text_(render(diagnostic_)) {}

}  // namespace castile::lang
