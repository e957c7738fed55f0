#include "base/name.h"

#include <mutex>
#include <unordered_set>

namespace castile {

namespace {

struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
};

struct Table {
    std::mutex names_mutex;
    std::unordered_set<std::string, TextHash, std::equal_to<>> names;  // node based: addresses are stable
};

Table& table() {
    static Table* table = new Table;  // never destroyed: names outlive every static
    return *table;
}

}  // namespace

const std::string& Name::no_text() noexcept {
    static const std::string empty;
    return empty;
}

Name::Name(std::string_view text) {
    if (text.empty()) return;
    std::lock_guard lock(table().names_mutex);
    auto& names = table().names;
    auto known = names.find(text);
    text_ = known != names.end() ? &*known : &*names.emplace(text).first;
}

}  // namespace castile
