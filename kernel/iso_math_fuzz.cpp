// The arithmetic with any numbers, and configuration lines of any bytes: invariants, no undefined behaviour.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "iso_math.h"
#include "settings.h"

namespace {

void check(bool holds) {
    if (!holds) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    iso_tunables tunables = castile::iso::default_tunables(4);
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos && castile::iso::set_tunable(tunables, text.substr(0, equals), text.substr(equals + 1)))
        check(tunables.cpu <= 100 && tunables.period >= 100 * ISO_MS && tunables.iso_slice >= ISO_MS && tunables.normal_slice > 0);

    iso_average average{};
    iso_u64 now = 0, v = 0, queue_v = 0;
    int demoted = 0;
    for (; size >= 24; data += 24, size -= 24) {
        iso_u64 step, period;
        iso_u32 weight, flags;
        std::memcpy(&step, data, 8);
        std::memcpy(&period, data + 8, 8);
        std::memcpy(&weight, data + 16, 4);
        std::memcpy(&flags, data + 20, 4);
        now = flags & 2 ? step : now + (step >> (flags >> 8 & 63));
        period %= 60'000 * ISO_MS;
        check(iso_decay(period, step) <= ISO_ONE);
        const iso_u64 before = average.share, busy_before = average.window_busy;
        iso_average_add(&average, now, flags & 1, period);
        check(average.share <= ISO_ONE);
        check(average.window < ISO_MS || average.at == 0);
        check(average.window_busy <= average.window);
        // Idle time never raises the average by more than rounding.
        if (busy_before == 0 && !(flags & 1)) check(average.share <= before + 2);
        demoted = iso_demoted(demoted, average.share, flags >> 16 & 127);
        check(demoted == 0 || demoted == 1);

        const iso_u64 lag = 4 * ISO_MS;
        weight %= 10'001;
        queue_v += step % (1ULL << 40);
        v = iso_place(v + iso_charge(period, weight), queue_v, lag, weight);
        check(!iso_before(v, queue_v - iso_longest(lag, weight)) && !iso_before(queue_v + lag + iso_charge(lag, weight), v));
        const iso_u64 key = iso_key(v, period, step >> 1, lag, weight);
        check(!iso_before(key, v) && key - v <= 4 * lag);
        check(iso_burst(period, period) <= period);
        const int level = iso_level_of_nice(static_cast<int>(flags));
        check(level >= 1 && level <= ISO_LEVELS);
        const int nice = iso_nice_of_priority(static_cast<int>(weight) - 100);
        check(nice >= 0 && nice <= 9);
    }
    return 0;
}
