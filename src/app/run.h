#pragma once
// A run of scripts, from reading to closing.

#include <string>
#include <vector>

#include "app/options.h"
#include "lang/engine.h"

namespace castile::app {

/// Throws ScriptError, RuntimeError, Error. Gives the exit code.
int run(const Options& options);
/// Parses and checks only.
int check(const Options& options);
/// Reads every declared type and loads the whole standard library.
int check_library(const Options& options);
int print_json(const Options& options);
/// `castile lsp`.
int serve_editor();

lang::Engine::Options engine_options(const Options& options);
/// Runs the scripts, one after the other; their warnings are printed.
void evaluate(lang::Engine& engine, const Options& options);

/// A script of the command line: its name for messages and its text. Throws Error when it cannot be read.
struct Script { std::string name, text; };
Script read_script(const std::string& given);

void print_warnings(const std::vector<lang::Diagnostic>& warnings);

}  // namespace castile::app
