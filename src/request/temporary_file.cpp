#include "request/temporary_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

namespace castile {

std::expected<std::string, Failure> make_temporary_file(std::string_view suffix) {
    const char* chosen = std::getenv("TMPDIR");
    const std::string folder = chosen && *chosen ? chosen : "/tmp";
    std::string path = folder + "/castile-XXXXXX";
    path += suffix;
    const int descriptor = suffix.contains('/') ? (errno = EINVAL, -1) : ::mkstemps(path.data(), static_cast<int>(suffix.size()));
    if (descriptor < 0)
        return std::unexpected(Failure{Failure::Kind::denied, fmt::format("Cannot make a temporary file in {}: {}.", folder, std::system_category().message(errno))});
    ::close(descriptor);
    return path;
}

}  // namespace castile
