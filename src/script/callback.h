#pragma once
// Script functions that the engine calls: in the tick, or as normal work in the order of the events.

#include <memory>
#include <string>
#include <vector>

#include "lang/value.h"

namespace castile::script {

/// A script function to be called on events. Copies share one strand: calls run one at a time, in the order they were
/// made, as normal work of the scheduler; a synchronous one runs at once on the caller's thread. An error is logged with
/// its place in the script and goes no further. Calling is safe from any thread and never waits for the script, unless
/// synchronous. At most 1,000 calls wait; when a function is that far behind, the oldest are dropped and the log says so.
class Callback {
public:
    Callback() = default;  ///< Does nothing.
    Callback(lang::Value function, bool synchronous, std::string what);

    explicit operator bool() const noexcept { return state_ != nullptr; }
    void operator()(std::vector<lang::CallArgument> arguments = {}) const noexcept;
    void release() const noexcept;  ///< From now on nothing is called.

private:
    struct State;
    std::shared_ptr<State> state_;
};

/// Logs the exception being handled, with its place in the script: "Error in `what` at script.liq, line 3, ...: message".
/// To be called in a catch block.
void log_script_error(const std::string& what) noexcept;

}  // namespace castile::script
