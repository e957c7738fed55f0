// Terms to code, and what code of several files needs.

#include "lang/compile.h"

namespace castile::lang {

const Code* Compiler::compile(const Term* term, bool last) {
    check_stack();
    return std::visit([&](const auto& node) { return compile_node(*this, node, Place{*term, last}); }, term->node);
}

void fail(Span span, const char* kind, std::string message) {
    RuntimeError error(kind, std::move(message));
    error.stack.insert(error.stack.begin(), span);
    throw error;
}

}  // namespace castile::lang
