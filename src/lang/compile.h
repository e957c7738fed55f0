#pragma once
// The compiler: resolved terms to code. Each overload stands beside the nodes that it makes.

#include <utility>
#include <vector>

#include "lang/arena.h"
#include "lang/code.h"
#include "lang/term.h"

namespace castile::lang {

class Compiler {
public:
    explicit Compiler(Arena& arena) : arena_(arena) {}

    /// `last`: what the term gives is the result of the function it is in, so a call there may take the function's place.
    const Code* compile(const Term* term, bool last = false);
    const Code* compile_optional(const Term* term, bool last = false) { return term ? compile(term, last) : nullptr; }
    const Binder* binder(const Pattern* pattern);   ///< null for a pattern that binds nothing

    template <class T, class... A> const T* make(A&&... a) { return arena_.make<T>(std::forward<A>(a)...); }

private:
    Arena& arena_;
};

/// Where a term stands, and whether it is the last.
struct Place {
    const Term& term;
    bool last;
};

// compile_data.cpp
const Code* compile_node(Compiler&, const term::Int&, Place);
const Code* compile_node(Compiler&, const term::Float&, Place);
const Code* compile_node(Compiler&, const term::String&, Place);
const Code* compile_node(Compiler&, const term::Bool&, Place);
const Code* compile_node(Compiler&, const term::Null&, Place);
const Code* compile_node(Compiler&, const term::Variable&, Place);
const Code* compile_node(Compiler&, const term::Tuple&, Place);
const Code* compile_node(Compiler&, const term::List&, Place);
const Code* compile_node(Compiler&, const term::Methods&, Place);
const Code* compile_node(Compiler&, const term::Invoke&, Place);
const Code* compile_node(Compiler&, const term::Ascribe&, Place);
const Code* compile_node(Compiler&, const term::ToFloat&, Place);
const Code* compile_node(Compiler&, const term::Decode&, Place);
const Code* compile_node(Compiler&, const term::Encoder&, Place);
// compile_control.cpp
const Code* compile_node(Compiler&, const term::Let&, Place);
const Code* compile_node(Compiler&, const term::Sequence&, Place);
const Code* compile_node(Compiler&, const term::Open&, Place);
const Code* compile_node(Compiler&, const term::Coalesce&, Place);
const Code* compile_node(Compiler&, const term::And&, Place);
const Code* compile_node(Compiler&, const term::Or&, Place);
const Code* compile_node(Compiler&, const term::If&, Place);
const Code* compile_node(Compiler&, const term::While&, Place);
const Code* compile_node(Compiler&, const term::For&, Place);
const Code* compile_node(Compiler&, const term::ForIn&, Place);
const Code* compile_node(Compiler&, const term::Try&, Place);
// compile_call.cpp
const Code* compile_node(Compiler&, const term::Function&, Place);
const Code* compile_node(Compiler&, const term::Apply&, Place);

/// compile_operator.cpp: a builtin that is run in place when its arguments are bare numbers or bools; null when it is none of those.
class DeclaredObject;
const Code* compile_operator(Compiler& compiler, const DeclaredObject& builtin, const std::vector<const Code*>& arguments, Span call);

/// The function in a global, when it is there already: it will not change any more. Else null.
const FunctionObject* known_function(const Term* term);

}  // namespace castile::lang
