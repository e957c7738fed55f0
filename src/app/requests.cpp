#include "app/requests.h"

#include <cstddef>
#include <cstdio>
#include <string>

#include "app/run.h"
#include "app/settings.h"
#include "base/log.h"
#include "codec/decoder.h"
#include "request/request.h"
#include "sched/scheduler.h"

namespace castile::app {

namespace {

constexpr std::size_t longest_value = 1024;   // pictures are not shown

}  // namespace

int show_request(const Options& options) {
    Scheduler scheduler;   // not started: some declarations ask for it
    set_scheduler(&scheduler);
    hold_log();
    apply_options(options, options.scripts.empty() ? "" : options.scripts.front());
    lang::Engine engine(engine_options(options));
    evaluate(engine, options);
    const RequestPtr request = Request::create(options.name, {.open = true, .cue_in_metadata = std::nullopt, .cue_out_metadata = std::nullopt});
    const auto done = request->resolve(default_request_timeout());
    if (!done) {
        std::fprintf(stderr, "castile: the request cannot be resolved: %s\n", done.error().message.c_str());
        request->destroy(true);
        return done.error().kind == Failure::Kind::timeout ? 1 : 2;
    }
    const Metadata metadata = request->metadata();
    for (const auto& [label, value] : metadata.entries())
        std::printf("%s = %s\n", label.c_str(), value.size() > longest_value ? "<redacted>" : value.c_str());
    const auto seconds = file_duration(request->filename());
    if (seconds) std::printf("duration = %.2f s\n", *seconds);
    else std::printf("duration = n/a\n");
    request->destroy(true);
    return 0;
}

}  // namespace castile::app
