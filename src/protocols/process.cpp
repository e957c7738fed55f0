// process:[timeout=SECONDS,]EXTENSION,COMMAND[:URI] makes a file by a shell command, out of another one if a URI is given.

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/child_process.h"
#include "protocols/command.h"

namespace castile::protocols {

namespace {

std::optional<double> seconds(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || value < 0) return std::nullopt;
    return value;
}

std::expected<ProtocolResult, Failure> make(const std::string& rest, double timeout) {
    const std::size_t colon = rest.find(':');
    std::string_view head = std::string_view(rest).substr(0, colon);
    const std::string uri = colon == rest.npos ? "" : rest.substr(colon + 1);
    constexpr std::string_view mark = "timeout=";
    if (head.starts_with(mark)) {
        const std::size_t comma = std::min(head.find(','), head.size());
        timeout = std::min(timeout, seconds(head.substr(mark.size(), comma - mark.size())).value_or(timeout));
        head.remove_prefix(std::min(comma + 1, head.size()));
    }
    const std::size_t comma = head.find(',');
    if (comma == head.npos) return std::unexpected(Failure{Failure::Kind::invalid, "process: is followed by an extension, a comma and a command."});
    const std::string_view extension = head.substr(0, comma);
    std::string command(head.substr(comma + 1));
    std::optional<Found> input;
    if (!uri.empty()) {
        auto found = find_file(uri, timeout);
        if (!found) return std::unexpected(std::move(found.error()));
        input.emplace(std::move(*found));
    }
    command = with_variable(std::move(command), "colon", ":");
    command = with_variable(std::move(command), "input", shell_quoted(input ? input->path : ""));
    return file_by_command(std::move(command), extension, timeout);
}

const RegisterProtocol process{
    "process", "Make a file by a shell command. In it `$(output)` is the file to write, `$(input)` the one that the URI leads to, `$(colon)` a colon.",
    "process:[timeout=<seconds>,]<extension>,<command>[:uri]", make};

}  // namespace

}  // namespace castile::protocols
