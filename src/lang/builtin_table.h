#pragma once
// The frozen declarations as the evaluator and the engine need them: by name, as values, as type text.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "lang/builtin.h"

namespace castile::lang {

const Builtin* find_builtin(std::string_view name);
const BuiltinConstant* find_constant(std::string_view name);
const ForeignMethod* find_foreign_method(Name constructor, Name method);

Value builtin_value(const Builtin& builtin);
/// A method given by the kind of a foreign value, bound to it.
std::optional<Value> foreign_method(const Value& self, Name method);

/// "(?id : string?, {float}) -> unit"
std::string type_text(const Builtin& builtin);
std::string type_text(const ForeignMethod& method);
std::string function_type_text(const std::vector<BuiltinParam>& params, const std::string& result,
                               const std::vector<BuiltinMethod>& methods = {});

/// Default values that are more than a literal: set by the engine.
void set_default_evaluator(std::function<Value(std::string_view text)> evaluate);

}  // namespace castile::lang
