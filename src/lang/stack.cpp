// The calls in progress on a thread, and how much native stack they leave.

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <vector>

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

namespace {

struct Listeners {
    std::atomic<bool> any = false;   // nearly always false: errors are then made without the lock
    std::mutex list_mutex;
    std::vector<std::function<void(const RuntimeError&)>> list;
};

Listeners& listeners() {
    static Listeners* listeners = new Listeners;
    return *listeners;
}

thread_local bool listening = false;   // errors of a listener are not told to listeners

}  // namespace

RuntimeError::RuntimeError(std::string kind, std::string message)
    : stack(CallFrame::current(traced_calls)), kind_(std::move(kind)), message_(std::move(message)) {
    Listeners& all = listeners();
    if (!all.any.load(std::memory_order_acquire) || listening) return;
    std::unique_lock lock(all.list_mutex);
    auto list = all.list;
    lock.unlock();
    struct Listening {
        Listening() { listening = true; }
        ~Listening() { listening = false; }
    } guard;
    for (const auto& f : list) f(*this);
}

void on_every_error(std::function<void(const RuntimeError&)> f) {
    std::lock_guard lock(listeners().list_mutex);
    listeners().list.push_back(std::move(f));
    listeners().any.store(true, std::memory_order_release);
}

}  // namespace castile::lang
