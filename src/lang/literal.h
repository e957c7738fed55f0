#pragma once
// Values of literals: escapes of strings, numbers, times.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace castile::lang {

/// Resolves the escapes of a string, or, with quote '/', those of a regexp (where all but `\/` are left to the regexp engine).
std::string unescape(std::string_view raw, char quote);

/// 12_000, 0xff, 0o17, 0b1. Nothing when it does not fit.
std::optional<std::int64_t> parse_integer(std::string_view text);
std::optional<double> parse_floating(std::string_view text);

/// 1w8h30m15s or 10h30. Weeks count days: 1w is Monday, 0w and 7w Sunday.
struct TimePoint {
    std::optional<std::int64_t> day, hours, minutes, seconds;
};
/// Length of the time that `text` starts with; 0 when it does not.
std::size_t time_length(std::string_view text);
TimePoint parse_time(std::string_view text);

/// Arguments of time_in_mod for a time or an interval.
struct TimeRange {
    std::int64_t from, to, modulus;
};
/// Nothing when the two have different precisions ("1w-10h").
std::optional<TimeRange> time_range(const TimePoint& from, const std::optional<TimePoint>& to);

}  // namespace castile::lang
