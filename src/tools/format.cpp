// Formatting a script, and holding the result against it.

#include "tools/format.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "lang/diag.h"
#include "lang/parse.h"
#include "lang/parser.h"
#include "tools/formatter.h"
#include "tools/layout.h"

namespace castile::tools {

namespace {

constexpr std::size_t indentation = 2;
constexpr int max_rounds = 4;
constexpr std::size_t max_bytes = 64U << 20U;

/// A text known to source_map() for as long as this lives.
class Temporary {
public:
    Temporary(const std::string& name, std::string text) : mark_(lang::source_map().size()), file_(lang::source_map().add(name, std::move(text))) {}
    ~Temporary() { lang::source_map().forget_from(mark_); }
    Temporary(const Temporary&) = delete;
    Temporary& operator=(const Temporary&) = delete;
    std::uint32_t file() const noexcept { return file_; }

private:
    std::uint32_t mark_, file_;
};

/// What formatting must not change.
struct Content {
    std::string tree;
    std::vector<std::string> comments;   ///< without blanks at line ends, sorted
    bool operator==(const Content&) const = default;
};

std::string without_trailing_blanks(std::string_view text) {
    std::string out;
    while (true) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        while (line.ends_with(' ') || line.ends_with('\t') || line.ends_with('\r')) line.remove_suffix(1);
        out += line;
        if (end == text.size()) return out;
        out += '\n';
        text.remove_prefix(end + 1);
    }
}

struct Laid {
    std::string text;
    Content before;
};

Laid lay_out(const std::string& name, const std::string& script) {
    const Temporary source(name, script);
    lang::Arena tree;
    std::vector<lang::Diagnostic> warnings;
    std::vector<lang::Token> tokens;
    lang::Parser parser(tree, tree, source.file(), warnings);
    parser.record_tokens(&tokens);
    const lang::ast::Program program = parser.program();
    const std::string_view text = lang::source_map().text(source.file());
    Docs docs;
    Laid laid;
    laid.text = print(Formatter(docs, text, std::move(tokens), program.comments).program(program), line_width, indentation);
    laid.before.tree = lang::ast_json(program, false);
    for (const lang::Comment& c : program.comments) laid.before.comments.push_back(without_trailing_blanks(text.substr(c.begin, c.end - c.begin)));
    std::ranges::sort(laid.before.comments);
    return laid;
}

}  // namespace

std::string format_script(const std::string& name, std::string text) {
    if (text.size() > max_bytes) throw FormatError("The script is too large to be formatted.");
    if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
    const Laid first = lay_out(name, text);
    std::string formatted = first.text;
    // A comment may have moved over a token, which can let lines be joined or not: the second round then settles it.
    for (int round = 0; round < max_rounds; ++round) {
        Laid next;
        try {
            next = lay_out(name, formatted);
        } catch (const lang::ScriptError& e) {
            throw FormatError("The formatted script would not parse (" + e.diagnostic().message + ")");
        }
        if (next.before.tree != first.before.tree) throw FormatError("The formatted script would mean something else.");
        if (next.before.comments != first.before.comments) throw FormatError("The formatted script would have other comments.");
        if (next.text == formatted) return formatted;
        formatted = std::move(next.text);
    }
    throw FormatError("Formatting this script does not come to an end.");
}

}  // namespace castile::tools
