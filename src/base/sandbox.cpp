#include "base/sandbox.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <iterator>
#include <sstream>

#include "base/child_process.h"
#include "base/log.h"
#include "base/settings.h"

namespace castile {

namespace {

using Texts = std::vector<std::string>;

Texts usual_writable() {
    Texts folders;
    if (const char* home = std::getenv("HOME")) folders.emplace_back(home);
    std::error_code error;
    folders.push_back(std::filesystem::temp_directory_path(error).string());
    return folders;
}

Texts usual_variables() {
    std::error_code error;
    const std::string folder = std::filesystem::temp_directory_path(error).string();
    return {"TEMPDIR=" + folder, "TEMP=" + folder, "TMPDIR=" + folder, "TMP=" + folder};
}

std::string usual_shell() {
    const char* shell = std::getenv("SHELL");
    return shell && *shell ? shell : "/bin/sh";
}

Setting<bool> wanted{"sandbox", false, "Run the processes of scripts in a sandbox (bubblewrap)?"};
Setting<std::string> binary{"sandbox.binary", "bwrap", "Program that makes the sandbox."};
Setting<Texts> writable{"sandbox.rw", usual_writable(), "Folders that a sandbox may write."};
Setting<Texts> readable{"sandbox.ro", {"/"}, "Folders that a sandbox may read."};
Setting<bool> network{"sandbox.network", true, "May a sandbox use the network?"};
Setting<bool> in_shell{"sandbox.shell", true, "Run commands of a sandbox in a shell?"};
Setting<std::string> shell{"sandbox.shell.path", usual_shell(), "That shell."};
Setting<Texts> variables{"sandbox.setenv", usual_variables(), "Environment variables that a sandbox gets: \"NAME=value\"."};
Setting<Texts> without_variables{"sandbox.unsetenv", {}, "Environment variables that a sandbox does not get."};

Texts expanded(const Texts& folders, const Texts& usual) {
    Texts all;
    for (const std::string& f : folders) {
        if (f == "default") std::ranges::copy(usual, std::back_inserter(all));
        else all.push_back(f);
    }
    return all;
}

}  // namespace

std::string find_program(const std::string& name) {
    auto runnable = [](const std::string& path) {
        std::error_code error;
        return access(path.c_str(), X_OK) == 0 && !std::filesystem::is_directory(path, error);
    };
    if (name.contains('/')) return runnable(name) ? name : "";
    const char* path = std::getenv("PATH");
    std::istringstream folders(path ? path : "");
    for (std::string folder; std::getline(folders, folder, ':');)
        if (std::string candidate = folder + "/" + name; runnable(candidate)) return candidate;
    return "";
}

std::vector<std::string> sandboxed(const std::string& command, const SandboxLimits& limits) {
    const std::vector<std::string> plain = shell_words(command);
    if (!wanted.get()) return plain;
    std::string program = find_program(binary.get());
    if (program.empty()) {
        static std::atomic<bool> told = false;
        static const Logger log("sandbox");
        if (!told.exchange(true)) log.severe("There is no program {}: processes run without a sandbox.", binary.get());
        return plain;
    }
    std::vector<std::string> words{program, "--new-session"};
    auto add = [&words](std::initializer_list<std::string> more) { words.insert(words.end(), more); };
    if (limits.network < 0 ? !network.get() : limits.network == 0) add({"--unshare-net"});
    for (const std::string& v : variables.get())
        if (std::size_t equals = v.find('='); equals != v.npos) add({"--setenv", v.substr(0, equals), v.substr(equals + 1)});
    for (const std::string& v : without_variables.get()) add({"--unsetenv", v});
    for (const std::string& f : expanded(limits.readable, readable.get())) add({"--ro-bind", f, f});
    for (const std::string& f : expanded(limits.writable, writable.get())) add({"--bind", f, f});
    add({"--proc", "/proc", "--dev", "/dev"});
    if (in_shell.get()) {
        add({shell.get(), "-c", command});
    } else {
        std::istringstream parts(command);
        for (std::string word; parts >> word;) words.push_back(word);
    }
    return words;
}

}  // namespace castile
