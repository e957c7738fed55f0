// The interactive interpreter (libedit).

#include "app/interactive.h"

#include <editline/readline.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <thread>

#include "app/run.h"
#include "base/error.h"
#include "builtins/lifecycle.h"
#include "builtins/threads.h"
#include "lang/eval.h"
#include "lang/library.h"
#include "tools/prompt.h"

namespace castile::app {

namespace {

constexpr int history_lines = 2000;

// For completion, which libedit calls without context.
lang::Engine* current = nullptr;
std::vector<std::string> library_names;

char* complete_name(const char* start, int state) {
    static std::vector<std::string> matches;
    if (state == 0) matches = tools::completions(*current, library_names, start);
    return static_cast<std::size_t>(state) < matches.size() ? strdup(matches[static_cast<std::size_t>(state)].c_str()) : nullptr;
}

/// $XDG_STATE_HOME/castile/history; empty when there is no home.
std::string history_path() {
    const char* state = std::getenv("XDG_STATE_HOME");
    const char* home = std::getenv("HOME");
    std::string folder = state != nullptr && *state == '/' ? state : home != nullptr && *home == '/' ? std::string(home) + "/.local/state" : "";
    if (folder.empty()) return "";
    folder += "/castile";
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    return error ? "" : folder + "/history";
}

class Prompt {
public:
    Prompt() : terminal_(isatty(STDIN_FILENO) != 0) {
        if (!terminal_) return;
        using_history();
        stifle_history(history_lines);
        path_ = history_path();
        if (!path_.empty()) read_history(path_.c_str());
        rl_completion_entry_function = complete_name;
        static char breaks[] = " \t\n\"'`@$><=;|&{}()[],+-*/!?:~%^#";
        rl_basic_word_break_characters = breaks;
        rl_completion_append_character = '\0';
    }
    bool terminal() const noexcept { return terminal_; }
    bool read(bool first, std::string& line) {
        if (!terminal_) return static_cast<bool>(std::getline(std::cin, line));
        char* typed = readline(first ? "# " : "  ");
        if (typed == nullptr) return false;
        line = typed;
        if (!line.empty()) {
            add_history(typed);
            // At once: the end may come by a signal.
            if (!path_.empty() && write_history(path_.c_str()) == 0) chmod(path_.c_str(), S_IRUSR | S_IWUSR);
        }
        std::free(typed);
        return true;
    }

private:
    bool terminal_;
    std::string path_;
};

void show(const std::string& name, const std::string& type, const lang::Value& value) {
    std::printf("%s : %s = %s\n", name.c_str(), type.c_str(), lang::to_string(value, true).c_str());
}

void evaluate(lang::Engine& engine, const std::string& text, const tools::Input& input) {
    std::vector<lang::Diagnostic> warnings;
    try {
        const lang::Value value = engine.run_script("<console>", text, warnings);
        for (const std::string& name : input.names)
            if (const auto bound = engine.global(name)) show(name, engine.types().type_of(name), *bound);
        if (input.value) show("-", engine.last_type(), value);
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

bool blank(const std::string& text) { return text.find_first_not_of(" \n\t\r") == std::string::npos; }

void loop(lang::Engine& engine) {
    current = &engine;
    lang::Library library(lang::Library::find_directory());
    for (const lang::Library::File& file : library.files()) library_names.insert(library_names.end(), file.names.begin(), file.names.end());
    std::ranges::sort(library_names);
    std::printf("\nWelcome to Castile's interactive interpreter. What is complete at the end of a line is evaluated; ;; or two empty lines end it\n"
                "where it stands. Tab completes names and methods, Ctrl-D ends.\n\n");
    std::fflush(stdout);
    Prompt prompt;
    std::string text, line;
    int empty = 0;
    bool open = true;
    while (open && !builtins::shutdown_requested()) {
        open = prompt.read(text.empty(), line);
        if (!open && blank(text)) break;
        if (open) {
            empty = blank(line) ? empty + 1 : 0;
            text += line + "\n";
        }
        const std::size_t end = text.find_last_not_of(" \n\t\r");
        const bool ended = end != std::string::npos && end > 0 && text.compare(end - 1, 2, ";;") == 0;
        if (ended) text.erase(end - 1);
        if (blank(text)) {
            text.clear();
            continue;
        }
        const tools::Input input = tools::read_input(engine, text);
        // What cannot be complete is not run, unless that is asked for or no more will come.
        if (input.incomplete && !ended && open && empty < 2) continue;
        evaluate(engine, text, input);
        text.clear();
        empty = 0;
    }
    builtins::request_shutdown(0);
}

}  // namespace

void start_interactive(lang::Engine& engine) {
    std::thread([&engine] { loop(engine); }).detach();
}

}  // namespace castile::app
