#pragma once
// What a prompt needs to know of what is typed at it.

#include <string>
#include <vector>

#include "lang/engine.h"

namespace castile::tools {

struct Input {
    bool incomplete = false;             ///< ends too early: another line is wanted
    std::vector<std::string> names;      ///< bound by it, in order; dotted ones too
    bool value = false;                  ///< ends with an expression, whose value is asked for
};

/// What is wrong with it shows when it is run.
Input read_input(lang::Engine& engine, const std::string& text);

/// The names, or the methods after a dot, that start with the last word of a line; each with all that precedes it in the word.
/// `names`: all globals, dotted and sorted.
std::vector<std::string> completions(lang::Engine& engine, const std::vector<std::string>& names, const std::string& word);

}  // namespace castile::tools
