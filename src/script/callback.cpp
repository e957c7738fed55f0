#include "script/callback.h"

#include <atomic>
#include <deque>
#include <mutex>
#include <utility>

#include "base/log.h"
#include "lang/diag.h"
#include "sched/scheduler.h"

namespace castile::script {

namespace {

constexpr std::size_t max_waiting = 1000;

const Logger& logger() {
    static const Logger log("lang");
    return log;
}

}  // namespace

struct Callback::State {
    State(lang::Value f, bool now, std::string name) : function(std::move(f)), synchronous(now), what(std::move(name)) {}

    const lang::Value function;
    const bool synchronous;
    const std::string what;
    std::atomic<bool> released = false;

    std::mutex waiting_mutex;  // guards the next three
    std::deque<std::vector<lang::CallArgument>> waiting;
    bool scheduled = false;
    std::size_t dropped = 0;

    void run(const std::vector<lang::CallArgument>& arguments) noexcept {
        if (released) return;
        try {
            function.call(arguments);
        } catch (...) {
            log_script_error(what);
        }
    }

    // One call a turn, so that other normal work comes between.
    static void turn(const std::shared_ptr<State>& self) {
        std::vector<lang::CallArgument> arguments;
        std::size_t dropped = 0;
        {
            std::lock_guard lock(self->waiting_mutex);
            arguments = std::move(self->waiting.front());
            self->waiting.pop_front();
            std::swap(dropped, self->dropped);
        }
        if (dropped > 0) logger().severe("{} is too slow: {} calls were dropped.", self->what, dropped);
        self->run(arguments);
        {
            std::lock_guard lock(self->waiting_mutex);
            self->scheduled = !self->waiting.empty();
            if (!self->scheduled) return;
        }
        scheduler().post([self] { turn(self); });
    }
};

Callback::Callback(lang::Value function, bool synchronous, std::string what)
    : state_(std::make_shared<State>(std::move(function), synchronous, std::move(what))) {}

void Callback::operator()(std::vector<lang::CallArgument> arguments) const noexcept {
    if (!state_ || state_->released) return;
    if (state_->synchronous) return state_->run(arguments);
    {
        std::lock_guard lock(state_->waiting_mutex);
        if (state_->waiting.size() >= max_waiting) {
            state_->waiting.pop_front();
            ++state_->dropped;
        }
        state_->waiting.push_back(std::move(arguments));
        if (std::exchange(state_->scheduled, true)) return;
    }
    scheduler().post([self = state_] { State::turn(self); });
}

void Callback::release() const noexcept {
    if (state_) state_->released = true;
}

void log_script_error(const std::string& what) noexcept {
    try {
        try {
            throw;
        } catch (const lang::RuntimeError& error) {
            const std::string place = error.stack.empty() ? "" : " " + lang::source_map().describe(error.stack.front());
            logger().severe("Error in {}{}: {}: {}", what, place, error.kind(), error.message());
        } catch (const std::exception& error) {
            logger().severe("Error in {}: {}", what, error.what());
        } catch (...) {
            logger().severe("Error in {}: unknown exception", what);
        }
    } catch (...) {
        // The log failed: nothing left to say.
    }
}

}  // namespace castile::script
