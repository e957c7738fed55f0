#include "protocols/command.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>
#include <vector>

#include "base/child_process.h"
#include "base/log.h"
#include "base/sandbox.h"
#include "base/settings.h"
#include "request/temporary_file.h"

namespace castile::protocols {

namespace {

Setting<std::vector<std::string>> variables{"protocol.process.env", {}, "Environment variables that programs of protocols are given."};
Setting<bool> inherit{"protocol.process.inherit_env", true, "When that list is empty, give them our own environment?"};

constexpr std::size_t most_shown = 1000;   // bytes of what a failed program wrote

std::vector<std::string> environment() {
    std::vector<std::string> given;
    for (const std::string& name : variables.get())
        if (const char* value = std::getenv(name.c_str())) given.push_back(name + "=" + value);
    if (given.empty() && inherit.get()) return own_environment();
    return given;
}

std::expected<std::string, Failure> run(const std::string& command, double timeout) {
    static const Logger log("protocol.process");
    log.info("Executing {}", command);
    ProcessEnd end = run_process({sandboxed(command, {}), environment(), "", timeout});
    if (end.good()) return std::move(end.out);
    std::string what;
    Failure::Kind kind = Failure::Kind::other;
    switch (end.how) {
        case ProcessEnd::How::exit: what = fmt::format("ended with code {}", end.code); break;
        case ProcessEnd::How::killed: what = fmt::format("was ended by signal {}", end.code); break;
        case ProcessEnd::How::not_started: what = "could not be run: " + end.description; break;
        case ProcessEnd::How::timeout:
            what = fmt::format("took more than {:.1f} s", timeout);
            kind = Failure::Kind::timeout;
            break;
    }
    const std::string shown = end.err.substr(0, most_shown);
    return std::unexpected(Failure{kind, fmt::format("The command {} {}{}{}", command, what, shown.empty() ? "." : ": ", shown)});
}

}  // namespace

std::string with_variable(std::string text, std::string_view name, std::string_view value) {
    const std::string variable = fmt::format("$({})", name);
    for (std::size_t at = text.find(variable); at != text.npos; at = text.find(variable, at + value.size())) text.replace(at, variable.size(), value);
    return text;
}

std::expected<std::string, Failure> output_of_command(const std::string& command, double timeout) { return run(command, timeout); }

std::expected<ProtocolResult, Failure> file_by_command(std::string command, std::string_view extension, double timeout) {
    auto file = make_temporary_file(extension.empty() ? "" : "." + std::string(extension));
    if (!file) return std::unexpected(std::move(file.error()));
    command = with_variable(std::move(command), "output", shell_quoted(*file));
    if (const auto done = run(command, timeout); !done) {
        ::unlink(file->c_str());
        return std::unexpected(done.error());
    }
    ProtocolResult result;
    result.uris = {std::move(*file)};
    result.temporary = true;
    return result;
}

Found::Found(RequestPtr r, std::string p) : request(std::move(r)), path(std::move(p)) {}
Found::~Found() {
    if (request) request->destroy(true);
}

std::expected<Found, Failure> find_file(const std::string& uri, double timeout) {
    RequestPtr request = Request::create(uri, {.resolve_metadata = false, .open = false});
    const auto done = request->resolve(timeout);
    std::string path = request->filename();
    Found found(std::move(request), std::move(path));
    if (!done) return std::unexpected(done.error());
    return found;
}

}  // namespace castile::protocols
