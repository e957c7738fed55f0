// The command line, as Liquidsoap's users know it.

#include "app/options.h"

#include <CLI/CLI.hpp>

namespace castile::app {

Options parse_options(int argc, char** argv) {
    Options o;
    o.command_line.assign(argv, argv + argc);
    std::vector<std::string> words(argv + 1, argv + argc);
    if (auto mark = std::ranges::find(words, "--"); mark != words.end()) {
        o.arguments.assign(mark + 1, words.end());
        words.erase(mark, words.end());
    }
    using enum Options::Action;
    CLI::App app("Castile " CASTILE_VERSION ": a radio engine that runs Liquidsoap scripts.", "castile");
    app.set_help_flag();
    auto action = [&](const char* names, Options::Action a, const char* doc) {
        app.add_flag_callback(names, [&o, a] { o.action = a; }, doc);
    };
    app.add_option("SCRIPT", o.scripts, "Scripts to run, in order: files, expressions, or - for standard input. What follows -- is for the script (argv).");
    action("-c,--check", check, "Parse and check the types of the script; do not run it.");
    action("--check-lib", check_library, "Check the declarations of all functions and the whole standard library.");
    action("-p,--parse-only", parse_only, "Only parse the script.");
    action("--print-json-term,--json-term", print_json, "Print the parsed script as JSON.");
    action("--version", version, "Print the version.");
    action("--build-config", build_config, "Print how this program was built.");
    action("--list-functions", list_functions, "List all functions.");
    action("--list-functions-by-category", list_functions_by_category, "List all functions by category.");
    action("--list-functions-json", list_functions_json, "Describe all functions as JSON.");
    action("--list-functions-md", list_functions_md, "Describe all functions in Markdown, by category.");
    action("--list-extra-functions-md", list_extra_functions_md, "Describe the functions for particular services in Markdown.");
    action("--list-deprecated-functions-md", list_deprecated_functions_md, "Describe the deprecated functions in Markdown.");
    action("--list-protocols-md", list_protocols_md, "Describe the protocols of requests in Markdown.");
    action("--list-plugins", list_plugins, "List functions, formats and protocols.");
    action("--list-settings,--list-settings-md", list_settings, "List all settings in Markdown.");
    app.add_option_function<std::string>("-h", [&o](const std::string& name) { o.action = describe; o.name = name; },
                                         "Describe a function (playlist), a module (list) or a setting (settings.log.level).");
    app.add_option_function<std::string>("-r,--request", [&o](const std::string& uri) { o.action = request; o.name = uri; },
                                         "Resolve a request; print its metadata and how long it plays.");
    app.add_flag_callback("--describe-sources", [&o] { o.dump = Options::Dump::sources; }, "Run the script for a moment, print its sources, end.");
    app.add_flag_callback("--describe-clocks", [&o] { o.dump = Options::Dump::clocks; }, "Run the script for a moment, print its clocks, end.");
    app.add_option("--dump-delay", o.dump_delay, "How long that moment is, in seconds.")->check(CLI::Range(0., 1e6));
    action("--help", help, "Print this.");
    app.add_flag_callback("-q,--quiet", [&o] { o.log_to_stdout = false; }, "Do not print the log.");
    app.add_flag_callback("-v,--verbose", [&o] { o.log_to_stdout = true; }, "Print the log.");
    app.add_flag("--debug", o.debug, "Log more.");
    app.add_flag("-d,--daemon", o.daemon, "Run in the background.");
    app.add_flag("-f,--force-start", o.force_start, "Start even without an output.");
    app.add_flag("--interactive", o.interactive, "Read expressions from the console and show their types and values.");
    app.add_flag("--strict", o.strict, "Treat warnings of the script as errors.");
    app.add_flag("-i", o.show_types, "Print the type of the script's value.");
    app.add_flag_callback("--no-stdlib", [&o] { o.standard_library = false; }, "Do not use the standard library.");
    app.add_option("--stdlib", o.library_directory, "Where the standard library is.");
    app.add_option("--simulate", o.simulate, "Run that many seconds of the station's time as fast as possible, then end.")->check(CLI::NonNegativeNumber);
    app.add_flag_callback("-t,--enable-telnet", [&o] { o.telnet = true; }, "Enable the telnet server.");
    app.add_flag_callback("-T,--disable-telnet", [&o] { o.telnet = false; }, "Disable the telnet server.");
    app.add_flag_callback("-u,--enable-unix-socket", [&o] { o.unix_socket = true; }, "Enable the command server on a Unix socket.");
    app.add_flag_callback("-U,--disable-unix-socket", [&o] { o.unix_socket = false; }, "Disable the command server on a Unix socket.");
    // Options of Liquidsoap that mean nothing here.
    for (const char* accepted : {"--no-cache", "--cache-stdlib", "--cache-only", "--unsafe", "--safe", "--no-external-plugins", "--disable-deprecated",
                                 "--enable-deprecated", "--no-deprecated", "--no-fallible-check", "--profile", "--raw-errors", "--debug-errors", "--debug-lang", "--debug-levels",
                                 "--debug-subtyping", "--opam-config"})
        app.add_flag(std::string(accepted))->group("");
    o.help = app.help() + "\ncastile fmt [--check] [--stdout] FILE... formats scripts; castile lsp serves editors on standard input and output.\n";
    std::ranges::replace(words, "-help", "--help");
    std::ranges::reverse(words);   // as CLI11 takes them
    try {
        app.parse(words);
    } catch (const CLI::ExtrasError&) {
        std::string unknown = app.remaining().empty() ? "?" : app.remaining().front();
        throw OptionError{"Unknown option " + unknown + ". castile --help lists the options."};
    } catch (const CLI::ParseError& e) {
        throw OptionError{e.what()};
    }
    return o;
}

}  // namespace castile::app
