// The calls in progress on a thread, and how much native stack they leave.

#include "lang/stack.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <new>
#include <vector>

namespace castile::lang {

namespace {

constexpr std::size_t reserve = 256 * 1024;   // bytes kept free for builtins, printing and unwinding
constexpr std::size_t traced_calls = 32;
constexpr std::size_t most_locals = 1 << 20;  // values of a thread

std::uintptr_t find_native_limit() noexcept {
    pthread_attr_t attributes;
    void* lowest = nullptr;
    std::size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
    pthread_attr_getstack(&attributes, &lowest, &size);
    pthread_attr_destroy(&attributes);
    return reinterpret_cast<std::uintptr_t>(lowest) + std::min(reserve, size / 2);
}

[[noreturn]] void overflow() { throw RuntimeError("stack_overflow", "The calls are nested too deeply (stack overflow)."); }

/// Gives the locals back at the thread's end.
struct Mapping {
    void* memory = nullptr;
    ~Mapping() {
        if (!memory) return;
        munmap(memory, most_locals * sizeof(Value));
        thread_stack.top = thread_stack.end = nullptr;
    }
};

}  // namespace

constinit thread_local ThreadStack thread_stack;

void ThreadStack::make_room(std::size_t count) {
    if (top) overflow();
    thread_local Mapping mapping;
    // Zeroed memory is an array of units.
    void* memory = mmap(nullptr, most_locals * sizeof(Value), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    mapping.memory = memory;
    top = static_cast<Value*>(memory);
    end = top + most_locals;
    if (count >= most_locals) overflow();
}

std::vector<Span> CallFrame::current(std::size_t limit) {
    std::vector<Span> calls;
    for (const CallFrame* f = thread_stack.innermost; f && calls.size() < limit; f = f->caller_)
        if (f->call_.end > f->call_.begin) calls.push_back(f->call_);
    return calls;
}

void measure_stack() {
    ThreadStack& stack = thread_stack;
    static thread_local bool measured = false;
    if (!measured) {
        measured = true;
        stack.native_limit = find_native_limit();
        return check_stack();
    }
    const std::uintptr_t limit = std::exchange(stack.native_limit, 0);   // building the error may go below
    RuntimeError error("stack_overflow", "The calls are nested too deeply (stack overflow).");
    stack.native_limit = limit;
    throw error;
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
