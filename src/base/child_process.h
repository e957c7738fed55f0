#pragma once
// Programs that are run and waited for: what they write, and how they end.

#include <string>
#include <vector>

namespace castile {

struct ChildProcess {
    std::vector<std::string> words;          ///< path of the program, arguments
    std::vector<std::string> environment;    ///< NAME=value, all of them
    std::string input;                       ///< what it reads
    double timeout_seconds = -1;             ///< after which it and what it started are killed; negative: never
};

struct ProcessEnd {
    enum class How { exit, killed, timeout, not_started };
    std::string out, err;                    ///< what it wrote, at most 256 MiB each
    How how = How::exit;
    int code = 0;                            ///< exit code, or the signal; -1 otherwise
    std::string description;
    bool good() const noexcept { return how == How::exit && code == 0; }
};

/// Runs it in a process group of its own. Blocking; any thread. Throws Error when there are no pipes left.
ProcessEnd run_process(const ChildProcess& process);

/// A shell command, as run_process takes it.
std::vector<std::string> shell_words(const std::string& command);
/// A text as one word of a shell command.
std::string shell_quoted(const std::string& text);
/// The process's own environment.
std::vector<std::string> own_environment();

}  // namespace castile
