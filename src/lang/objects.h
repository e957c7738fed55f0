#pragma once
// What values point to. For lang/ only: everyone else uses Value.

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lang/stack.h"
#include "lang/value.h"

namespace castile::lang {

struct StringObject final : Object {
    explicit StringObject(std::string t) : text(std::move(t)) {}
    std::string text;
};

/// The elements of tuples and lists. They fill its room from the end, so that lists can share them: one without the first
/// elements of another is the same object with a smaller length, and a new first element goes before the others when that
/// place is free. Who has a value of some length only ever looks at that many from the end.
struct ElementsObject final : Object {
    static ElementsObject* make(std::size_t room);
    ~ElementsObject() override;

    Value* end() const noexcept { return reinterpret_cast<Value*>(const_cast<ElementsObject*>(this) + 1) + room; }
    /// Takes the place before the `length` last elements, unless it is taken or there is no room; null then.
    Value* claim_before(std::uint32_t length) const noexcept;

    const std::uint32_t room;
    mutable std::uint32_t used = 0;   // atomic (std::atomic_ref)

private:
    explicit ElementsObject(std::uint32_t r) : room(r) {}
};

struct ForeignObject final : Object {
    ForeignObject(const ForeignKind& k, std::shared_ptr<void> p) : kind(k), pointer(std::move(p)) {}
    const ForeignKind& kind;
    std::shared_ptr<void> pointer;
};

using MethodTable = std::vector<std::pair<Name, Value>>;   // few: searched in order

/// A value with methods.
struct MethodsObject final : Object {
    MethodsObject(Value b, MethodTable m) : base(std::move(b)), methods(std::move(m)) {}
    Value base;   // without methods
    MethodTable methods;
};

struct FunctionObject : Object {
    enum class Tag : std::uint8_t { native, closure, builtin, reference };
    explicit FunctionObject(Tag t) : tag(t) {}
    const Tag tag;
    virtual Value apply(std::span<const CallArgument> arguments, Span call) const = 0;
    virtual Value apply(std::span<const Value> positional, Span call) const;
    virtual std::string describe() const = 0;   ///< as printed
};

struct ValueAccess {
    using Bits = Value::Bits;
    static const Bits& bits(const Value& v) noexcept { return v.bits_; }
    /// Gives the share that the bits stand for to a value, and takes it away from one.
    static Value adopt(const Bits& bits) noexcept {
        Value v;
        v.bits_ = bits;
        return v;
    }
    static Bits disown(Value&& v) noexcept { return std::exchange(v.bits_, Bits()); }
    /// A value with a new share of the object.
    static Value make(Value::Kind kind, const Object* object, std::size_t length = 0) noexcept {
        object->retain();
        return adopt({kind, true, false, 0, static_cast<std::uint32_t>(length), {.object = object}});
    }
    static Value function(const FunctionObject* f) noexcept { return make(Value::Kind::function, f); }
    static const FunctionObject* function(const Value& v) noexcept { return static_cast<const FunctionObject*>(v.object()); }
    static const MethodsObject* methods(const Value& v) noexcept {
        return v.bits_.boxed ? static_cast<const MethodsObject*>(v.bits_.payload.object) : nullptr;
    }
    /// A tuple or list; takes the values.
    static Value sequence(Value::Kind kind, std::span<Value> elements);
    static Value with_methods(const Value& base, MethodTable methods);   ///< replaces all methods
    /// Calls from a script: `call` is where.
    static Value apply(const Value& function, std::span<const CallArgument> arguments, Span call);
};

/// The contents of a `ref`. Numbers, bools and the like are read without writing to memory, so that readers on many cores do
/// not slow each other down; the count of anything else is taken under a lock.
struct ReferenceObject final : FunctionObject {
    explicit ReferenceObject(Value initial);
    ~ReferenceObject() override;
    Value load() const;
    void store(Value v) const;
    Value apply(std::span<const CallArgument> arguments, Span call) const override;
    std::string describe() const override;

private:
    using Words = std::array<std::uint64_t, 2>;   // a value's bits
    Words read() const noexcept;
    void write(const Words& words) const noexcept;
    void lock() const noexcept;
    void unlock() const noexcept;

    mutable std::atomic<std::uint32_t> version_ = 0;   // odd: someone copies or writes the content
    mutable std::atomic<std::uint64_t> words_[2];
};

/// All that a value reaches is never freed: of values that globals hold.
void make_immortal(const Value& value);

}  // namespace castile::lang
