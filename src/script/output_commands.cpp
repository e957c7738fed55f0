// The commands that every output has on the server.

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "script/commands.h"
#include "script/source_methods.h"

namespace castile::script {

namespace {

// Newest last, each under its number: 1 is the newest.
std::string history_text(const Output& output) {
    const auto history = output.metadata_history();
    std::string text;
    std::size_t number = history.size();
    for (const MetadataPtr& metadata : history)
        text += fmt::format("{}--- {} ---\n{}", text.empty() ? "" : "\n", number--, metadata_text(*metadata));
    return text;
}

std::string seek(const std::shared_ptr<Output>& output, const std::string& argument) {
    char* end = nullptr;
    const double seconds = std::strtod(argument.c_str(), &end);
    if (end == argument.c_str() || !std::isfinite(seconds) || std::abs(seconds) > 1e6) return "Error: seek needs a number of seconds.";
    const auto moved = ask_between_ticks(output, [seconds](Source& s) { return to_seconds(s.seek(ticks_from_seconds(seconds))); });
    return moved ? fmt::format("Seeked {:.2f}", *moved) : "Error: the clock is late; the order is kept.";
}

}  // namespace

void add_output_commands(const std::shared_ptr<Output>& output) {
    const std::weak_ptr<Output> weak = output;
    const auto add = [&](const char* name, const char* usage, const char* description, auto run) {
        add_source_command(output, name, {usage, description, [weak, run](const std::string& argument) {
                                              const std::shared_ptr<Output> o = weak.lock();
                                              return o ? std::string(run(o, argument)) : std::string();
                                          }});
    };
    using Ptr = const std::shared_ptr<Output>&;
    using Text = const std::string&;
    add("start", "start", "Start the output.", [](Ptr o, Text) {
        o->request_start();
        return "Done";
    });
    add("stop", "stop", "Stop the output.", [](Ptr o, Text) {
        o->request_stop();
        return "Done";
    });
    add("status", "status", "\"on\" while the output is started, else \"off\".", [](Ptr o, Text) { return o->started() ? "on" : "off"; });
    add("autostart", "autostart [on|off]", "Is the output to be started whenever it can be?", [](Ptr o, Text argument) {
        if (argument == "on") o->request_start();
        else if (argument == "off") o->request_stop();
        return o->start_wanted() ? "on" : "off";
    });
    add("skip", "skip", "End what plays.", [](Ptr o, Text) {
        order(o, [](Source& s) { s.skip(); });
        return "Done";
    });
    add("seek", "seek <seconds>", "Go forward in what plays, or back.", seek);
    add("metadata", "metadata", "The metadata of the last ten tracks.", [](Ptr o, Text) { return history_text(*o); });
    add("remaining", "remaining", "Seconds left of what plays, as far as known.", [](Ptr o, Text) {
        const auto left = ask_between_ticks(o, [](Source& s) {
            const auto ticks = s.remaining();
            return ticks ? to_seconds(*ticks) : -1.;
        });
        return left && *left >= 0 ? fmt::format("{:.2f}", *left) : std::string("(undef)");
    });
}

}  // namespace castile::script
