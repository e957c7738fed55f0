// The interactive interpreter (libedit).

#include "app/interactive.h"

#include <editline/readline.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <thread>

#include "app/run.h"
#include "base/error.h"
#include "builtins/lifecycle.h"
#include "builtins/threads.h"
#include "lang/eval.h"

namespace castile::app {

namespace {

lang::Engine* current = nullptr;   // for completion, which libedit calls without context

char* complete_name(const char* start, int state) {
    static std::vector<std::string> matches;
    if (state == 0) {
        matches.clear();
        for (std::string& name : current->types().names())
            if (name.starts_with(start)) matches.push_back(std::move(name));
    }
    return static_cast<std::size_t>(state) < matches.size() ? strdup(matches[static_cast<std::size_t>(state)].c_str()) : nullptr;
}

bool read_line(const char* prompt, std::string& line) {
    if (!isatty(STDIN_FILENO)) return static_cast<bool>(std::getline(std::cin, line));
    char* typed = readline(prompt);
    if (!typed) return false;
    line = typed;
    if (!line.empty()) add_history(typed);
    std::free(typed);
    return true;
}

/// The name that a single definition gives, "_" else.
std::string defined_name(const std::string& text) {
    std::size_t n = 0;
    while (n < text.size() && (std::isalnum(static_cast<unsigned char>(text[n])) || text[n] == '_')) ++n;
    std::size_t equals = text.find_first_not_of(' ', n);
    bool definition = n > 0 && equals != text.npos && text[equals] == '=' && (equals + 1 == text.size() || text[equals + 1] != '=');
    return definition ? text.substr(0, n) : "_";
}

void evaluate(lang::Engine& engine, const std::string& line) {
    std::vector<lang::Diagnostic> warnings;
    try {
        std::string name = defined_name(line);
        lang::Value value = engine.run_script("<console>", name == "_" ? line : line + "\n" + name, warnings);
        std::printf("%s : %s = %s\n", name.c_str(), engine.last_type().c_str(), lang::to_string(value, true).c_str());
        builtins::after_task();
    } catch (const lang::RuntimeError& e) {
        std::printf("%s\n", lang::render(lang::to_diagnostic(e)).c_str());
    } catch (const std::exception& e) {
        std::printf("%s\n", e.what());
    }
    for (const lang::Diagnostic& w : warnings)
        if (w.code == 5) std::printf("%s\n", lang::render(w).c_str());
    std::fflush(stdout);
}

void loop(lang::Engine& engine) {
    current = &engine;
    rl_completion_entry_function = complete_name;
    std::printf("\nWelcome to Castile's interactive interpreter. End an expression with ;; to evaluate it, or a line that stands alone. Ctrl-D ends.\n\n");
    std::fflush(stdout);
    std::string text, line;
    while (!builtins::shutdown_requested() && read_line(text.empty() ? "# " : "  ", line)) {
        text += line;
        std::size_t end = text.rfind(";;");
        bool open = text.find("def ") == 0 || text.find("begin") == 0 || text.ends_with("\\");
        if (end == text.npos && open) {
            if (text.ends_with("\\")) text.pop_back();
            text += "\n";
            continue;
        }
        if (end != text.npos) text.erase(end);
        if (text.find_first_not_of(" \n\t") != text.npos) evaluate(engine, text);
        text.clear();
    }
    builtins::request_shutdown(0);
}

}  // namespace

void start_interactive(lang::Engine& engine) {
    std::thread([&engine] { loop(engine); }).detach();
}

}  // namespace castile::app
