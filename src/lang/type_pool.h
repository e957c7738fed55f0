#pragma once
// TypePool: makes type nodes. One thread; nodes live as long as the pool.

#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include "lang/type.h"

namespace castile::lang {

/// A type that inference refuses to walk: too deep or too large. Turned into an error with a position by the checker.
struct TypeTooComplex : std::runtime_error {
    TypeTooComplex() : std::runtime_error("This expression has a type that is too complex.") {}
};

class TypePool {
public:
    static constexpr int quantified_level = 1 << 30;
    static constexpr int max_depth = 4000;
    static constexpr unsigned max_instance = 50'000;             ///< nodes of one instance of a scheme
    static constexpr std::size_t max_program = 256u << 20;       ///< bytes that one program may add

    TypePool();
    TypePool(const TypePool&) = delete;
    TypePool& operator=(const TypePool&) = delete;

    Type* integer() const { return integer_; }
    Type* floating() const { return floating_; }
    Type* string() const { return string_; }
    Type* boolean() const { return boolean_; }
    Type* unit() const { return unit_; }
    Type* never() const { return never_; }
    Type* ellipsis() const { return ellipsis_; }
    Type* dots() const { return dots_; }

    Type* variable(int level, std::uint16_t constraints = 0);
    Type* literal(Name text);
    Type* getter(Type* t) { return wrap(TypeKind::getter, t); }
    Type* nullable(Type* t);                      ///< of a nullable: itself
    Type* list(Type* t) { return wrap(TypeKind::list, t); }
    Type* tuple(std::span<Type* const> elements);
    Type* constructor(Name name, std::span<Type* const> arguments = {});
    Type* arrow(std::span<const TypeParam> params, Type* result);
    /// Adds fields to a type, replacing those of the same name.
    Type* record(std::span<const TypeField> fields, Type* base);
    Type* reference(Type* t);                     ///< (() -> t).{set : (t) -> unit}
    Type* node(TypeKind kind);
    template <class T> T* array(std::span<const T> values) {
        if (values.empty()) return nullptr;
        T* data = static_cast<T*>(allocate(sizeof(T) * values.size()));
        std::uninitialized_copy(values.begin(), values.end(), data);
        return data;
    }

    /// A number that no node's stamp has yet.
    std::uint32_t next_stamp() { return ++stamp_; }
    std::uint32_t stamp() const { return stamp_; }

    /// Marks the free variables above `level` as quantified: a scheme of the type.
    Scheme generalise(Type* t, int level);
    /// A copy with fresh variables of that level for the quantified ones.
    Type* instantiate(const Scheme& scheme, int level);
    Type* instantiate(const TypeField& field, int level) {
        return field.quantified_count ? instantiate(Scheme{field.type, field.quantified_count, field.quantified}, level) : field.type;
    }
    /// Variables of a type that was not generalised live as long as that level.
    void lower_levels(Type* t, int level);
    std::size_t bytes() const { return bytes_; }
    /// From here on max_program bytes may be added.
    void start_program() { limit_ = bytes_ + max_program; }

private:
    void* allocate(std::size_t bytes);
    Type* wrap(TypeKind kind, Type* t);
    Type* copy(Type* t, int depth, bool fresh_links);
    void collect(Type* t, int level, std::vector<Type*>& found, int depth);

    std::vector<std::unique_ptr<std::byte[]>> blocks_;
    std::size_t used_ = 0, size_ = 0, bytes_ = 0, limit_ = std::size_t(-1);
    unsigned copied_ = 0;
    std::uint32_t stamp_ = 0;
    Type *integer_, *floating_, *string_, *boolean_, *unit_, *never_, *ellipsis_, *dots_;
};

}  // namespace castile::lang
