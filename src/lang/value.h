#pragma once
// Values: 16 bytes, immutable, shared by atomic counts; any thread. A `ref` is an atomic cell.

#include <atomic>
#include <cassert>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/name.h"
#include "lang/span.h"

namespace castile::lang {

class Value;

/// An argument of a call: its label (empty: positional) and value.
struct CallArgument;

/// Base of the heap payloads.
struct Object {
    /// From here on a count says that the object lives as long as the process: it is not counted any more, so that threads
    /// that share it do not fight over its cache line.
    static constexpr std::uint32_t immortal = 1u << 31;

    union {
        mutable std::uint32_t count = 0;   // atomic (std::atomic_ref)
        mutable const Object* next_dying;  // deep structures are freed without recursion
    };

    Object() = default;
    Object(const Object&) = delete;
    Object& operator=(const Object&) = delete;
    virtual ~Object() = default;
    static void operator delete(void* p) { ::operator delete(p); }   // some are larger than their type

    void retain() const noexcept {
        std::atomic_ref shared(count);
        if (shared.load(std::memory_order_relaxed) < immortal) shared.fetch_add(1, std::memory_order_relaxed);
    }
    void release() const noexcept {
        std::atomic_ref shared(count);
        std::uint32_t n = shared.load(std::memory_order_acquire);
        if (n >= immortal) return;
        if (n == 1 || shared.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy();   // alone: nobody can come to share it
    }

    /// False when it was before. In the middle of the range, so that a count taken or given back meanwhile changes nothing.
    bool make_immortal() const noexcept {
        return std::atomic_ref(count).exchange(immortal + immortal / 2, std::memory_order_relaxed) < immortal;
    }

private:
    void destroy() const noexcept;
};

/// A kind of opaque host value (a source, a clock, a format, a socket): its script type constructor.
struct ForeignKind {
    Name name;
    std::string (*print)(const void* object) = nullptr;             ///< as `print` shows it; default "<name>"
    int (*compare)(const void* a, const void* b) = nullptr;         ///< default: by identity
};

class Value {
public:
    enum class Kind : std::uint8_t { tuple, null, boolean, integer, floating, string, list, function, foreign };

    Value() noexcept = default;  ///< ()
    Value(const Value& other) noexcept : bits_(other.bits_) {
        if (bits_.owns) bits_.payload.object->retain();
    }
    Value(Value&& other) noexcept : bits_(std::exchange(other.bits_, Bits())) {}
    Value& operator=(const Value& other) noexcept { return *this = Value(other); }
    Value& operator=(Value&& other) noexcept {
        Bits old = std::exchange(bits_, std::exchange(other.bits_, Bits()));
        if (old.owns) old.payload.object->release();
        return *this;
    }
    ~Value() {
        if (bits_.owns) bits_.payload.object->release();
    }

    static Value unit() noexcept { return Value(); }
    static Value null() noexcept { return Value(Kind::null, {}); }
    static Value boolean(bool b) noexcept { return Value(Kind::boolean, {.boolean = b}); }
    static Value integer(std::int64_t i) noexcept { return Value(Kind::integer, {.integer = i}); }
    static Value floating(double d) noexcept { return Value(Kind::floating, {.floating = d}); }
    static Value string(std::string);
    static Value tuple(std::vector<Value>);
    static Value list(std::vector<Value>);
    static Value foreign(const ForeignKind& kind, std::shared_ptr<void> object);
    using NativeFunction = std::function<Value(std::span<const CallArgument>)>;
    static Value function(NativeFunction f, std::string name = "");
    /// ref(initial): called it gives its content; its method `set` replaces it. Reads and writes are atomic.
    static Value reference(Value initial);
    /// {a = ..., b = ...}
    static Value record(std::vector<std::pair<Name, Value>> methods);

    /// Of the value below its methods.
    Kind kind() const noexcept { return bits_.kind; }
    bool is_null() const noexcept { return kind() == Kind::null; }
    bool is_unit() const noexcept { return kind() == Kind::tuple && elements().empty(); }

    // Asserted: the checker made sure.
    bool as_bool() const noexcept { return below(Kind::boolean).payload.boolean; }
    std::int64_t as_int() const noexcept { return below(Kind::integer).payload.integer; }
    double as_float() const noexcept {         ///< an int is converted
        return kind() == Kind::integer ? static_cast<double>(as_int()) : below(Kind::floating).payload.floating;
    }
    const std::string& as_string() const noexcept;
    std::span<const Value> elements() const noexcept;   ///< of a list or tuple
    template <class T> std::shared_ptr<T> as_foreign() const { return std::static_pointer_cast<T>(foreign_pointer()); }
    const ForeignKind* foreign_kind() const noexcept;   ///< nullptr when not foreign

    /// Of a list: one with `first` before its elements, one without the `count` first. Neither copies the elements, as a rule.
    Value with_first(Value first) const;
    Value without_first(std::size_t count) const;

    /// Methods put on this value by the script or a builtin (not those that its type constructor gives, see find_method).
    const Value* own_method(Name name) const noexcept;
    Value with_method(Name name, Value method) const;   ///< a copy with it added or replaced
    std::vector<std::pair<Name, Value>> own_methods() const;
    Value without_methods() const noexcept;

    /// own_method, else the method registered for its foreign kind (RegisterMethod), bound to this value.
    std::optional<Value> find_method(Name name) const;

    /// Applies a function. Throws RuntimeError (a script-level error), ScriptError. Getters: see call_getter.
    Value call(std::span<const CallArgument> arguments) const;
    Value call() const;
    Value call(std::initializer_list<Value> positional) const;
    /// The value itself, or the result of applying it when it is a function ({t} types).
    Value get() const;

    std::shared_ptr<void> foreign_pointer() const;
    const Object* object() const noexcept;    ///< of the value below its methods; null for unboxed kinds

private:
    friend struct ValueAccess;   // lang/objects.h
    union Payload { std::int64_t integer; double floating; bool boolean; const Object* object; };
    struct Bits {                // all zero: ()
        Kind kind = Kind::tuple;
        bool owns = false;              // payload.object, which is shared
        bool boxed = false;             // that object is a MethodsObject around the value
        std::uint8_t unused = 0;
        std::uint32_t length = 0;       // of a list or tuple: the elements are the last ones of its object
        Payload payload{};
    };

    Value(Kind kind, Payload payload) noexcept : bits_{kind, false, false, 0, 0, payload} {}
    const Bits& below_methods() const noexcept;
    const Bits& below(Kind wanted) const noexcept {
        assert(kind() == wanted);
        return bits_.boxed ? below_methods() : bits_;
    }

    Bits bits_;
};

struct CallArgument {
    Name label;
    Value value;
};

/// A script-level error (`error.raise`, failed builtins): caught by try/catch; at top level printed with its kind and message.
class RuntimeError : public std::exception {
public:
    /// Notes the calls that the current thread is in.
    RuntimeError(std::string kind, std::string message);
    const char* what() const noexcept override { return message_.c_str(); }
    const std::string& kind() const noexcept { return kind_; }       ///< "not_found", "invalid", "http", ...
    const std::string& message() const noexcept { return message_; }
    std::vector<Span> stack;                                         ///< innermost first

private:
    std::string kind_, message_;
};

/// Is this `true`, or a function whose whole body is `true` ({true})? What a switch needs to know that it cannot fail.
bool always_true(const Value& value) noexcept;

/// Calls a function on every error made from now on. It may throw another one instead.
void on_every_error(std::function<void(const RuntimeError&)> f);

/// As `print` and interpolation show it: 1, 1.5, "x" quoted inside structures, [1, 2], (1, 2), {a=1}, null, <fun>.
std::string to_string(const Value& value, bool quote_strings = false);
/// Structural; methods do not count; functions and foreign by identity. -1, 0, 1.
int compare(const Value& a, const Value& b);

}  // namespace castile::lang
