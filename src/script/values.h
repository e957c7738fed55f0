#pragma once
// Values of the script that wrap the engine's objects, and back.

#include "codec/format.h"
#include "lang/value.h"
#include "source/source.h"

namespace castile::script {

extern const lang::ForeignKind source_kind, track_kind, clock_kind, format_kind, request_kind;

lang::Value to_value(const SourcePtr& source);
lang::Value to_value(const Track& track);
lang::Value to_value(const FormatPtr& format);
lang::Value to_value(const Metadata& metadata);       ///< [(string * string)]
Metadata metadata_from_value(const lang::Value& value);
SourcePtr source_from_value(const lang::Value& value);

}  // namespace castile::script
