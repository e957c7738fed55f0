#pragma once
// A script in an editor: its text, and places in it as the Language Server Protocol counts them.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace castile::tools {

/// How the columns of a position are counted; agreed when the editor connects.
enum class Columns : std::uint8_t { utf8, utf16 };

struct Place {
    std::size_t line = 0, column = 0;   ///< both from 0
};

/// Offsets of a text to places and back. Anything outside is moved inside.
class Lines {
public:
    explicit Lines(std::string_view text);   ///< which must outlive it
    Place place(std::size_t offset, Columns columns) const;
    std::size_t offset(Place place, Columns columns) const;

private:
    std::string_view text_;
    std::vector<std::size_t> begins_;
};

/// The path of a file: URI, percent-decoded; the URI itself when it is no file's.
std::string path_of_uri(std::string_view uri);
std::string uri_of_path(std::string_view path);

}  // namespace castile::tools
