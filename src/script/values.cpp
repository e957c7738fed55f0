#include "script/values.h"

#include <cassert>

#include "request/request.h"

namespace castile::script {

namespace {
std::string print_clock(const void* object) {
    Clock& clock = *const_cast<Clock*>(static_cast<const Clock*>(object));
    const std::string sync = clock.sync();
    return fmt::format("clock(id={},sync={}{})", clock.id(), sync, sync == "stopped" ? fmt::format(",pending={}", clock_mode_word(clock.mode())) : "");
}
}  // namespace

const lang::ForeignKind source_kind{"source"}, track_kind{"track"}, clock_kind{"clock", print_clock}, format_kind{"format"},
    request_kind{"request"};

lang::Value to_value(const SourcePtr& source) { return lang::Value::foreign(source_kind, source); }
lang::Value to_value(const Track& track) { return lang::Value::foreign(track_kind, std::make_shared<Track>(track)); }
lang::Value to_value(const ClockPtr& clock) { return lang::Value::foreign(clock_kind, clock); }

lang::Value to_value(const FormatPtr& format) {
    return lang::Value::foreign(format_kind, std::const_pointer_cast<Format>(format));
}

lang::Value to_value(const RequestPtr& request) { return lang::Value::foreign(request_kind, request); }

lang::Value to_value(const Metadata& metadata) {
    std::vector<lang::Value> entries;
    entries.reserve(metadata.entries().size());
    for (const auto& [label, value] : metadata.entries())
        entries.push_back(lang::Value::tuple({lang::Value::string(label), lang::Value::string(value)}));
    return lang::Value::list(std::move(entries));
}

lang::Value to_value(const MetadataPtr& metadata) { return metadata ? to_value(*metadata) : lang::Value::list({}); }

Metadata metadata_from_value(const lang::Value& value) {
    Metadata metadata;
    for (const lang::Value& entry : value.elements()) {
        const auto pair = entry.elements();
        // The first of equal labels counts, as in an association list.
        if (!metadata.find(pair[0].as_string())) metadata.set(pair[0].as_string(), pair[1].as_string());
    }
    return metadata;
}

SourcePtr source_from_value(const lang::Value& value) {
    assert(value.foreign_kind() == &source_kind);
    return value.as_foreign<Source>();
}

Track track_from_value(const lang::Value& value) {
    assert(value.foreign_kind() == &track_kind);
    return *value.as_foreign<Track>();
}

ClockPtr clock_from_value(const lang::Value& value) {
    assert(value.foreign_kind() == &clock_kind);
    return value.as_foreign<Clock>();
}

FormatPtr format_from_value(const lang::Value& value) {
    assert(value.foreign_kind() == &format_kind);
    return value.as_foreign<const Format>();
}

RequestPtr request_from_value(const lang::Value& value) {
    assert(value.foreign_kind() == &request_kind);
    return value.as_foreign<Request>();
}

template <> float value_as<float>(const lang::Value& value) { return static_cast<float>(value.as_float()); }
template <> double value_as<double>(const lang::Value& value) { return value.as_float(); }
template <> int value_as<int>(const lang::Value& value) { return static_cast<int>(value.as_int()); }
template <> bool value_as<bool>(const lang::Value& value) { return value.as_bool(); }
template <> std::string value_as<std::string>(const lang::Value& value) { return value.as_string(); }

namespace {
template <class T> std::optional<T> nullable_as(const lang::Value& value) {
    if (value.is_null()) return std::nullopt;
    return value_as<T>(value);
}
}  // namespace

template <> std::optional<double> value_as(const lang::Value& value) { return nullable_as<double>(value); }
template <> std::optional<int> value_as(const lang::Value& value) { return nullable_as<int>(value); }
template <> std::optional<bool> value_as(const lang::Value& value) { return nullable_as<bool>(value); }
template <> std::optional<std::string> value_as(const lang::Value& value) { return nullable_as<std::string>(value); }

}  // namespace castile::script
