#include "lang/old_arguments.h"

#include <map>
#include <utility>

namespace castile::lang {

namespace {

std::map<std::pair<std::string, std::string>, std::string>& table() {
    static auto* all = new std::map<std::pair<std::string, std::string>, std::string>;
    return *all;
}

}  // namespace

RegisterOldArgument::RegisterOldArgument(std::string function, std::string label, std::string advice) {
    table().emplace(std::pair(std::move(function), std::move(label)), std::move(advice));
}

const std::string* old_argument(std::string_view function, std::string_view label) {
    const auto at = table().find({std::string(function), std::string(label)});
    return at == table().end() ? nullptr : &at->second;
}

}  // namespace castile::lang
