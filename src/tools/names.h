#pragma once
// A walk over a typed term that knows which names are in scope.

#include <map>
#include <string>
#include <vector>

#include "base/name.h"
#include "lang/term.h"

namespace castile::tools {

/// A name bound in the script.
struct Local {
    Name name;
    lang::Span span;                     ///< where it is bound
    const lang::Type* type = nullptr;
    const lang::term::Doc* doc = nullptr;
};

/// A type's text; `...` for one that would be too long to read (and, since types share their parts, perhaps to write).
std::string short_type(const lang::Type* type);

class NameWalk {
public:
    virtual ~NameWalk() = default;

    void walk(const lang::Term* term);

protected:
    /// Where a name is bound.
    virtual void bound(const Local&) {}
    /// A use of it; null: of the library's, or unknown.
    virtual void used(const lang::Term& term, Name name, const Local* local) {}
    /// base.method; `dotted` is the whole name when its root is none of the script's ("list.map").
    virtual void member(const lang::Term& term, const lang::term::Invoke& invoke, const std::string& dotted) {}
    /// A definition such as `def output.mine(...)`, by its dotted name.
    virtual void extended(const Local& local, const std::string& dotted) {}
    virtual void call(const lang::term::Apply&) {}

    const Local* find(Name name) const;
    const Local* find_extension(const std::string& dotted) const;
    const std::vector<Local>& scope() const noexcept { return scope_; }

private:
    void block(const lang::Term* term);
    void node(const lang::Term& term);
    void let(const lang::term::Let& let);
    void function(const lang::Term& term, const lang::term::Function& function);
    void bind(const lang::Pattern* pattern, const lang::Type* type, const lang::term::Doc* doc);
    void leave(std::size_t size) { scope_.resize(size); }

    std::vector<Local> scope_;
    std::map<std::string, Local> extensions_;
    unsigned depth_ = 0;
};

}  // namespace castile::tools
