#include "tools/message_stream.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>

namespace castile::tools {

bool MessageStream::fill() {
    if (used_ > 0) {
        buffer_.erase(0, used_);
        used_ = 0;
    }
    char chunk[65536];
    for (;;) {
        const ssize_t got = ::read(in_, chunk, sizeof chunk);
        if (got > 0) {
            buffer_.append(chunk, static_cast<std::size_t>(got));
            return true;
        }
        if (got < 0 && errno == EINTR) continue;
        return false;
    }
}

bool MessageStream::pending() {
    if (used_ < buffer_.size()) return true;
    pollfd descriptor{in_, POLLIN, 0};
    return poll(&descriptor, 1, 0) > 0 && (descriptor.revents & POLLIN) != 0;
}

MessageStream::Result MessageStream::headers(std::size_t& length) {
    std::size_t total = 0;
    bool known = false, bad = false;
    for (;;) {
        std::size_t end = buffer_.find('\n', used_);
        while (end == std::string::npos) {
            if (buffer_.size() - used_ > max_header) return Result::end;   // no header: nothing can be understood any more
            if (!fill()) return Result::end;
            end = buffer_.find('\n', used_);
        }
        std::string line = buffer_.substr(used_, end - used_);
        used_ = end + 1;
        total += line.size();
        if (total > max_header) return Result::end;
        if (line.ends_with('\r')) line.pop_back();
        if (line.empty()) {
            if (!known && !bad && total == 0) continue;   // empty lines between messages
            return known && !bad ? Result::message : Result::malformed;
        }
        const std::size_t colon = line.find(':');
        std::string name = line.substr(0, colon);
        std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        if (colon == std::string::npos) {
            bad = true;
        } else if (name == "content-length") {
            const std::string_view value = std::string_view(line).substr(std::min(line.find_first_not_of(' ', colon + 1), line.size()));
            const auto [at, error] = std::from_chars(value.data(), value.data() + value.size(), length);
            known = error == std::errc{} && at == value.data() + value.size();
            bad = bad || !known;
        }
    }
}

MessageStream::Result MessageStream::read(std::string& body) {
    std::size_t length = 0;
    const Result result = headers(length);
    if (result != Result::message) return result;
    if (length > max_message) {
        while (length > 0) {
            const std::size_t there = std::min(length, buffer_.size() - used_);
            used_ += there;
            length -= there;
            if (length > 0 && !fill()) return Result::end;
        }
        return Result::too_large;
    }
    while (buffer_.size() - used_ < length)
        if (!fill()) return Result::end;
    body = buffer_.substr(used_, length);
    used_ += length;
    return Result::message;
}

bool MessageStream::write(std::string_view body) {
    std::string text = "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n";
    text += body;
    for (std::size_t done = 0; done < text.size();) {
        const ssize_t written = ::write(out_, text.data() + done, text.size() - done);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        done += static_cast<std::size_t>(written);
    }
    return true;
}

}  // namespace castile::tools
