#include "settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace castile::iso {

namespace {

struct Tunable {
    std::string_view name, unit;
    double least, most;
    iso_u64 iso_tunables::* time;  ///< null: iso_cpu
    double nanoseconds;            ///< in one unit
};

constexpr std::array tunables_table{
    Tunable{"iso_cpu", "percent", 0, 100, nullptr, 1},
    Tunable{"iso_period", "seconds", 0.1, 60, &iso_tunables::period, 1e9},
    Tunable{"iso_slice", "milliseconds", 1, 100, &iso_tunables::iso_slice, 1e6},
    Tunable{"normal_slice", "milliseconds", 0.1, 100, &iso_tunables::normal_slice, 1e6},
};
constexpr std::size_t longest_line = 1000;
constexpr int most_lines = 1000;

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blanks = " \t\r\n";
    const std::size_t first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

}  // namespace

iso_tunables default_tunables(unsigned cpus) {
    const auto doublings = static_cast<unsigned>(std::bit_width(std::clamp(cpus, 1U, 8U)));  // 1, 2, 3, 4
    return {.period = 5'000 * ISO_MS, .iso_slice = 10 * ISO_MS, .normal_slice = 7 * ISO_MS / 10 * doublings, .cpu = 70};
}

std::expected<void, std::string> set_tunable(iso_tunables& tunables, std::string_view name, std::string_view value) {
    name = trimmed(name);
    value = trimmed(value);
    for (const Tunable& t : tunables_table) {
        if (t.name != name) continue;
        double number = 0;
        const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
        const bool whole = t.time || number == std::floor(number);
        if (error != std::errc() || end != value.data() + value.size() || !whole || !(number >= t.least && number <= t.most))
            return std::unexpected(fmt::format("{} must be a {}number of {} from {} to {}, not \"{:.40}\"", t.name, t.time ? "" : "whole ", t.unit, t.least,
                                               t.most, value));
        if (t.time)
            tunables.*t.time = static_cast<iso_u64>(std::llround(number * t.nanoseconds));
        else
            tunables.cpu = static_cast<iso_u32>(number);
        return {};
    }
    std::string known;
    for (const Tunable& t : tunables_table) known += fmt::format("{}{}", known.empty() ? "" : ", ", t.name);
    return std::unexpected(fmt::format("there is no \"{:.40}\" to set (there are {})", name, known));
}

std::expected<void, std::string> read_config(const std::string& path, iso_tunables& tunables) {
    std::ifstream file(path);
    if (!file) {
        if (errno == ENOENT) return {};
        return std::unexpected(fmt::format("{}: {}", path, std::strerror(errno)));
    }
    std::string line;
    for (int number = 1; std::getline(file, line); ++number) {
        if (line.size() > longest_line || number > most_lines) return std::unexpected(fmt::format("{}, line {}: too long for a configuration", path, number));
        const std::string_view text = trimmed(std::string_view(line).substr(0, line.find('#')));
        if (text.empty()) continue;
        const std::size_t equals = text.find('=');
        if (equals == std::string_view::npos) return std::unexpected(fmt::format("{}, line {}: expected \"name = value\", not \"{:.40}\"", path, number, text));
        if (const auto set = set_tunable(tunables, text.substr(0, equals), text.substr(equals + 1)); !set)
            return std::unexpected(fmt::format("{}, line {}: {}", path, number, set.error()));
    }
    return {};
}

std::string tunables_text(const iso_tunables& tunables) {
    std::string text;
    for (const Tunable& t : tunables_table)
        text += fmt::format("{}{}={}", text.empty() ? "" : " ", t.name, t.time ? static_cast<double>(tunables.*t.time) / t.nanoseconds : tunables.cpu);
    return text;
}

}  // namespace castile::iso
