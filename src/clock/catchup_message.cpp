// Telling that clocks are late: of many at once only some one by one.

#include <algorithm>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "clock/clock_impl.h"

namespace castile {

namespace {

constexpr int lines_at_once = 4;

struct Catchups {
    std::mutex catchups_mutex;
    Instant window{};
    int lines = 0, untold = 0;
    Duration worst{};
};

Catchups& catchups() {
    static Catchups* catchups = new Catchups;
    return *catchups;
}

void tell_others() noexcept {
    int untold = 0;
    Duration worst{};
    {
        std::lock_guard lock(catchups().catchups_mutex);
        untold = std::exchange(catchups().untold, 0);
        worst = std::exchange(catchups().worst, {});
    }
    // The words up to the number are read by other programs.
    if (untold > 0) log_line(LogLevel::severe, "clock", fmt::format("Latency is too high in {} other clocks: there we must catchup {:.2f} seconds.", untold, seconds(worst)));
}

}  // namespace

void catchup_message(Scheduler& scheduler, const Logger& log, Duration late, Duration delay) noexcept {
    const Instant now = scheduler.time().now();
    const Duration window = std::max<Duration>(delay, std::chrono::seconds(1));
    {
        std::lock_guard lock(catchups().catchups_mutex);
        Catchups& c = catchups();
        if (now - c.window >= window || now < c.window) {
            c.window = now;
            c.lines = 0;
        }
        if (++c.lines > lines_at_once) {
            c.worst = std::max(c.worst, late);
            if (c.untold++ == 0) scheduler.after(window, [] { tell_others(); });
            return;
        }
    }
    // The words up to the "!" are read by other programs.
    log.severe(
        "Latency is too high: we must catchup {:.2f} seconds! The machine may be too slow for this stream (processor, disk, network), or a source "
        "keeps a time of its own.",
        seconds(late));
}

}  // namespace castile
