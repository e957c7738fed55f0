#include "base/name.h"

#include <mutex>
#include <unordered_set>

namespace castile {

namespace {

struct Table {
    std::mutex names_mutex;
    std::unordered_set<std::string> names;  // node based: addresses are stable
};

Table& table() {
    static Table* table = new Table;  // never destroyed: names outlive every static
    return *table;
}

const std::string* empty_name() {
    static const std::string* empty = &*table().names.emplace().first;
    return empty;
}

}  // namespace

Name::Name() noexcept : text_(empty_name()) {}

Name::Name(std::string_view text) : text_(empty_name()) {
    if (text.empty()) return;
    std::lock_guard lock(table().names_mutex);
    text_ = &*table().names.emplace(text).first;
}

}  // namespace castile
