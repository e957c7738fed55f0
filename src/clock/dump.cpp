// The texts of `clock.dump()`, `clock.dump_all_sources()` and a clock's `dump()`: trees, in the form that Liquidsoap prints.

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include "clock/clock_impl.h"

namespace castile {

namespace {

using Kind = ClockMember::Kind;
using Members = std::vector<ClockMember>;

std::mutex describer_mutex;
std::function<Members(Clock&)> describer;

constexpr std::size_t width = 100;

/// What is drawn before an item: of the line itself, and of those below it.
struct Branch {
    std::string line, below;
};
Branch branch(const std::string& indent, bool last) {
    return {indent + (last ? "└── " : "├── "), indent + (last ? "    " : "│   ")};
}

std::string field(const Branch& at, const std::string& label, const Members& all, Kind kind) {
    std::vector<std::string> items;
    for (const ClockMember& member : all)
        if (member.kind == kind) items.push_back(fmt::format("{} [{}]", member.id, fmt::join(member.activators, ", ")));
    std::string text, line = at.line + label + ":";
    for (bool fresh = true; const std::string& item : items) {
        const std::string separator = fresh ? " " : ", ";
        if (!fresh && line.size() + separator.size() + item.size() > width) {
            text += line + ",\n";
            line = at.below + std::string(label.size() + 2, ' ') + item;
        } else {
            line += separator + item;
        }
        fresh = false;
    }
    return text + line + "\n";
}

void dump_clock(std::string& text, Clock& clock, const Branch& at) {
    const Members members = clock_members(clock);
    const std::vector<ClockPtr> children = clock.sub_clocks();
    const double seconds = to_seconds(Ticks{clock.tick_count() * stream_parameters().frame_size.count});
    text += fmt::format("{}{} (ticks: {}, time: {:.2f}s, self_sync: {})\n", at.line, clock.id(), clock.tick_count(), seconds, clock.self_sync());
    text += field(branch(at.below, false), "outputs", members, Kind::output);
    text += field(branch(at.below, false), "active sources", members, Kind::active);
    text += field(branch(at.below, children.empty()), "passive sources", members, Kind::passive);
    for (std::size_t i = 0; i < children.size(); ++i) dump_clock(text, *children[i], branch(at.below, i + 1 == children.size()));
}

/// One clock's sources as trees of who activates whom.
class Graph {
public:
    explicit Graph(const Members& members) {
        for (const ClockMember& member : members) by_name_.emplace(member.id, &member);
        for (const ClockMember& member : members)
            for (const std::string& activator : member.activators)
                if (activator != member.id && by_name_.contains(activator)) below_[activator].push_back(&member);
    }

    std::string text(const Members& members) {
        std::string outputs, singletons;
        roots(members, [](const ClockMember& m) { return m.kind == Kind::output; }, outputs);
        roots(members, [this](const ClockMember& m) { return !seen_.contains(m.id); }, singletons);
        std::string text;
        if (!outputs.empty()) text += "Outputs:\n" + outputs;
        if (!singletons.empty()) text += (text.empty() ? "" : "\n") + ("Singletons:\n" + singletons);
        if (!text.empty()) text.pop_back();
        return text;
    }

private:
    template <class F>
    void roots(const Members& members, F wanted, std::string& text) {
        std::vector<const ClockMember*> alone;
        std::map<std::string, std::vector<const ClockMember*>> by_activator;
        for (const ClockMember& member : members) {
            if (!wanted(member)) continue;
            bool from_outside = false;
            for (const std::string& activator : member.activators)
                if (activator != member.id && !by_name_.contains(activator)) {
                    by_activator[activator].push_back(&member);
                    from_outside = true;
                }
            if (!from_outside) alone.push_back(&member);
        }
        for (const auto& [activator, activated] : by_activator) {
            text += fmt::format("· {} [external activation]\n", activator);
            for (std::size_t i = 0; i < activated.size(); ++i) draw(text, *activated[i], branch("  ", i + 1 == activated.size()));
        }
        for (const ClockMember* member : alone)
            draw(text, *member, {"· ", "  "});
    }

    void draw(std::string& text, const ClockMember& member, const Branch& at) {
        static constexpr const char* kinds[] = {"output", "active", "passive"};
        const bool again = !seen_.insert(member.id).second;
        text += fmt::format("{}{} [{}]{}\n", at.line, member.id, kinds[static_cast<std::size_t>(member.kind)], again ? " (*)" : "");
        if (again) return;
        const auto& below = below_[member.id];
        for (std::size_t i = 0; i < below.size(); ++i) draw(text, *below[i], branch(at.below, i + 1 == below.size()));
    }

    std::map<std::string, const ClockMember*> by_name_;
    std::map<std::string, std::vector<const ClockMember*>> below_;
    std::set<std::string> seen_;
};

void dump_graph(std::string& text, Clock& clock, const std::string& owner) {
    if (!text.empty()) text += "\n\n";
    text += fmt::format("Clock {}{}:\n{}", clock.id(), owner.empty() ? "" : fmt::format(" (controlled by {})", owner), dump_sources(clock));
    for (const ClockPtr& child : clock.sub_clocks()) dump_graph(text, *child, clock.id());
}

}  // namespace

void set_clock_describer(std::function<Members(Clock&)> f) {
    std::lock_guard lock(describer_mutex);
    describer = std::move(f);
}

Members clock_members(Clock& clock) {
    std::function<Members(Clock&)> describe;
    {
        std::lock_guard lock(describer_mutex);
        describe = describer;
    }
    return describe ? describe(*clock.root()) : Members{};
}

std::vector<ClockPtr> told_clocks() {
    std::vector<ClockPtr> clocks = all_clocks();
    std::erase_if(clocks, [](const ClockPtr& clock) { return clock->mode() == ClockMode::passive || (!clock->running() && clock_members(*clock).empty()); });
    std::sort(clocks.begin(), clocks.end(), [](const ClockPtr& a, const ClockPtr& b) { return a->id() < b->id(); });
    return clocks;
}

std::string dump_clocks() {
    std::string text;
    for (const ClockPtr& clock : told_clocks()) {
        if (!text.empty()) text += "\n";
        dump_clock(text, *clock, {"· ", "  "});
    }
    if (!text.empty()) text.pop_back();
    return text;
}

std::string dump_sources(Clock& clock) {
    const Members members = clock_members(clock);
    return Graph(members).text(members);
}

std::string dump_all_sources() {
    std::string text;
    for (const ClockPtr& clock : told_clocks()) dump_graph(text, *clock, "");
    return text;
}

}  // namespace castile
