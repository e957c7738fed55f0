#pragma once
// Diagnostics: errors and warnings as data, printed with the source line and a caret.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "lang/span.h"

namespace castile::lang {

/// The texts of a run: script, includes, standard library, `<expression>`. Append only; safe to read from any thread
/// while nothing is added.
class SourceMap {
public:
    std::uint32_t add(std::string name, std::string text);
    std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(files_.size()); }
    /// Drops the files from that number on: for texts that were only looked at. No span of theirs may be left.
    void forget_from(std::uint32_t file) { files_.resize(std::min<std::size_t>(files_.size(), file)); }
    const std::string& name(std::uint32_t file) const { return files_.at(file).name; }
    const std::string& text(std::uint32_t file) const { return files_.at(file).text; }
    /// A default Span (file 0) is nowhere.
    bool known(Span span) const { return span.file != 0 && span.file < files_.size(); }
    struct Position { unsigned line, column; };           ///< 1-based line, 0-based column in characters
    Position position(std::uint32_t file, std::uint32_t offset) const;
    /// "at script.liq, line 3, char 4-7" as Liquidsoap words it.
    std::string describe(Span span) const;
    /// The line with the span underlined by carets; empty when the span has no text.
    std::string excerpt(Span span) const;

private:
    struct File { std::string name, text; std::vector<std::uint32_t> lines; };
    std::deque<File> files_;
};

SourceMap& source_map();   ///< The process's.

enum class Severity : std::uint8_t { warning, error };

/// `code`: Liquidsoap's numbers. Errors: 1 lexing, 2 parse, 3 parse with a reason, 4 unbound variable, 5 type, 6 argument
/// label, 7 invalid value, ...; warnings: 1-3 ignored values, 4 unused variable, 5 deprecated, 6 top-level override.
struct Diagnostic {
    Severity severity = Severity::error;
    int code = 0;
    Span span;
    std::string message;
    struct Note { Span span; std::string message; };
    std::vector<Note> notes;
    bool incomplete = false;    ///< the text ended where more was expected: a prompt then asks for another line
};

/// "At script.liq, line 1, char 0-3:\n<line>\n<carets>\nError 5: ..." (Liquidsoap's shape).
std::string render(const Diagnostic& d, bool colour = false);

/// A script that cannot be run: thrown by parse, check and evaluation.
class ScriptError : public std::exception {
public:
    explicit ScriptError(Diagnostic d);
    const char* what() const noexcept override { return text_.c_str(); }
    const Diagnostic& diagnostic() const noexcept { return diagnostic_; }

private:
    Diagnostic diagnostic_;
    std::string text_;
};

}  // namespace castile::lang
