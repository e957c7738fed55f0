#pragma once
// The calls in progress on a thread: their places in the script, their locals, and how much native stack they leave.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lang/span.h"
#include "lang/value.h"

namespace castile::lang {

class CallFrame;

/// What a thread that evaluates keeps. Locals are in address space that is only touched when used; it is all units above `top`.
struct ThreadStack {
    Value* top = nullptr;
    Value* end = nullptr;
    CallFrame* innermost = nullptr;
    std::uintptr_t native_limit = UINTPTR_MAX;   // not known yet: the first check finds it

    /// Throws RuntimeError "stack_overflow".
    Value* push(std::size_t count) {
        if (static_cast<std::size_t>(end - top) <= count) make_room(count);   // there is none at first
        Value* locals = top;
        top += count;
        return locals;
    }
    void pop(Value* locals) noexcept {
        while (top != locals) *--top = Value();
    }

private:
    void make_room(std::size_t count);
};

extern constinit thread_local ThreadStack thread_stack;

/// Values on the thread's stack, all units at first.
class Locals {
public:
    Locals(ThreadStack& stack, std::size_t count) : stack_(stack), values_(stack.push(count)) {}
    ~Locals() { if (values_) stack_.pop(values_); }
    Locals(const Locals&) = delete;
    Value& operator[](std::size_t i) const noexcept { return values_[i]; }
    Value* data() const noexcept { return values_; }
    void leave() noexcept { values_ = nullptr; }   ///< to whoever pops what is below

private:
    ThreadStack& stack_;
    Value* values_;
};

/// A call in progress: where from. A list on the native stack, for the stack of a RuntimeError.
class CallFrame {
public:
    CallFrame(ThreadStack& stack, Span call) noexcept : stack_(stack), call_(call), caller_(stack.innermost) { stack.innermost = this; }
    explicit CallFrame(Span call) noexcept : CallFrame(thread_stack, call) {}
    ~CallFrame() { stack_.innermost = caller_; }
    CallFrame(const CallFrame&) = delete;
    void replace(Span call) noexcept { call_ = call; }   ///< a tail call
    static std::vector<Span> current(std::size_t limit);

private:
    ThreadStack& stack_;
    Span call_;
    CallFrame* caller_;
};

void measure_stack();   // check_stack's slow path

/// Throws RuntimeError "stack_overflow" when less than a safe rest of the native stack is left.
inline void check_stack(const ThreadStack& stack = thread_stack) {
    if (reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) < stack.native_limit) measure_stack();
}

}  // namespace castile::lang
