#pragma once
// Messages of the Language Server Protocol: headers, an empty line, JSON.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace castile::tools {

/// Reads and writes messages on two descriptors. Bounded: what is larger than max_message is skipped, not kept.
class MessageStream {
public:
    static constexpr std::size_t max_message = 32U << 20U, max_header = 8U << 10U;

    MessageStream(int in, int out) : in_(in), out_(out) {}

    enum class Result : std::uint8_t { message, too_large, malformed, end };
    /// Waits for a message. malformed: its headers give no length; what follows is read as the next.
    Result read(std::string& body);
    /// Is more there without waiting?
    bool pending();
    /// False when the other side is gone.
    bool write(std::string_view body);

private:
    bool fill();                        ///< reads what there is; false at the end
    Result headers(std::size_t& length);

    int in_, out_;
    std::string buffer_;
    std::size_t used_ = 0;              ///< of buffer_: read by us
};

}  // namespace castile::tools
