// The standard library's index. A definition of the library starts its line: `def a.b(`, `let a.b =`, `a =`.

#include "lang/library.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace castile::lang {

namespace {

bool name_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '\''; }

std::string_view take_name(std::string_view& s) {
    while (s.starts_with(' ')) s.remove_prefix(1);
    std::size_t n = 0;
    while (n < s.size() && name_character(s[n])) ++n;
    std::string_view name = s.substr(0, n);
    s.remove_prefix(n);
    return name;
}

/// The name that a line defines, if it does.
std::string_view defined_name(std::string_view line) {
    if (line.empty() || line[0] == ' ' || line[0] == '#') return {};
    std::string_view word = take_name(line);
    if (word == "def" || word == "let") {
        word = take_name(line);
        while (word == "rec" || word == "replaces") word = take_name(line);
        return word;
    }
    while (line.starts_with(' ')) line.remove_prefix(1);
    return line.starts_with("=") && !line.starts_with("==") ? word : std::string_view();
}

}  // namespace

Library::Library(const std::string& directory) {
    std::error_code error;
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator(directory, error))
        if (entry.path().extension() == ".liq") paths.push_back(entry.path().string());
    std::ranges::sort(paths);
    for (std::string& path : paths) {
        std::ifstream in(path);
        std::ostringstream text;
        text << in.rdbuf();
        files_.push_back({std::move(path), std::move(text).str(), {}, false});
    }
    for (std::size_t i = 0; i < files_.size(); ++i) {
        std::string_view rest = files_[i].text;
        while (!rest.empty()) {
            std::size_t end = std::min(rest.find('\n'), rest.size() - 1);
            if (std::string_view name = defined_name(rest.substr(0, end)); !name.empty()) {
                files_[i].names.emplace_back(name);
                by_name_.emplace(name, i);
            }
            rest.remove_prefix(end + 1);
        }
    }
}

std::vector<Library::File*> Library::needed_for(const std::set<std::string>& names) {
    std::set<std::size_t> found;
    for (std::string name : names) {
        bool called = name.ends_with("()");
        if (called) name.resize(name.size() - 2);
        for (std::size_t dot = name.find('.');; dot = name.find('.', dot + 1)) {
            auto [first, last] = by_name_.equal_range(name.substr(0, dot));
            for (auto it = first; it != last; ++it) found.insert(it->second);
            if (dot == name.npos) break;
        }
        if (called) continue;
        for (auto it = by_name_.lower_bound(name + "."); it != by_name_.end() && it->first.starts_with(name + "."); ++it) found.insert(it->second);
    }
    std::vector<File*> files;
    for (std::size_t i : found)
        if (!files_[i].loaded) files.push_back(&files_[i]);
    return files;
}

bool Library::defines(std::string_view dotted) const {
    if (by_name_.contains(dotted)) return true;
    std::string below = std::string(dotted) + ".";
    auto it = by_name_.lower_bound(below);
    return it != by_name_.end() && it->first.starts_with(below);
}

std::string Library::find_directory() {
    namespace fs = std::filesystem;
    std::error_code error;
    if (const char* chosen = std::getenv("CASTILE_STDLIB")) return chosen;
    fs::path binary = fs::read_symlink("/proc/self/exe", error).parent_path();
    for (fs::path candidate : {binary / "stdlib", binary.parent_path() / "share/castile/stdlib", fs::path(CASTILE_STDLIB_SOURCE), fs::path("/usr/share/castile/stdlib")})
        if (fs::is_directory(candidate, error)) return candidate.string();
    return "";
}

}  // namespace castile::lang
