// cron: entries as in crontab, and functions that run by them.

#include <algorithm>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cmath>
#include <ctime>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "builtins/define.h"
#include "builtins/lifecycle.h"
#include "sched/scheduler.h"

namespace castile::builtins {

namespace {

const Logger& logger() {
    static const Logger log("cron");
    return log;
}

/// Part of a field: all values from `from` to `to` that are multiples of `step` (`*/5`), or every step-th of a range (`1-9/2`).
struct Part {
    int from, to, step = 1;
    bool any = false;   // written with a star: steps count from 0

    bool fits(int value) const { return any ? value % step == 0 : from <= value && value <= to && (value - from) % step == 0; }
    std::string text() const {
        std::string s = any ? "*" : std::to_string(from) + (to == from ? "" : "-" + std::to_string(to));
        return step == 1 ? s : s + "/" + std::to_string(step);
    }
};

using Field = std::vector<Part>;

struct FieldKind {
    const char* name;
    int first, last;
    std::string_view words;   // three letters each, of `first` and those after it
};
constexpr FieldKind kinds[] = {{"minute", 0, 59, ""}, {"hour", 0, 23, ""}, {"day of the month", 1, 31, ""},
                               {"month", 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec"}, {"day of the week", 0, 7, "sunmontuewedthufrisat"}};

struct Entry {
    Field fields[5];   // as written: minute, hour, day of the month, month, day of the week

    bool fits(double time) const {
        const auto seconds = static_cast<std::time_t>(std::floor(time));
        std::tm tm{};
        localtime_r(&seconds, &tm);
        const int values[] = {tm.tm_min, tm.tm_hour, tm.tm_mday, tm.tm_mon + 1, tm.tm_wday};
        for (int i = 0; i < 5; ++i) {
            auto one = [&](int value) { return std::ranges::any_of(fields[i], [value](const Part& p) { return p.fits(value); }); };
            if (!one(values[i]) && !(i == 4 && values[i] == 0 && one(7))) return false;   // Sunday is 7 too
        }
        return true;
    }
};

std::string text_of(const Field& field) {
    std::string out;
    for (const Part& p : field) out += (out.empty() ? "" : ",") + p.text();
    return out;
}

[[noreturn]] void refuse(const std::string& entry, const std::string& why) { raise("invalid", "\"" + entry + "\" is no cron entry: " + why); }

int number(std::string_view s, const FieldKind& kind, const std::string& entry) {
    int n = 0;
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), n);
    if (error != std::errc() || end != s.data() + s.size()) {
        std::string word(s);
        std::ranges::transform(word, word.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        const std::size_t at = word.size() == 3 ? kind.words.find(word) : kind.words.npos;
        if (at == kind.words.npos || at % 3 != 0) refuse(entry, "\"" + std::string(s) + "\" is no " + kind.name + ".");
        return kind.first + static_cast<int>(at) / 3;
    }
    if (n < kind.first || n > kind.last)
        refuse(entry, "a " + std::string(kind.name) + " is between " + std::to_string(kind.first) + " and " + std::to_string(kind.last) + ".");
    return n;
}

Part parse_part(std::string_view s, const FieldKind& kind, const std::string& entry) {
    Part part{kind.first, kind.last};
    const std::size_t slash = s.find('/');
    if (slash != s.npos) {
        const std::string_view step = s.substr(slash + 1);
        const auto [end, error] = std::from_chars(step.data(), step.data() + step.size(), part.step);
        if (error != std::errc() || end != step.data() + step.size() || part.step < 1 || part.step > kind.last) refuse(entry, "a step is a number from 1 to " + std::to_string(kind.last) + ".");
        s = s.substr(0, slash);
    }
    if (s == "*") {
        part.any = true;
        return part;
    }
    const std::size_t dash = s.find('-');
    part.from = number(s.substr(0, dash), kind, entry);
    if (dash != s.npos) part.to = number(s.substr(dash + 1), kind, entry);
    else if (slash == s.npos) part.to = part.from;
    if (kind.last == 7 && part.from == 7 && part.to == 7) part.from = part.to = 0;   // Sunday
    if (part.from > part.to) refuse(entry, "\"" + std::string(s) + "\" ends before it begins.");
    return part;
}

Entry parse(const std::string& text) {
    std::string entry = text;
    std::erase_if(entry, [](char c) { return c == '\r' || c == '\n'; });
    constexpr std::pair<const char*, const char*> shorthands[] = {{"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"},
                                                                  {"@weekly", "0 0 * * 0"}, {"@daily", "0 0 * * *"},    {"@midnight", "0 0 * * *"},
                                                                  {"@hourly", "0 * * * *"}};
    std::string_view rest = entry;
    while (rest.starts_with(' ')) rest.remove_prefix(1);
    while (rest.ends_with(' ')) rest.remove_suffix(1);
    for (const auto& [name, meaning] : shorthands)
        if (rest == name) rest = meaning;
    Entry parsed;
    for (int i = 0; i < 5; ++i) {
        const std::size_t begin = rest.find_first_not_of(" \t");
        if (begin == rest.npos) refuse(text, "there are five fields: minute, hour, day of the month, month, day of the week.");
        rest.remove_prefix(begin);
        std::string_view field = rest.substr(0, rest.find_first_of(" \t"));
        rest.remove_prefix(field.size());
        for (;;) {
            const std::size_t comma = field.find(',');
            parsed.fields[i].push_back(parse_part(field.substr(0, comma), kinds[i], text));
            if (comma == field.npos) break;
            field.remove_prefix(comma + 1);
        }
    }
    if (rest.find_first_not_of(" \t") != rest.npos) refuse(text, "there are five fields: minute, hour, day of the month, month, day of the week.");
    return parsed;
}

double now() { return scheduler().time().wall(); }

Value entry_value(const BuiltinArgs& a) {
    auto entry = std::make_shared<Entry>(parse(a[0].as_string()));
    Value test = native([entry](std::span<const CallArgument> x) {
        for (const CallArgument& given : x)
            if (given.label == Name("time") && !given.value.is_null()) return boolean(entry->fits(given.value.as_float()));
        return boolean(entry->fits(now()));
    });
    return Value::record({{"minute", text(text_of(entry->fields[0]))}, {"hour", text(text_of(entry->fields[1]))}, {"month_day", text(text_of(entry->fields[2]))},
                          {"month", text(text_of(entry->fields[3]))}, {"week_day", text(text_of(entry->fields[4]))}, {"test", test}});
}

/// What runs by the clock. A minute is looked at once, however often the timer fires in it.
struct Table {
    struct Job { std::string id, text; Entry entry; Value function; };
    std::mutex jobs_mutex;
    std::vector<Job> jobs;
    bool running = false;
    std::int64_t minute = -1;   // the last that was looked at
    int next_id = 0;

    static Table& instance() {
        static Table* table = new Table;
        return *table;
    }

    /// At the next full minute; a clock set back or forth is met within one.
    void schedule() {
        const double left = 60 - std::fmod(now(), 60);
        scheduler().after(std::chrono::duration_cast<Duration>(std::chrono::duration<double>(left + 0.001)), [this] { look(); });
    }

    void look() {
        if (shutdown_requested()) return;
        const double time = now();
        {
            std::lock_guard lock(jobs_mutex);
            const auto current = static_cast<std::int64_t>(std::floor(time / 60));
            if (std::exchange(minute, current) != current)
                for (const Job& job : jobs)
                    if (job.entry.fits(time)) start(job);
            running = !jobs.empty();
            if (!running) return;
        }
        schedule();
    }

    static void start(const Job& job) {
        logger().info("Executing cron.tab entry {} (cron id: {})", job.text, job.id);
        scheduler().blocking([f = job.function] { run_task(f); });
    }
};

Value add(const BuiltinArgs& a) {
    Table& table = Table::instance();
    Entry entry = parse(a[1].as_string());
    std::unique_lock lock(table.jobs_mutex);
    auto taken = [&](const std::string& id) { return std::ranges::any_of(table.jobs, [&](const auto& job) { return job.id == id; }); };
    std::string id = a[0].is_null() ? "" : a[0].as_string();
    if (a[0].is_null()) {
        do id = "cron.task" + (table.next_id == 0 ? "" : "." + std::to_string(table.next_id));
        while (++table.next_id, taken(id));
    } else if (taken(id)) {
        raise("invalid", "Cron tab entry with ID " + id + " already exists!");
    }
    logger().info("Adding cron.tab entry {} (cron id: {})", a[1].as_string(), id);
    table.jobs.push_back({id, a[1].as_string(), std::move(entry), a[2]});
    const bool first = !std::exchange(table.running, true);
    lock.unlock();
    if (first) table.schedule();
    return Value::record({{"id", text(id)}});
}

Value remove(const BuiltinArgs& a) {
    Table& table = Table::instance();
    const std::string& id = a[0].as_string();
    std::lock_guard lock(table.jobs_mutex);
    const bool found = std::erase_if(table.jobs, [&](const auto& job) { return job.id == id; }) > 0;
    if (found) logger().info("Removing cron.tab entry {}", id);
    else logger().important("Cannot remove cron.tab entry {}: entry does not exist!", id);
    return Value();
}

const Definitions time_definitions("Time", {
    {"cron.parse", "A crontab entry: five fields (minute, hour, day of the month, month, day of the week), or @hourly and the like.", {pos("string", "Such as \"*/15 8-17 * * mon,fri\".")}, "unit", entry_value,
     {{"minute", "string", "Minutes."}, {"hour", "string", "Hours."}, {"month_day", "string", "Days of the month."}, {"month", "string", "Months."},
      {"week_day", "string", "Days of the week, 0 for Sunday."}, {"test", "(?time : float?) -> bool", "Is it now, or at this time?"}}},
});

const Definitions definitions("Programming", {
    {"cron.add", "Run a function by a crontab entry, at the start of each minute that it fits.",
     {opt("id", "string?", "null", "Name to remove it by; null: one is made up."), pos("string", "Entry, as of `cron.parse`."), pos("() -> unit", "Function.")}, "unit", add,
     {{"id", "string", "Its name."}}},
    {"cron.remove", "Stop running a function by a crontab entry.", {pos("string", "Its name.")}, "unit", remove},
});

}  // namespace

}  // namespace castile::builtins
