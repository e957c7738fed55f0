// Time and dates.

#include <time.h>

#include <cmath>
#include <cstdlib>
#include <ctime>
#include <mutex>

#include "builtins/define.h"
#include "lang/literal.h"
#include "sched/scheduler.h"

namespace castile::builtins {

namespace {

double now() { return scheduler().time().wall(); }

std::tm broken_down(double t, bool local) {
    auto seconds = static_cast<std::time_t>(std::floor(t));
    std::tm tm{};
    if (local) localtime_r(&seconds, &tm);
    else gmtime_r(&seconds, &tm);
    return tm;
}

Value date(double t, bool local) {
    std::tm tm = broken_down(t, local);
    return Value::record({{"sec", integer(tm.tm_sec)}, {"min", integer(tm.tm_min)}, {"hour", integer(tm.tm_hour)}, {"day", integer(tm.tm_mday)},
                          {"month", integer(tm.tm_mon + 1)}, {"year", integer(tm.tm_year + 1900)}, {"week_day", integer(tm.tm_wday)},
                          {"year_day", integer(tm.tm_yday + 1)}, {"dst", boolean(tm.tm_isdst > 0)}});
}

const std::vector<BuiltinMethod> date_methods{
    {"sec", "int", "Seconds."}, {"min", "int", "Minutes."}, {"hour", "int", "Hours."}, {"day", "int", "Day of the month."}, {"month", "int", "Month."},
    {"year", "int", "Year."}, {"week_day", "int", "Day of the week, 0 for Sunday."}, {"year_day", "int", "Day of the year, from 1."},
    {"dst", "bool", "Is it summer time?"},
};

double time_of(const Value& nullable) { return nullable.is_null() ? now() : nullable.as_float(); }

double make_time(const Value& r) {
    auto field = [&](const char* name) { return static_cast<int>(r.find_method(name)->as_int()); };
    std::tm tm{};
    tm.tm_sec = field("sec");
    tm.tm_min = field("min");
    tm.tm_hour = field("hour");
    tm.tm_mday = field("day");
    tm.tm_mon = field("month") - 1;
    tm.tm_year = field("year") - 1900;
    auto dst = r.find_method("dst");
    tm.tm_isdst = !dst || dst->is_null() ? -1 : dst->as_bool();
    return static_cast<double>(std::mktime(&tm));
}

std::string format_time(const char* format, double t) {
    std::tm tm = broken_down(t, true);
    std::string out(256, '\0');
    for (;;) {
        std::size_t n = std::strftime(out.data(), out.size(), format, &tm);
        if (n > 0 || !*format || out.size() > 1 << 16) {
            out.resize(n);
            return out;
        }
        out.resize(out.size() * 4);
    }
}

bool in_interval(std::int64_t from, std::int64_t to, std::int64_t modulus) {
    std::tm tm = broken_down(now(), true);
    std::int64_t t = tm.tm_sec + 60 * (tm.tm_min + 60 * (tm.tm_hour + 24 * tm.tm_wday));
    if (modulus > 0) t %= modulus;
    return from <= to ? from <= t && t < to : !(to <= t && t < from);
}

/// "10h-12h30" or "7w": what a script writes between braces.
Value predicate(const BuiltinArgs& a) {
    std::string_view all = a[0].as_string();
    while (!all.empty() && all.front() == ' ') all.remove_prefix(1);
    while (!all.empty() && all.back() == ' ') all.remove_suffix(1);
    auto refuse = [&] { raise("string", "Failed to parse " + a[0].as_string() + " as time predicate"); };
    const std::size_t first = lang::time_length(all);
    if (first == 0) refuse();
    std::optional<lang::TimePoint> to;
    if (first < all.size()) {
        std::string_view rest = all.substr(first);
        while (rest.starts_with(' ')) rest.remove_prefix(1);
        if (!rest.starts_with('-')) refuse();
        rest.remove_prefix(1);
        while (rest.starts_with(' ')) rest.remove_prefix(1);
        if (rest.empty() || lang::time_length(rest) != rest.size()) refuse();
        to = lang::parse_time(rest);
    }
    const auto range = lang::time_range(lang::parse_time(all.substr(0, first)), to);
    if (!range) refuse();
    return native([range = *range](std::span<const CallArgument>) { return boolean(in_interval(range.from, range.to, range.modulus)); });
}

double start_time = 0;

constexpr const char* date_input = "{sec : int, min : int, hour : int, day : int, month : int, year : int, dst : bool?}";

const Definitions definitions("Time", {
    {"time", "Seconds since 1970, with decimals.", {}, "float", [](const BuiltinArgs&) { return number(now()); }},
    {"time.up", "Seconds since the start.", {}, "float", [](const BuiltinArgs&) { return number(now() - start_time); }},
    {"time.local", "Date and time here.", {opt_pos("float?", "null", "Seconds since 1970; null: now.")}, "unit", [](const BuiltinArgs& a) { return date(time_of(a[0]), true); }, date_methods},
    {"time.utc", "Date and time in UTC.", {opt_pos("float?", "null", "Seconds since 1970; null: now.")}, "unit", [](const BuiltinArgs& a) { return date(time_of(a[0]), false); }, date_methods},
    {"time.make", "Seconds since 1970 of a date here.", {pos(date_input)}, "float", [](const BuiltinArgs& a) { return number(make_time(a[0])); }},
    {"time.string", "A date as text, as strftime formats it.", {opt("time", "float?", "null", "Seconds since 1970; null: now."), opt_pos("string?", "null", "Format; null: as in Saturday, 31 January 2026 12:00:00.")}, "string",
     [](const BuiltinArgs& a) { return text(format_time(a[1].is_null() ? "%A, %d %B %Y %H:%M:%S" : a[1].as_string().c_str(), time_of(a[0]))); }},
    {"time.zone", "The time zone.", {}, "string", [](const BuiltinArgs&) {
        tzset();
        return text(tzname[0]).with_method("daylight", text(tzname[1])).with_method("utc_diff", integer(timezone)); },
     {{"daylight", "string", "Name in summer."}, {"utc_diff", "int", "Seconds behind UTC."}}},
    {"time.zone.set", "Set the time zone.", {pos("string", "Such as Europe/Paris.")}, "unit", [](const BuiltinArgs& a) {
        setenv("TZ", a[0].as_string().c_str(), 1);
        tzset();
        return Value(); }},
    {"time_in_mod", "Is the time of the week, in seconds, within an interval modulo a period?", {pos("int"), pos("int"), pos("int")}, "bool", [](const BuiltinArgs& a) {
        return boolean(in_interval(a[0].as_int(), a[1].as_int(), a[2].as_int())); }},
    {"time.predicate", "A text such as \"10h-12h30\" as a function that says whether it is that time.", {pos("string")}, "() -> bool", predicate},
    {"gettimeofday", "Seconds since 1970.", {}, "float", [](const BuiltinArgs&) { return number(now()); }, {}, "Use `time` instead."},
    {"duration.split", "A number of seconds as hours, minutes and seconds.", {pos("int", "Seconds.")}, "unit", [](const BuiltinArgs& a) {
        std::int64_t s = a[0].as_int();
        return Value::record({{"hours", integer(s / 3600)}, {"minutes", integer(s / 60 % 60)}, {"seconds", integer(s % 60)}}); },
     {{"hours", "int", "Hours."}, {"minutes", "int", "Minutes."}, {"seconds", "int", "Seconds."}}},
});

}  // namespace

void note_start_time() { start_time = now(); }

double uptime() { return now() - start_time; }

}  // namespace castile::builtins
