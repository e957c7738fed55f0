#pragma once
// Subtyping with unification: makes one type a subtype of another by binding variables, or says where they differ.

#include <functional>
#include <vector>

#include "lang/type_pool.h"

namespace castile::lang {

/// Methods that a type constructor gives to all its values (`s.skip`); nullptr when it does not.
using ConstructorMethod = std::function<const TypeField*(Name constructor, Name method)>;

class Unifier {
public:
    Unifier(TypePool& pool, ConstructorMethod methods) : pool_(pool), methods_(std::move(methods)) {}

    /// Why the last `subtype` was false: both types reduced to where they differ.
    struct Mismatch {
        Type* given = nullptr;
        Type* expected = nullptr;
        Name missing_method;       ///< not empty: the value itself lacks this method
        Type* without = nullptr;   ///< the type that lacks it
        Type* inner_given = nullptr;      ///< the innermost parts that differ, for hints
        Type* inner_expected = nullptr;
    };

    /// Makes `a` usable wherever `b` is wanted. False leaves some variables bound: only for ending in an error.
    /// Throws TypeTooComplex.
    bool subtype(Type* a, Type* b);
    const Mismatch& mismatch() const { return mismatch_; }
    /// Adds constraints to a type. False: it cannot meet them.
    bool satisfy(Type* t, std::uint16_t constraints);

private:
    bool sub(Type* a, Type* b);
    bool sub_known(Type* a, Type* b);
    bool sub_record(Type* a, Type* b);
    bool sub_field(const TypeField& a, const TypeField& b);
    bool sub_arrow(Type* a, Type* b);
    bool sub_constructor(Type* a, Type* b);
    bool bind(Type* variable, Type* t, bool covariant);
    bool occurs(Type* variable, Type* t, int depth);
    bool satisfy_one(Type* t, std::uint16_t bit);
    Type* sup(Type* a, Type* b);   ///< nullptr: none
    Type* sup_record(Type* a, Type* b);
    bool differ(Type* a, Type* b);
    Type* head(Type* t);
    bool wrap(TypeKind kind);
    bool wrap_element(Type* like, std::uint32_t index);
    void enter();

    TypePool& pool_;
    ConstructorMethod methods_;
    Mismatch mismatch_;
    int depth_ = 0;
    long steps_ = 0;
};

}  // namespace castile::lang
