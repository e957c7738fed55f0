// The command line of `castile fmt`.

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <vector>

#include "lang/diag.h"
#include "tools/format.h"

namespace castile::tools {

namespace {

constexpr const char* usage =
    "castile fmt [--check] [--stdout] FILE...\n\n"
    "Formats scripts in place; - formats standard input to standard output.\n\n"
    "  --check   change nothing; name the files that would change and exit 1 if there are any\n"
    "  --stdout  print the formatted scripts instead of writing them\n";

std::optional<std::string> read_file(const std::string& path) {
    struct stat status{};
    if (stat(path.c_str(), &status) != 0) return std::nullopt;
    if (S_ISDIR(status.st_mode)) {
        errno = EISDIR;
        return std::nullopt;
    }
    std::ifstream in(path, std::ios::binary);
    if (!in) return std::nullopt;
    std::ostringstream text;
    text << in.rdbuf();
    return std::move(text).str();
}

std::string read_input() {
    std::string text;
    char buffer[65536];
    while (const std::size_t got = std::fread(buffer, 1, sizeof buffer, stdin)) text.append(buffer, got);
    return text;
}

/// The file is replaced at once, so that nobody reads half of it; links and permissions stay.
bool write_file(const std::string& path, const std::string& text) {
    char* real = realpath(path.c_str(), nullptr);
    const std::string target = real != nullptr ? real : path;
    std::free(real);
    struct stat status{};
    if (stat(target.c_str(), &status) != 0) return false;
    std::string temporary = target + ".XXXXXX";
    const int fd = mkstemp(temporary.data());
    if (fd < 0) return false;
    std::size_t done = 0;
    bool good = true;
    while (good && done < text.size()) {
        const ssize_t written = write(fd, text.data() + done, text.size() - done);
        good = written > 0 || (written < 0 && errno == EINTR);
        if (written > 0) done += static_cast<std::size_t>(written);
    }
    good = fchmod(fd, status.st_mode & 07777U) == 0 && good;
    good = close(fd) == 0 && good;
    if (good && rename(temporary.c_str(), target.c_str()) == 0) return true;
    const int error = errno;
    unlink(temporary.c_str());
    errno = error;
    return false;
}

}  // namespace

int format_command(int argc, char** argv) {
    bool check = false, to_stdout = false;
    std::vector<std::string> files;
    bool options = true;
    for (int i = 0; i < argc; ++i) {
        const std::string word = argv[i];
        if (options && word == "--check") check = true;
        else if (options && word == "--stdout") to_stdout = true;
        else if (options && word == "--") options = false;
        else if (options && (word == "--help" || word == "-h")) return std::fputs(usage, stdout), 0;
        else if (options && word.size() > 1 && word.starts_with('-')) {
            std::fprintf(stderr, "castile fmt: unknown option %s.\n%s", word.c_str(), usage);
            return 2;
        } else files.push_back(word);
    }
    if (files.empty()) {
        std::fputs(usage, stderr);
        return 2;
    }
    int code = 0;
    for (const std::string& file : files) {
        const bool standard_input = file == "-";
        std::optional<std::string> text = standard_input ? read_input() : read_file(file);
        if (!text) {
            std::fprintf(stderr, "castile fmt: cannot read %s: %s.\n", file.c_str(), std::strerror(errno));
            code = 1;
            continue;
        }
        try {
            const std::string formatted = format_script(standard_input ? "<stdin>" : file, *text);
            if (check) {
                if (formatted == *text) continue;
                std::printf("%s\n", file.c_str());
                code = 1;
            } else if (to_stdout || standard_input) {
                std::fwrite(formatted.data(), 1, formatted.size(), stdout);
            } else if (formatted != *text && !write_file(file, formatted)) {
                std::fprintf(stderr, "castile fmt: cannot write %s: %s.\n", file.c_str(), std::strerror(errno));
                code = 1;
            }
        } catch (const lang::ScriptError& e) {
            std::fprintf(stderr, "%s\n", e.what());
            code = 1;
        } catch (const FormatError& e) {
            std::fprintf(stderr, "castile fmt: %s: %s It is left as it is.\n", file.c_str(), e.what());
            code = 1;
        } catch (const std::exception& e) {   // no memory
            std::fprintf(stderr, "castile fmt: %s: %s. It is left as it is.\n", file.c_str(), e.what());
            code = 1;
        }
    }
    std::fflush(stdout);
    return code;
}

}  // namespace castile::tools
