#pragma once
// What values point to. For lang/ only: everyone else uses Value.

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lang/value.h"

namespace castile::lang {

struct StringObject final : Object {
    explicit StringObject(std::string t) : text(std::move(t)) {}
    std::string text;
};

/// Elements of a list or tuple.
struct ElementsObject final : Object {
    explicit ElementsObject(std::vector<Value> e) : elements(std::move(e)) {}
    std::vector<Value> elements;
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
    virtual std::string describe() const = 0;   ///< as printed
};

/// The contents of a `ref`: a value behind a spin lock, held for a copy or a swap.
struct ReferenceObject final : FunctionObject {
    explicit ReferenceObject(Value v) : FunctionObject(Tag::reference), content(std::move(v)) {}
    Value load() const;
    void store(Value v) const;
    Value apply(std::span<const CallArgument> arguments, Span call) const override;
    std::string describe() const override;

private:
    mutable std::atomic_flag cell_lock_ = ATOMIC_FLAG_INIT;
    mutable Value content;
};

/// A call in progress: where from. A list on the native stack, for the stack of a RuntimeError.
class CallFrame {
public:
    explicit CallFrame(Span call) noexcept;
    ~CallFrame();
    CallFrame(const CallFrame&) = delete;
    void replace(Span call) noexcept { call_ = call; }   ///< a tail call
    static std::vector<Span> current(std::size_t limit);

private:
    Span call_;
    CallFrame* caller_;
};

/// Throws RuntimeError "stack_overflow" when less than a safe rest of the native stack is left.
void check_stack();

struct ValueAccess {
    using Payload = Value::Payload;
    static Value make(Value::Kind kind, const Object* object, bool boxed = false) noexcept {   // takes a new reference
        Value v;
        v.kind_ = kind;
        v.boxed_ = boxed;
        v.payload_.object = object;
        if (object) std::atomic_ref(object->count_).fetch_add(1, std::memory_order_relaxed);
        return v;
    }
    static Value function(const FunctionObject* f) noexcept { return make(Value::Kind::function, f); }
    static const FunctionObject* function(const Value& v) noexcept { return static_cast<const FunctionObject*>(v.object()); }
    static const MethodsObject* methods(const Value& v) noexcept {
        return v.boxed_ ? static_cast<const MethodsObject*>(v.payload_.object) : nullptr;
    }
    static Value with_methods(const Value& base, MethodTable methods);   ///< replaces all methods
    /// Calls from a script: `call` is where.
    static Value apply(const Value& function, std::span<const CallArgument> arguments, Span call);
};

}  // namespace castile::lang
