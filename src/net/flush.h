#pragma once
// Socket work of many outputs in one wake-up: what ticks queued is sent together, every `flush_interval`.

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

/// Asks for `flush()` once within `flush_interval`. Any thread, ticks included: a list and one timer shared by the whole
/// process, so a hundred outputs cost the wake-ups of one. The caller sees to it that it asks once per flush.
void flush_soon(std::shared_ptr<Flushable> object) noexcept;

}  // namespace castile
