#pragma once
// Values: 16 bytes, immutable, shared by atomic counts; any thread. A `ref` is an atomic cell.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/name.h"
#include "lang/span.h"

namespace castile::lang {

class Value;

/// An argument of a call: its label (empty: positional) and value.
struct CallArgument;

/// Base of the heap payloads.
struct Object {
    mutable std::uint32_t count_ = 0;        // atomic (std::atomic_ref), owned by Value
    mutable const Object* next_ = nullptr;   // list of the dying: deep structures are freed without recursion
    Object() = default;
    Object(const Object&) = delete;
    Object& operator=(const Object&) = delete;
    virtual ~Object() = default;
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

    Value() noexcept;  ///< ()
    Value(const Value&) noexcept;
    Value(Value&&) noexcept;
    Value& operator=(Value) noexcept;
    ~Value();

    static Value unit() noexcept { return Value(); }
    static Value null() noexcept;
    static Value boolean(bool) noexcept;
    static Value integer(std::int64_t) noexcept;
    static Value floating(double) noexcept;
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
    Kind kind() const noexcept;
    bool is_null() const noexcept { return kind() == Kind::null; }

    // Asserted: the checker made sure.
    bool as_bool() const noexcept;
    std::int64_t as_int() const noexcept;
    double as_float() const noexcept;         ///< an int is converted
    const std::string& as_string() const noexcept;
    std::span<const Value> elements() const noexcept;   ///< of a list or tuple
    template <class T> std::shared_ptr<T> as_foreign() const { return std::static_pointer_cast<T>(foreign_pointer()); }
    const ForeignKind* foreign_kind() const noexcept;   ///< nullptr when not foreign

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
    bool is_unit() const noexcept { return kind_ == Kind::tuple && elements().empty(); }

private:
    friend struct ValueAccess;   // lang/eval
    Kind kind_ = Kind::tuple;
    bool boxed_ = false;
    union Payload { std::int64_t integer; double floating; bool boolean; const Object* object; } payload_{};
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
