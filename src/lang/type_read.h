#pragma once
// Written types to types: annotations of scripts, texts of declarations.

#include <functional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "lang/arena.h"
#include "lang/type_expr.h"
#include "lang/type_pool.h"

namespace castile::lang {

class TypeReader {
public:
    explicit TypeReader(TypePool& pool) : pool_(pool) {}

    /// The type of a declaration: its variables are quantified, those of one method alone by that method. Throws ScriptError.
    Scheme declaration(std::string_view text);
    /// An annotation: variables and `_` are fresh ones of that level. Throws ScriptError (3) for an unknown constructor.
    Type* annotation(const TypeExpr& expression, int level);
    /// Every text of a declaration: the constructors in it become known once one is looked for.
    void may_mention(std::string_view text) { unread_.push_back(text); }

private:
    struct Scope {
        int level;
        bool declaration;
        std::unordered_map<Name, Type*> variables;
    };
    Type* read(const TypeExpr& e, Scope& scope, int depth);
    Type* named(Name name, const TypeExpr& e, Scope& scope);
    Type* apply(const texpr::Apply& a, const TypeExpr& e, Scope& scope, int depth);
    Type* content(const texpr::Apply& a, const TypeExpr& e, Scope& scope, int depth);
    Type* tracks(const texpr::Apply& a, Scope& scope, int depth);
    Type* variable(Name name, Scope& scope);
    void quantify_methods(Type* t, Type* root);
    bool known(Name constructor);
    [[noreturn]] void unknown(Name constructor, Span span);

    TypePool& pool_;
    std::vector<std::string_view> unread_;
    std::unordered_set<Name> known_;
};

}  // namespace castile::lang
