#include "base/settings.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

#include "base/error.h"

namespace castile {

namespace {

struct Late {
    std::string_view group;
    void (*make)();
    std::once_flag made;
};

struct Table {
    std::mutex names_mutex;
    std::map<std::string, SettingBase*, std::less<>> settings;
    std::map<std::string, std::string, std::less<>> group_docs;
    std::vector<std::unique_ptr<Late>> late;   // complete before main

    SettingBase* find(std::string_view name) {
        std::lock_guard lock(names_mutex);
        auto it = settings.find(name);
        return it == settings.end() ? nullptr : it->second;
    }
};

Table& table() {
    static auto* table = new Table;
    return *table;
}

std::mutex& values_mutex() {
    static auto* mutex = new std::mutex;
    return *mutex;
}

bool is_within(std::string_view name, std::string_view group) {
    return group.empty() || name == group || (name.size() > group.size() && name.starts_with(group) && name[group.size()] == '.');
}

void make_late(std::string_view name) {
    for (auto& late : table().late)
        if (is_within(name, late->group)) std::call_once(late->made, late->make);
}

const char* type_name(const SettingValue& value) {
    static constexpr const char* names[] = {"bool", "int", "float", "string", "[string]"};
    return names[value.index()];
}

}  // namespace

SettingBase::SettingBase(std::string name, SettingValue default_value, std::string doc, bool nullable)
    : name_(std::move(name)), doc_(std::move(doc)), default_(default_value), value_(std::move(default_value)), nullable_(nullable) {
    std::lock_guard lock(table().names_mutex);
    table().settings[name_] = this;
}

SettingBase::~SettingBase() {
    std::lock_guard lock(table().names_mutex);
    auto& settings = table().settings;
    auto found = settings.find(name_);
    if (found != settings.end() && found->second == this) settings.erase(found);
}

SettingValue SettingBase::value() const {
    std::lock_guard lock(values_mutex());
    return value_;
}

void SettingBase::set(SettingValue value) {
    if (const int* number = std::get_if<int>(&value); number && std::holds_alternative<double>(default_))
        value = static_cast<double>(*number);
    if (value.index() != default_.index())
        throw Error("The setting " + name_ + " is of type " + type_name(default_) + ", not " + type_name(value) + ".");
    std::lock_guard lock(values_mutex());
    value_ = std::move(value);
    set_ = true;
}

void SettingBase::reset() {
    std::lock_guard lock(values_mutex());
    value_ = default_;
    set_ = false;
}

bool SettingBase::is_set() const {
    std::lock_guard lock(values_mutex());
    return set_;
}

LateSettings::LateSettings(std::string_view group, void (*make)()) {
    auto late = std::make_unique<Late>();
    late->group = group;
    late->make = make;
    table().late.push_back(std::move(late));
}

SettingBase* find_setting(std::string_view name) {
    if (SettingBase* found = table().find(name)) return found;
    make_late(name);
    return table().find(name);
}

void keep_setting(std::string name, SettingValue default_value, std::string doc, bool nullable) {
    if (!table().find(name)) new SettingBase(std::move(name), std::move(default_value), std::move(doc), nullable);
}

std::vector<SettingBase*> settings_in(std::string_view group) {
    make_late(group);
    std::lock_guard lock(table().names_mutex);
    std::vector<SettingBase*> found;
    for (auto it = table().settings.lower_bound(group); it != table().settings.end() && it->first.starts_with(group); ++it)
        if (is_within(it->first, group)) found.push_back(it->second);
    return found;
}

std::vector<std::string_view> late_setting_groups() {
    std::vector<std::string_view> groups;
    for (const auto& late : table().late)
        if (!late->group.empty()) groups.push_back(late->group);
    return groups;
}

void describe_setting_group(std::string_view name, std::string_view doc) {
    std::lock_guard lock(table().names_mutex);
    table().group_docs.insert_or_assign(std::string(name), std::string(doc));
}

std::string setting_group_doc(std::string_view name) {
    std::lock_guard lock(table().names_mutex);
    auto it = table().group_docs.find(name);
    return it == table().group_docs.end() ? "" : it->second;
}

}  // namespace castile
