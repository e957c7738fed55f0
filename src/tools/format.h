#pragma once
// `castile fmt`: a script in the project's layout, with its comments and its literals as they were written.

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace castile::tools {

/// The formatter cannot say this script in its layout; nothing was lost, since the text is then left as it is.
class FormatError : public std::runtime_error {
public:
    explicit FormatError(const std::string& message, std::uint32_t offset = 0) : std::runtime_error(message), offset_(offset) {}
    std::uint32_t offset() const noexcept { return offset_; }   ///< in the script, in bytes

private:
    std::uint32_t offset_;
};

inline constexpr std::size_t line_width = 100;

/// The formatted script. It is read again: same tree, same comments, and formatting it once more changes nothing.
/// Throws lang::ScriptError when the script does not parse, FormatError when it cannot be formatted. `name` is for messages.
std::string format_script(const std::string& name, std::string text);

/// `castile fmt [--check] [--stdout] FILES|-`. Gives the exit code: 0, 1 (--check: something would change; or a file that
/// does not parse), 2 (bad call).
int format_command(int argc, char** argv);

}  // namespace castile::tools
