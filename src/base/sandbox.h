#pragma once
// Processes of scripts kept apart from the rest of the system by bubblewrap, when `settings.sandbox` says so.

#include <string>
#include <vector>

namespace castile {

/// What a command may reach. In the folders, "default" stands for those of the settings.
struct SandboxLimits {
    std::vector<std::string> writable{"default"}, readable{"default"};
    int network = -1;   ///< 0: no, 1: yes, -1: as the settings say
};

/// The words of the program to run for a shell command. Any thread.
std::vector<std::string> sandboxed(const std::string& command, const SandboxLimits& limits);

/// Path of a program, looked for as a shell does; empty when there is none.
std::string find_program(const std::string& name);

}  // namespace castile
