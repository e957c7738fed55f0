// `clock.dump()`: the clocks and their sources as a tree, in the form that Liquidsoap prints.

#include <mutex>

#include "clock/clock_impl.h"

namespace castile {

namespace {

std::mutex describer_mutex;
std::function<ClockMembers(Clock&)> describer;

constexpr std::size_t width = 100;

std::string field(const std::string& first, const std::string& next, const std::string& label, const std::vector<std::string>& items) {
    std::string text, line = first + label + ":";
    const std::size_t empty = line.size();
    const std::string indent = next + std::string(label.size() + 2, ' ');
    bool fresh = true;
    for (const std::string& item : items) {
        const std::string separator = fresh ? " " : ", ";
        if (!fresh && line.size() + separator.size() + item.size() > width) {
            text += line + ",\n";
            line = indent + item;
        } else {
            line += separator + item;
        }
        fresh = false;
    }
    if (items.empty()) line.resize(empty);
    return text + line + "\n";
}

}  // namespace

void set_clock_describer(std::function<ClockMembers(Clock&)> f) {
    std::lock_guard lock(describer_mutex);
    describer = std::move(f);
}

std::string dump_clocks() {
    std::string text;
    for (const ClockPtr& clock : all_clocks()) {
        std::function<ClockMembers(Clock&)> describe;
        {
            std::lock_guard lock(describer_mutex);
            describe = describer;
        }
        const ClockMembers members = describe ? describe(*clock) : ClockMembers{};
        if (members.outputs.empty() && members.active.empty() && members.passive.empty() && !clock->running()) continue;
        const double seconds = clock->running() ? to_seconds(Ticks{clock->tick_count() * stream_parameters().frame_size.count}) : -1.;
        if (!text.empty()) text += "\n";
        text += fmt::format("· {} (ticks: {}, time: {:.2f}s, self_sync: {})\n", clock->id(), clock->tick_count(), seconds, members.self_sync);
        text += field("  ├── ", "  │   ", "outputs", members.outputs);
        text += field("  ├── ", "  │   ", "active sources", members.active);
        text += field("  └── ", "      ", "passive sources", members.passive);
    }
    if (!text.empty()) text.pop_back();
    return text;
}

}  // namespace castile
