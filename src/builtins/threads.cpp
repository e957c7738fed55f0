// Tasks of scripts: once, at intervals, on a condition. They run on the blocking pool, since a script may wait in them.

#include "builtins/threads.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>

#include "base/log.h"
#include "builtins/define.h"
#include "builtins/lifecycle.h"
#include "lang/diag.h"
#include "lang/eval.h"
#include "sched/scheduler.h"

namespace castile::builtins {

namespace {

const Logger& logger() {
    static const Logger log("thread");
    return log;
}

struct Handlers {
    std::mutex handlers_mutex;
    std::vector<std::pair<Value, Value>> list;   // kind of error or null, function
    std::function<void()> after_task;
};

Handlers& handlers() {
    static Handlers* handlers = new Handlers;
    return *handlers;
}

std::string backtrace(const RuntimeError& e) {
    std::string out;
    for (lang::Span s : e.stack) out += lang::source_map().describe(s) + "\n";
    return out;
}

Duration seconds(double s) {
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(std::clamp(s, 0., 1e9)));
}

/// A task that runs again after the delay it gives, until that is negative.
class Recurrent : public std::enable_shared_from_this<Recurrent> {
public:
    /// `on_error`: null, or what gives the next delay.
    Recurrent(std::function<double()> body, Value on_error) : body_(std::move(body)), on_error_(std::move(on_error)) {}

    void start(double delay) {
        auto self = shared_from_this();
        scheduler().after(seconds(delay), [self] { scheduler().blocking([self] { self->run(); }); });
    }

private:
    void run() {
        if (shutdown_requested()) return;
        double next = -1;
        try {
            next = body_();
            usual_ = next;
        } catch (const RuntimeError& e) {
            next = failed(e);
        } catch (const std::exception& e) {
            logger().severe("A task of the script failed: {}", e.what());
        }
        after_task();
        if (next >= 0) start(next);
    }

    /// The schedule survives an error: a guard that fails once must keep watching.
    double failed(const RuntimeError& e) {
        if (on_error_.is_null()) {
            report_error(e);
            return usual_;
        }
        try {
            Value next = on_error_.call({lang::to_value(e)});
            return next.kind() == Value::Kind::floating ? next.as_float() : usual_;
        } catch (const RuntimeError& again) {
            report_error(again);
            return usual_;
        }
    }

    std::function<double()> body_;
    Value on_error_;
    double usual_ = -1;
};

void start_recurrent(std::function<double()> body, Value on_error, double delay) {
    std::make_shared<Recurrent>(std::move(body), std::move(on_error))->start(delay);
}

Value run(const BuiltinArgs& a) {
    Value every = a[3], f = a[4];
    start_recurrent([every, f] {
        f.call();
        return every.is_null() ? -1. : every.get().as_float();
    }, a[2], a[1].as_float());
    return Value();
}

Value when(const BuiltinArgs& a) {
    bool once = a[3].as_bool(), changed = a[4].as_bool();
    Value every = a[2], condition = a[7], f = a[8];
    auto last = std::make_shared<bool>(!a[1].as_bool());
    start_recurrent([=] {
        bool now = condition.call().as_bool(), before = std::exchange(*last, now);
        bool fires = now && (once || !changed || !before);
        if (fires) f.call();
        return fires && once ? -1. : every.get().as_float();
    }, a[5], 0);
    return Value();
}

/// exec_at: when a predicate becomes true.
Value at(const BuiltinArgs& a) {
    double period = a[0].as_float();
    auto last = std::make_shared<bool>(false);
    start_recurrent([=, condition = a[1], f = a[2]] {
        bool now = condition.call().as_bool();
        if (now && !std::exchange(*last, now)) f.call();
        *last = now;
        return period;
    }, Value::null(), 0);
    return Value();
}

Value wait(const BuiltinArgs& a) {
    if (!scheduler().time().simulated()) std::this_thread::sleep_for(seconds(a[0].as_float()));
    return Value();
}

const BuiltinParam fast = opt("fast", "bool", "true", "Is the task quick? (Every task may take its time; kept for compatibility.)");

const Definitions definitions("Programming", {
    {"thread.run", "Run a function beside the rest.",
     {fast, opt("delay", "float", "0.", "Seconds before it starts."), opt("on_error", "((error) -> unit)?", "null", "Called with an error of the function."),
      opt("every", "{float}?", "null", "Run it again after that many seconds, unless negative."), pos("() -> unit")}, "unit", run},
    {"thread.run.recurrent", "Run a function again and again, after the seconds it returns, unless negative.",
     {fast, opt("delay", "float", "0.", "Seconds before it starts."), opt("on_error", "((error) -> float)?", "null", "Called with an error; gives the seconds to the next run."), pos("() -> float")}, "unit",
     [](const BuiltinArgs& a) {
        start_recurrent([f = a[3]] { return f.call().as_float(); }, a[2], a[1].as_float());
        return Value(); }},
    {"thread.when", "Run a function when a condition becomes true.",
     {fast, opt("init", "bool", "true", "Does a condition that is true at first count?"), opt("every", "{float}", "0.5", "Seconds between two looks."),
      opt("once", "bool", "false", "Only once?"), opt("changed", "bool", "true", "Only when it becomes true, rather than at every look?"),
      opt("on_error", "((error) -> float)?", "null", "Called with an error; gives the seconds to the next look."),
      opt("batched", "bool", "true", "Kept for compatibility."), pos("() -> bool", "Condition."), pos("() -> 'a", "Function.")}, "unit", when},
    {"exec_at", "Run a function when a condition becomes true.", {opt("freq", "float", "1.", "Seconds between two looks."), arg("pred", "() -> bool", "Condition."), pos("() -> 'a")}, "unit", at, {}, "Use `thread.when` instead."},
    {"add_timeout", "Run a function again and again.", {fast, pos("float", "Seconds before it starts."), pos("() -> float")}, "unit", [](const BuiltinArgs& a) {
        start_recurrent([f = a[2]] { return f.call().as_float(); }, Value::null(), a[1].as_float());
        return Value(); }, {}, "Use `thread.run.recurrent` instead."},
    {"thread.on_error", "Call a function on errors that end a task.", {pos("error?", "Kind of error; null: all."), pos("(backtrace : string, error) -> unit")}, "unit", [](const BuiltinArgs& a) {
        std::lock_guard lock(handlers().handlers_mutex);
        handlers().list.insert(handlers().list.begin(), {a[0], a[1]});
        return Value(); }},
    {"thread.pause", "Wait.", {pos("float", "Seconds.")}, "unit", wait},
    {"thread.delay", "Wait.", {pos("float", "Seconds.")}, "unit", wait},
    {"sleep", "Wait.", {pos("float", "Seconds.")}, "unit", wait, {}, "Use `thread.delay` instead."},
    {"thread.mutexify", "A function that one thread at a time runs.", {pos("('a) -> 'b")}, "('a) -> 'b", [](const BuiltinArgs& a) {
        auto calls_mutex = std::make_shared<std::recursive_mutex>();
        return native([calls_mutex, f = a[0]](std::span<const CallArgument> x) {
            std::lock_guard lock(*calls_mutex);
            return f.call(x);
        }); }},
});

}  // namespace

void report_error(const RuntimeError& e) noexcept {
    try {
        std::vector<std::pair<Value, Value>> list;
        {
            std::lock_guard lock(handlers().handlers_mutex);
            list = handlers().list;
        }
        for (const auto& [kind, f] : list) {
            if (!kind.is_null() && lang::error_info(kind).kind != e.kind()) continue;
            CallArgument arguments[] = {{"backtrace", text(backtrace(e))}, {"", lang::to_value(e)}};
            f.call(arguments);
            return;
        }
        logger().severe("A task of the script failed: {}: {}\n{}", e.kind(), e.message(), backtrace(e));
    } catch (const std::exception& again) {
        logger().severe("A task of the script failed: {}; so did its error handler: {}", e.what(), again.what());
    }
}

bool run_task(const Value& f) noexcept {
    try {
        f.call();
        after_task();
        return true;
    } catch (const RuntimeError& e) {
        report_error(e);
    } catch (const std::exception& e) {
        logger().severe("A task of the script failed: {}", e.what());
    }
    return false;
}

void set_after_task(std::function<void()> f) {
    std::lock_guard lock(handlers().handlers_mutex);
    handlers().after_task = std::move(f);
}

void after_task() noexcept {
    try {
        std::function<void()> f;
        {
            std::lock_guard lock(handlers().handlers_mutex);
            f = handlers().after_task;
        }
        if (f) f();
    } catch (const std::exception& e) {
        logger().severe("{}", e.what());
    }
}

}  // namespace castile::builtins
