#pragma once
// The methods that every source has in a script (`s.skip()`), one table for all; outputs get theirs beside.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lang/builtin.h"
#include "source/output.h"

namespace castile::script {

/// The table, by name. Registered for the type constructor "source".
std::span<const lang::ForeignMethod> source_methods();

/// The type of a method as a field: "(?label : t, u) -> r", or the constant's type.
std::string method_type(const lang::ForeignMethod& method);

/// What `unit` results carry so that an output can be asked like a source: every method of the table, bound to `source`.
lang::Value with_source_methods(lang::Value value, const SourcePtr& source);

/// start, stop, is_started, on_start, on_stop, shutdown.
std::span<const lang::BuiltinMethod> output_methods();
lang::Value with_output_methods(lang::Value value, const std::shared_ptr<Output>& output);

/// Runs `order` on the source where its state may be changed: between two ticks of its running clock, else at once.
void order(const SourcePtr& source, std::function<void(Source&)> order);

}  // namespace castile::script
