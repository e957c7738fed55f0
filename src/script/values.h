#pragma once
// Values of the script that wrap the engine's objects, and back.

#include <memory>
#include <optional>

#include "clock/clock.h"
#include "codec/format.h"
#include "lang/value.h"
#include "source/source.h"

namespace castile {
class Request;
}

namespace castile::script {

extern const lang::ForeignKind source_kind, track_kind, clock_kind, format_kind, request_kind;

lang::Value to_value(const SourcePtr& source);
lang::Value to_value(const Track& track);
lang::Value to_value(const ClockPtr& clock);
lang::Value to_value(const FormatPtr& format);
lang::Value to_value(const std::shared_ptr<Request>& request);
lang::Value to_value(const Metadata& metadata);       ///< [(string * string)]
lang::Value to_value(const MetadataPtr& metadata);    ///< the same; null pointer: []
Metadata metadata_from_value(const lang::Value& value);
SourcePtr source_from_value(const lang::Value& value);
Track track_from_value(const lang::Value& value);
ClockPtr clock_from_value(const lang::Value& value);
FormatPtr format_from_value(const lang::Value& value);
std::shared_ptr<Request> request_from_value(const lang::Value& value);

/// A value as T: float, double, int, bool, std::string, or std::optional of these (from a nullable).
template <class T> T value_as(const lang::Value& value);

}  // namespace castile::script
