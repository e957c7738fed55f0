#pragma once
// Code: what resolved terms are compiled to. Each node runs itself in the frame of the call that it belongs to.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lang/objects.h"
#include "lang/stack.h"
#include "lang/term.h"

namespace castile::lang {

class Frame;
struct ClosureObject;

/// A node. In the arena of its program, like the term that it comes from; any thread.
struct Code {
    virtual ~Code() = default;
    virtual Value run(Frame& frame) const = 0;
    /// The same without a share: what is returned lives in `room`, or as long as `room` and the frame's locals do.
    virtual const Value& look(Frame& frame, Value& room) const { return room = run(frame); }
    /// Of a bool.
    virtual bool test(Frame& frame) const {
        Value room;
        return look(frame, room).as_bool();
    }
};

/// A pattern: takes a value apart.
struct Binder {
    virtual ~Binder() = default;
    virtual void bind(Value value, Frame& frame) const = 0;
};

/// A compiled function: what its closures share.
struct FunctionCode {
    struct Param {
        Name label;
        bool has_default;
        int default_index;      ///< among the values of a closure
        const Binder* binder;   ///< of a parameter that is more than a variable; else null
    };
    const term::Function* function;
    const Code* body = nullptr;
    std::vector<Param> params;  ///< parameter i arrives in local i
    std::size_t locals = 0;
    std::size_t values = 0;     ///< of a closure
    int self_slot = -1;
    bool labelled = false;      ///< some parameter is
    bool takes_apart = false;   ///< some parameter is a pattern
};

/// A function and the values that it was made with: the captured ones, then the defaults of its parameters.
struct ClosureObject final : FunctionObject {
    static ClosureObject* make(const FunctionCode& code);
    ~ClosureObject() override;
    Value* values() const noexcept { return reinterpret_cast<Value*>(const_cast<ClosureObject*>(this) + 1); }

    Value apply(std::span<const CallArgument> arguments, Span call) const override;
    Value apply(std::span<const Value> positional, Span call) const override;
    std::string describe() const override;

    const FunctionCode& code;

private:
    explicit ClosureObject(const FunctionCode& c) : FunctionObject(Tag::closure), code(c) {}
};

/// A call of a script function in progress, or the top level of a program. The caller puts the arguments into the first
/// locals and keeps the closure alive.
class Frame {
public:
    Frame(ThreadStack& thread, std::size_t count) : stack(thread), locals(thread.push(count)), count_(count) {}
    Frame(ThreadStack& thread, const ClosureObject& closure);
    ~Frame() { stack.pop(locals); }
    Frame(const Frame&) = delete;

    /// Runs the function, and those that it calls last: these take its place.
    Value run(Span call);
    /// The last act of a function: leaves a call of `closure` to `run`. Its arguments are in the locals pushed last.
    void leave_to(const Value& closure, Span call) {
        next_ = closure;
        next_call_ = call;
    }

    ThreadStack& stack;
    Value* const locals;
    const Value* captured = nullptr;

private:
    void enter() const;
    void replace();

    std::size_t count_;
    const ClosureObject* closure_ = nullptr;
    Value running_, next_;   // calls taken over from the code: shares in their closures
    Span next_call_;
};

/// Finds the parameter of each argument of a call.
class Placement {
public:
    static constexpr std::size_t most_params = 64;
    explicit Placement(const FunctionCode& code) : code_(code) {}
    std::size_t place(Name label);                          ///< Throws RuntimeError when there is none.
    void defaults(const ClosureObject& closure, Value* locals) const;   ///< for the others; throws RuntimeError when one has none

private:
    const FunctionCode& code_;
    std::uint64_t given_ = 0;
    std::size_t first_free_ = 0;
};

/// Its method of that name. Throws RuntimeError when there is none.
Value method_of(const Value& value, Name name, Span span);

/// Raises an error of the script at a place that is no call.
[[noreturn]] void fail(Span span, const char* kind, std::string message);

}  // namespace castile::lang
