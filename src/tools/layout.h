#pragma once
// A pretty printer after Wadler: documents say where a line may end, the printer decides where it does.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lang/arena.h"

namespace castile::tools {

struct Doc;
using DocPtr = const Doc*;

enum class DocKind : std::uint8_t {
    text,        ///< of one line
    verbatim,    ///< may hold line ends, which are kept
    space,       ///< dropped at the end of a line
    line,        ///< flat: `flat` (a space or nothing); broken: the end of a line
    hard,        ///< always the end of a line
    fresh,       ///< the end of a line, unless nothing stands on it yet
    suffix,      ///< a comment that goes to the end of the line, wherever that comes
    nest,        ///< one level deeper
    group,       ///< flat when it fits, else its lines are broken
    flat,        ///< never broken
    concat,
    choice,      ///< flat when it fits; else the first when its first line fits; else the second
    if_broken,   ///< a text in a broken group, another in a flat one
};

/// Immutable; lives in the arena of its Docs and may be shared.
struct Doc {
    DocKind kind;
    bool forced = false;           ///< holds what ends a line: groups around it are broken
    bool blank = false;            ///< line, hard, fresh: an empty line follows
    std::string_view text;         ///< text, verbatim, suffix, line (flat), if_broken (flat)
    std::string_view broken;       ///< if_broken
    DocPtr first = nullptr, second = nullptr;
    std::vector<DocPtr> parts;     ///< concat
};

/// Makes documents. Texts are not copied: they must outlive the printing.
class Docs {
public:
    DocPtr nothing();
    DocPtr text(std::string_view text);
    DocPtr space();
    DocPtr line(bool blank = false) { return end_of_line(DocKind::line, " ", blank); }
    DocPtr soft(bool blank = false) { return end_of_line(DocKind::line, "", blank); }
    DocPtr hard(bool blank = false) { return end_of_line(DocKind::hard, "", blank); }
    DocPtr fresh(bool blank = false) { return end_of_line(DocKind::fresh, "", blank); }
    DocPtr suffix(std::string_view comment);
    DocPtr nest(DocPtr inner);
    DocPtr group(DocPtr inner, bool broken = false);
    DocPtr flat(DocPtr inner);
    DocPtr concat(std::vector<DocPtr> parts);
    DocPtr choice(DocPtr first, DocPtr second);
    DocPtr if_broken(std::string_view broken, std::string_view flat);

private:
    DocPtr end_of_line(DocKind kind, std::string_view flat, bool blank);
    lang::Arena arena_;
};

/// Lines of at most `width` characters where the document allows it; no blanks at line ends, one empty line at most, a
/// line end at the end (of what is not empty).
std::string print(DocPtr doc, std::size_t width, std::size_t indentation);

}  // namespace castile::tools
