#pragma once
// The methods that every clock has in a script (`s.clock.ticks()`), and what is said when sources cannot share one.

#include "clock/clock_error.h"
#include "lang/builtin.h"

namespace castile::script {

/// Throws ScriptError with the clock's own number, the call, and the call as it would be right.
[[noreturn]] void throw_clock_error(lang::Span call_site, const ClockError& error);

/// "\nFor instance:\n" and the line that made the source, with a buffer; empty when that is not one line of a script.
std::string with_buffer(const ClockError& error);

}  // namespace castile::script
