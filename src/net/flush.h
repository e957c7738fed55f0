#pragma once
// Socket work of many outputs together, without a wake-up of its own.

#include <memory>

#include "sched/time.h"

namespace castile {

/// Something whose queued bytes can be sent.
class Flushable {
public:
    virtual ~Flushable() = default;
    virtual void flush() noexcept = 0;  ///< On a network thread, one at a time for an object.
};

inline constexpr Duration flush_interval = std::chrono::milliseconds(50);

/// Asks for `flush()`, once. Any thread, ticks included. From a clock on a worker it is done by that worker, after the
/// clock's burst; from other threads (a clock with a thread of its own) by one timer for the whole process, within
/// `flush_interval`. The caller sees to it that it asks once per flush.
void flush_soon(std::shared_ptr<Flushable> object) noexcept;

}  // namespace castile
