#pragma once
// The command line.

#include <optional>
#include <string>
#include <vector>

namespace castile::app {

struct Options {
    enum class Action { run, check, check_library, parse_only, print_json, version, build_config, list_functions, list_functions_by_category, list_functions_json,
                        list_functions_md, list_extra_functions_md, list_deprecated_functions_md, list_protocols_md, list_plugins,
                        list_settings, describe, request, help };
    Action action = Action::run;
    std::vector<std::string> scripts;      ///< files, expressions, "-"
    std::vector<std::string> arguments;    ///< after "--": the script's own
    std::string name;                      ///< of -h NAME, -r URI
    enum class Dump { none, sources, clocks };
    Dump dump = Dump::none;                ///< show them once the script ran for a moment, then end
    double dump_delay = 0.1;               ///< seconds
    std::string help;                      ///< text of --help
    std::optional<bool> log_to_stdout;
    std::optional<double> simulate;        ///< seconds
    bool debug = false, daemon = false, interactive = false, strict = false, standard_library = true, force_start = false, show_types = false;
    std::string library_directory;
    std::vector<std::string> command_line; ///< as given, with the program's name
    std::optional<bool> telnet, unix_socket;
};

/// Throws OptionError.
Options parse_options(int argc, char** argv);
struct OptionError { std::string message; };

}  // namespace castile::app
