#include "lang/preprocess.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace castile::lang {

namespace fs = std::filesystem;

namespace {

constexpr std::uintmax_t max_script_bytes = 64U << 20U;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The next number of a version and what follows its dot.
unsigned long next_number(std::string_view& version) {
    unsigned long value = 0;
    while (!version.empty() && is_digit(version.front())) {
        if (value < 1'000'000'000) value = value * 10 + static_cast<unsigned long>(version.front() - '0');
        version.remove_prefix(1);
    }
    if (version.size() > 1 && version[0] == '.' && is_digit(version[1])) version.remove_prefix(1);
    return value;
}

}  // namespace

int compare_versions(std::string_view a, std::string_view b) {
    const auto more = [](std::string_view v) { return !v.empty() && is_digit(v.front()); };
    while (more(a) || more(b)) {
        const unsigned long left = next_number(a), right = next_number(b);
        if (left != right) return left < right ? -1 : 1;
    }
    // What follows a + says where a build comes from, and orders nothing.
    const auto before_release = [](std::string_view v) { return v.starts_with('-') || v.starts_with('~'); };
    if (before_release(a) != before_release(b)) return before_release(a) ? -1 : 1;
    if (!before_release(a)) return 0;
    const int order = a.compare(b);
    return order < 0 ? -1 : order > 0 ? 1 : 0;
}

bool holds(const ast::Condition& condition, const ParseContext& context, const std::function<bool(std::string_view)>& defined_here) {
    switch (condition.kind) {
        case ast::Condition::Kind::defined: {
            const bool defined = defined_here(condition.name) || (context.defined && context.defined(condition.name));
            return defined != condition.negated;
        }
        case ast::Condition::Kind::encoder: {
            const bool available = context.encoder_available && context.encoder_available(condition.name);
            return available != condition.negated;
        }
        case ast::Condition::Kind::version: {
            const int order = compare_versions(context.version, condition.name);
            if (condition.op == "==") return order == 0;
            if (condition.op == "<") return order < 0;
            if (condition.op == "<=") return order <= 0;
            if (condition.op == ">") return order > 0;
            return order >= 0;
        }
    }
    return false;
}

std::optional<std::string> find_included(const ast::Include& include, const std::string& includer, const ParseContext& context) {
    fs::path path = include.name;
    if (include.kind == ast::Include::Kind::library) {
        path = fs::path(context.include_directory) / path;
    } else if (include.name.starts_with("~/")) {
        const char* home = std::getenv("HOME");
        path = fs::path(home != nullptr ? home : "/") / include.name.substr(2);
    } else if (path.is_relative()) {
        path = fs::path(includer).parent_path() / path;
    }
    std::error_code error;
    if (!fs::is_regular_file(path, error)) return std::nullopt;
    return path.lexically_normal().string();
}

std::string canonical_path(const std::string& path) {
    std::error_code error;
    const fs::path found = fs::canonical(path, error);
    return error ? path : found.string();
}

std::optional<std::string> read_script(const std::string& path) {
    std::error_code error;
    const std::uintmax_t size = fs::file_size(path, error);
    if (error || size > max_script_bytes) return std::nullopt;
    std::ifstream file(path, std::ios::binary);
    std::string text(size, '\0');
    file.read(text.data(), static_cast<std::streamsize>(size));
    if (!file) return std::nullopt;
    return text;
}

}  // namespace castile::lang
