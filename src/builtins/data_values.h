#pragma once
// Between data (JSON, YAML) and the script's values.

#include <expected>
#include <string>

#include "builtins/data.h"
#include "lang/decode.h"
#include "lang/value.h"

namespace castile::builtins {

/// What a script's value is as data. Throws RuntimeError of that kind ("json", "yaml") when it is nothing of the sort.
Data to_data(const lang::Value& value, const char* kind);

/// The value that a type asks for; or that type where the data does not fit: "{a: int, _}".
std::expected<lang::Value, std::string> from_data(const Data& data, const lang::Shape& shape);

/// Throws RuntimeError "json" for a number that only JSON5 can say.
std::string json_text(const Data& data, bool compact, bool json5);

}  // namespace castile::builtins
