#include "net/line_reader.h"

#include <utility>

namespace castile {

namespace {

// RFC 854: interpret as command, the negotiations that take an option, the begin and end of a longer one.
constexpr unsigned char iac = 255, first_with_option = 251, subnegotiation_begin = 250, subnegotiation_end = 240;

bool ends_line(unsigned char byte) noexcept { return byte == '\r' || byte == '\n'; }

}  // namespace

// True: the byte is telnet's, not the line's.
bool LineReader::telnet(unsigned char byte) {
    switch (telnet_) {
        case Telnet::none:
            if (byte != iac) return false;
            telnet_ = Telnet::command;
            return true;
        case Telnet::command:
            telnet_ = Telnet::none;
            if (byte == iac) return false;  // the byte itself, doubled
            if (byte == subnegotiation_begin) telnet_ = Telnet::subnegotiation;
            else if (byte >= first_with_option) telnet_ = Telnet::option;
            else if (byte < subnegotiation_end) return false;  // no telnet at all, some other 0xFF
            return true;
        case Telnet::option: telnet_ = Telnet::none; return true;
        case Telnet::subnegotiation:
            if (byte == iac) telnet_ = Telnet::subnegotiation_command;
            else if (ends_line(byte)) telnet_ = Telnet::none;  // nobody ended it: the line goes on being read
            return telnet_ != Telnet::none;
        case Telnet::subnegotiation_command:
            telnet_ = byte == subnegotiation_end ? Telnet::none : Telnet::subnegotiation;
            return true;
    }
    return false;
}

LineReader::Status LineReader::feed(ByteSpan data, std::size_t& used) {
    for (used = 0; used < data.size(); ++used) {
        const unsigned char byte = data[used];
        if (telnet(byte) || byte == 0) continue;
        if (!ends_line(byte)) {
            if (line_.size() >= longest_) return Status::too_long;
            line_ += static_cast<char>(byte);
            continue;
        }
        if (line_.empty()) continue;
        ++used;
        return Status::line;
    }
    return Status::more;
}

std::string LineReader::take() { return std::exchange(line_, {}); }

}  // namespace castile
