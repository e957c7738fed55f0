#pragma once
// The evaluator: runs resolved terms. Any thread; nothing is shared but values and global slots.

#include <functional>
#include <string>
#include <vector>

#include "lang/engine.h"
#include "lang/resolve.h"
#include "lang/value.h"

namespace castile::lang {

/// What the evaluator asks of others. Set once, before anything runs.
struct EvaluatorHooks {
    EncoderMaker encoder_maker;
    /// `let eval x = text`: parses, checks against the type and runs.
    std::function<Value(const std::string& text, const Type* type, Span span)> evaluate_text;
};
EvaluatorHooks& evaluator_hooks();

/// Runs a whole program; the value of its last expression. Throws RuntimeError, ScriptError.
Value evaluate(const Program& program);

/// Errors as values: `{kind, message, trace}` of type error.
struct ErrorInfo {
    std::string kind, message;
    std::vector<Span> stack;
};
extern const ForeignKind error_kind;
Value to_value(const RuntimeError& error);
Value error_value(std::string kind, std::string message);
const ErrorInfo& error_info(const Value& error);
/// "Uncaught runtime error", number 14, at the innermost call.
Diagnostic to_diagnostic(const RuntimeError& error);

}  // namespace castile::lang
