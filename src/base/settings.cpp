#include "base/settings.h"

#include <mutex>

#include "base/error.h"

namespace castile {

namespace {

std::map<std::string, SettingBase*, std::less<>>& table() {
    static auto* settings = new std::map<std::string, SettingBase*, std::less<>>;
    return *settings;
}

std::mutex& values_mutex() {
    static auto* mutex = new std::mutex;
    return *mutex;
}

const char* type_name(const SettingValue& value) {
    static constexpr const char* names[] = {"bool", "int", "float", "string", "[string]"};
    return names[value.index()];
}

}  // namespace

SettingBase::SettingBase(std::string name, SettingValue default_value, std::string doc, bool nullable)
    : name_(std::move(name)), doc_(std::move(doc)), default_(default_value), value_(std::move(default_value)), nullable_(nullable) {
    table()[name_] = this;
}

SettingBase::~SettingBase() {
    auto found = table().find(name_);
    if (found != table().end() && found->second == this) table().erase(found);
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

bool SettingBase::is_set() const {
    std::lock_guard lock(values_mutex());
    return set_;
}

const std::map<std::string, SettingBase*, std::less<>>& all_settings() { return table(); }

}  // namespace castile
