#pragma once
// Lines out of a byte stream in pieces: what a client of the command server types.

#include <cstddef>
#include <string>

#include "base/bytes.h"

namespace castile {

/// A line ends at a carriage return or line feed; empty ones do not count. What telnet says of itself (bytes after 0xFF) and NULs are no
/// part of it. Any bytes in any pieces; keeps one line at most.
class LineReader {
public:
    explicit LineReader(std::size_t longest = std::size_t{64} << 10) : longest_(longest) {}

    enum class Status { more, line, too_long };
    /// Takes bytes up to the end of a line; `used` says how many.
    Status feed(ByteSpan data, std::size_t& used);
    /// The line, after Status::line; the next one begins.
    std::string take();

private:
    enum class Telnet { none, command, option, subnegotiation, subnegotiation_command };
    bool telnet(unsigned char byte);

    const std::size_t longest_;
    std::string line_;
    Telnet telnet_ = Telnet::none;
};

}  // namespace castile
