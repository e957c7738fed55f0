#pragma once
// The standard library: files of definitions, each loaded when a script uses one of its names.

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace castile::lang {

class Library {
public:
    /// Indexes the files of a folder by reading them. Empty when the folder cannot be read.
    explicit Library(const std::string& directory);

    struct File { std::string path, text; std::vector<std::string> names; bool loaded = false; };
    /// The files not loaded yet that define one of these names, part of it, or something below it.
    std::vector<File*> needed_for(const std::set<std::string>& names);
    std::vector<File>& files() noexcept { return files_; }
    bool defines(std::string_view dotted) const;

    /// $CASTILE_STDLIB, beside the binary, the source tree it was built from, the installed place.
    static std::string find_directory();

private:
    std::vector<File> files_;
    std::multimap<std::string, std::size_t, std::less<>> by_name_;
};

}  // namespace castile::lang
