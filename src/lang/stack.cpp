// The calls in progress on a thread, and how much native stack they leave.

#include <pthread.h>

#include <algorithm>

#include "lang/objects.h"

namespace castile::lang {

namespace {

constexpr std::size_t reserve = 192 * 1024;   // bytes kept free for builtins, printing and unwinding
constexpr std::size_t traced_calls = 32;

thread_local CallFrame* innermost = nullptr;
thread_local const char* stack_limit = nullptr;

const char* find_stack_limit() noexcept {
    pthread_attr_t attributes;
    void* lowest = nullptr;
    std::size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return reinterpret_cast<const char*>(1);
    pthread_attr_getstack(&attributes, &lowest, &size);
    pthread_attr_destroy(&attributes);
    return static_cast<const char*>(lowest) + std::min(reserve, size / 2);
}

}  // namespace

CallFrame::CallFrame(Span call) noexcept : call_(call), caller_(innermost) { innermost = this; }

CallFrame::~CallFrame() { innermost = caller_; }

std::vector<Span> CallFrame::current(std::size_t limit) {
    std::vector<Span> calls;
    for (const CallFrame* f = innermost; f && calls.size() < limit; f = f->caller_)
        if (f->call_.end > f->call_.begin) calls.push_back(f->call_);
    return calls;
}

void check_stack() {
    if (!stack_limit) stack_limit = find_stack_limit();
    if (static_cast<const char*>(__builtin_frame_address(0)) < stack_limit) {
        const char* limit = stack_limit;
        stack_limit = reinterpret_cast<const char*>(1);   // building the error may go below
        RuntimeError error("stack_overflow", "The calls are nested too deeply (stack overflow).");
        stack_limit = limit;
        throw error;
    }
}

RuntimeError::RuntimeError(std::string kind, std::string message)
    : stack(CallFrame::current(traced_calls)), kind_(std::move(kind)), message_(std::move(message)) {}

}  // namespace castile::lang
