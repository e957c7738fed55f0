// castile: runs scripts.

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <string>

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include "app/describe.h"
#include "app/options.h"
#include "app/requests.h"
#include "app/run.h"
#include "app/settings.h"
#include "app/signals.h"
#include "base/log.h"
#include "base/memory.h"
#include "lang/eval.h"
#include "script/clock_methods.h"
#include "tools/format.h"

namespace {

using castile::app::Options;

void print(const std::string& s) {
    std::fwrite(s.data(), 1, s.size(), stdout);
    std::fflush(stdout);
}

int perform(const Options& options) {
    using enum Options::Action;
    switch (options.action) {
    case help: print(options.help); return 0;
    case version: print(castile::app::version_text()); return 0;
    case build_config: print(castile::app::build_text()); return 0;
    case list_functions: print(castile::app::functions_text(options, false)); return 0;
    case list_functions_by_category: print(castile::app::functions_text(options, true)); return 0;
    case list_functions_json: print(castile::app::functions_json(options)); return 0;
    case list_functions_md: print(castile::app::functions_markdown(options, castile::app::FunctionsShown::usual)); return 0;
    case list_extra_functions_md: print(castile::app::functions_markdown(options, castile::app::FunctionsShown::extra)); return 0;
    case list_deprecated_functions_md: print(castile::app::functions_markdown(options, castile::app::FunctionsShown::deprecated)); return 0;
    case list_protocols_md: print(castile::app::protocols_markdown()); return 0;
    case list_plugins: print(castile::app::plugins_text(options)); return 0;
    case list_settings: print(castile::app::settings_text()); return 0;
    case describe: {
        const auto text = castile::app::describe_name(options, options.name);
        if (text) print(*text);
        else std::fprintf(stderr, "%s\n", text.error().c_str());
        return text ? 0 : 1;
    }
    case request: return castile::app::show_request(options);
    case check_library: return castile::app::check_library(options);
    case check:
    case parse_only: return castile::app::check(options);
    case print_json: return castile::app::print_json(options);
    case run: break;
    }
    if (options.scripts.empty() && !options.interactive) {
        print(options.help);
        return 0;
    }
    return castile::app::run(options);
}

void report(const castile::lang::Diagnostic& d) {
    std::fflush(stdout);
    std::fprintf(stderr, "%s\n", castile::lang::render(d, castile::app::colours_wanted()).c_str());
}

/// Scripts may call deeply: so much stack for this thread and for those to come. Only what is used of it takes memory.
void allow_deep_calls() noexcept {
    constexpr std::size_t bytes = 32 << 20;
    rlimit limit{};
    if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < bytes) {
        limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, bytes);
        setrlimit(RLIMIT_STACK, &limit);
    }
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0) return;
    if (pthread_attr_setstacksize(&attributes, bytes) == 0) pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
}

}  // namespace

int main(int argc, char** argv) {
    castile::tune_allocator();
    allow_deep_calls();
    const std::string command = argc > 1 ? argv[1] : "";
    if (command == "fmt") return castile::tools::format_command(argc - 2, argv + 2);
    Options options;
    try {
        if (command == "lsp") return castile::app::serve_editor();
        options = castile::app::parse_options(argc, argv);
    } catch (const castile::app::OptionError& e) {
        std::fprintf(stderr, "castile: %s\n", e.message.c_str());
        return 2;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "castile: %s\n", e.what());
        return 1;
    }
    castile::app::block_signals();
    int code = 1;
    try {
        code = perform(options);
    } catch (const castile::lang::ScriptError& e) {
        report(e.diagnostic());
    } catch (const castile::lang::RuntimeError& e) {
        report(castile::lang::to_diagnostic(e));
    } catch (const castile::ClockError& e) {
        std::fflush(stdout);
        std::fprintf(stderr, "Error %d: %s%s\n", e.code(), e.what(), castile::script::with_buffer(e).c_str());
    } catch (const std::exception& e) {
        std::fflush(stdout);
        std::fprintf(stderr, "castile: %s\n", e.what());
    }
    std::fflush(stdout);
    castile::flush_log();
    // Threads that wait in scripts' calls must not hold up the end.
    std::fflush(stderr);
    _exit(code);
}
