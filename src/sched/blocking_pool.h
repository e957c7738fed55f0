#pragma once
// The blocking pool: threads for calls that may wait, made when needed, gone when idle.

#include <functional>
#include <memory>

namespace castile::detail {

class BlockingPool {
public:
    explicit BlockingPool(unsigned most);
    ~BlockingPool();  ///< stop()s.
    BlockingPool(const BlockingPool&) = delete;
    void submit(std::function<void()> job);  ///< Any thread. An exception of the job is logged.
    /// Drops what waits; gives running jobs a moment to end, then leaves them behind (a hung disk must not hang the exit).
    void stop() noexcept;

private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace castile::detail
