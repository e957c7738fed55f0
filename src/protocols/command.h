#pragma once
// What protocols share that run a program to make the file.

#include <expected>
#include <string>
#include <string_view>

#include "request/request.h"

namespace castile::protocols {

/// Runs a shell command (in the sandbox of settings.sandbox, with the environment of settings.protocol.process) that is to write
/// the file `$(output)`, whose name ends in `.extension`. Blocking.
std::expected<ProtocolResult, Failure> file_by_command(std::string command, std::string_view extension, double timeout_seconds);

/// What such a command writes on its standard output.
std::expected<std::string, Failure> output_of_command(const std::string& command, double timeout_seconds);

/// Every `$(name)` replaced.
std::string with_variable(std::string text, std::string_view name, std::string_view value);

/// The local file that a URI leads to. Its request, which may own it, is destroyed with `found`.
struct Found {
    RequestPtr request;
    std::string path;
    Found(RequestPtr r, std::string p);
    Found(Found&&) = default;
    ~Found();
};
std::expected<Found, Failure> find_file(const std::string& uri, double timeout_seconds);

}  // namespace castile::protocols
