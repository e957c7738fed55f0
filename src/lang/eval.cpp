// Programs run, and errors as values.

#include "lang/eval.h"

#include <fmt/format.h>

#include "lang/compile.h"
#include "lang/diag.h"
#include "lang/text.h"

namespace castile::lang {

namespace {

std::string print_error(const void* p) {
    auto& e = *static_cast<const ErrorInfo*>(p);
    std::string where;
    for (Span s : e.stack) where += (where.empty() ? "" : ", ") + source_map().describe(s);
    std::string positions = where.empty() ? "" : ",positions=" + quote_text(where);
    return fmt::format("error(kind={},message={}{})", quote_text(e.kind), quote_text(e.message), positions);
}

}  // namespace

EvaluatorHooks& evaluator_hooks() {
    static EvaluatorHooks hooks;
    return hooks;
}

Value evaluate(const Program& program) {
    const Code* code = Compiler(*program.arena).compile(program.term);
    Frame frame(thread_stack, static_cast<std::size_t>(program.locals));
    return code->run(frame);
}

const ForeignKind error_kind{"error", print_error, [](const void* a, const void* b) {
    int c = static_cast<const ErrorInfo*>(a)->kind.compare(static_cast<const ErrorInfo*>(b)->kind);
    return c < 0 ? -1 : c > 0;
}};

Value to_value(const RuntimeError& e) {
    return Value::foreign(error_kind, std::make_shared<ErrorInfo>(ErrorInfo{e.kind(), e.message(), e.stack}));
}

Value error_value(std::string kind, std::string message) {
    return Value::foreign(error_kind, std::make_shared<ErrorInfo>(ErrorInfo{std::move(kind), std::move(message), {}}));
}

Diagnostic to_diagnostic(const RuntimeError& e) {
    std::string stack;
    for (Span s : e.stack) {
        std::string where = source_map().describe(s);
        if (!where.empty()) where[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(where[0])));
        stack += where + "\n";
    }
    Span at = e.stack.empty() ? Span{} : e.stack.front();
    return {Severity::error, 14, at,
            fmt::format("Uncaught runtime error: type: {}, message: {},\nstack: {}", e.kind(), quote_text(e.message()), stack)};
}

const ErrorInfo& error_info(const Value& error) { return *static_cast<const ErrorInfo*>(error.foreign_pointer().get()); }

bool always_true(const Value& value) noexcept {
    if (value.kind() == Value::Kind::boolean) return value.as_bool();
    if (value.kind() != Value::Kind::function) return false;
    const FunctionObject* function = ValueAccess::function(value);
    if (function->tag != FunctionObject::Tag::closure) return false;
    const auto* body = std::get_if<term::Bool>(&static_cast<const ClosureObject*>(function)->code.function->body->node);
    return body && body->value;
}

}  // namespace castile::lang
