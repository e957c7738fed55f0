// The arithmetic of the isochronous class: its decaying average and limit, virtual time, levels. Plain C for BPF and the host.
#pragma once

typedef unsigned long long iso_u64;
typedef long long iso_s64;
typedef unsigned int iso_u32;

#ifdef __bpf__
#define ISO_INLINE static inline __attribute__((always_inline))
#else
#define ISO_INLINE static inline
#endif

#define ISO_ONE_BITS 30
#define ISO_ONE (1ULL << ISO_ONE_BITS) /* a share of 100 % */
#define ISO_MS 1000000ULL              /* in ns, as every time here */
#define ISO_LEVELS 20                  /* 1 (lowest) to 20; 0 is not isochronous */

/// (1 - 1 ms / period) to the power of `ms`, in units of ISO_ONE: e^(-ms / period) for a period of many milliseconds.
ISO_INLINE iso_u64 iso_decay(iso_u64 period, iso_u64 ms) {
    iso_u64 result = ISO_ONE;
    iso_u64 base;
    int bit;

    if (period < 2 * ISO_MS) period = 2 * ISO_MS;
    base = ISO_ONE - ISO_ONE * ISO_MS / period;
    for (bit = 0; bit < 20; bit++) {
        if (ms & 1) result = result * base >> ISO_ONE_BITS;
        base = base * base >> ISO_ONE_BITS;
        ms >>= 1;
        if (!ms) return result;
    }
    return 0;
}

/// The decaying average of a busy share. Time is gathered into a window and folded in only when that is 1 ms long: at every
/// event the increment would be truncated to nothing for who switches often enough, a loop of sched_yield().
struct iso_average {
    iso_u64 share;       /* ISO_ONE is 100 % */
    iso_u64 at;          /* what it is up to date with; 0: never */
    iso_u64 window;      /* not folded in yet, */
    iso_u64 window_busy; /* and the busy part of it */
};

/// From `at` to `now` the class was busy, or not. Any step; a clock that goes back is ignored.
ISO_INLINE void iso_average_add(struct iso_average* a, iso_u64 now, int busy, iso_u64 period) {
    iso_u64 step, ms, keep, part, shift;

    if (!a->at || now <= a->at) {
        if (!a->at) a->at = now;
        return;
    }
    step = now - a->at;
    if (step > (1ULL << 52)) step = 1ULL << 52;
    a->at = now;
    a->window += step;
    if (busy) a->window_busy += step;
    if (a->window < ISO_MS) return;
    ms = a->window / ISO_MS;
    keep = iso_decay(period, ms);
    shift = a->window >> 33 ? 20 : 0; /* so that nothing below overflows */
    part = ((a->window_busy >> shift) << ISO_ONE_BITS) / (a->window >> shift);
    if (part > ISO_ONE) part = ISO_ONE;
    a->share = (a->share * keep + (ISO_ONE - keep) * part) >> ISO_ONE_BITS;
    a->window -= ms * ISO_MS; /* what is under a millisecond stays, with its part of the busy time */
    a->window_busy = a->window * part >> ISO_ONE_BITS;
}

/// Is the class demoted now, when it was or was not before? Over `percent` it is, and stays so until under 90 % of that.
ISO_INLINE int iso_demoted(int demoted, iso_u64 share, iso_u32 percent) {
    iso_u64 limit = ISO_ONE * percent / 100;

    if (percent >= 100) return 0;
    if (percent == 0) return 1;
    if (!demoted) return share > limit;
    return share >= limit - limit / 10;
}

/// Virtual times wrap: is a before b?
ISO_INLINE int iso_before(iso_u64 a, iso_u64 b) { return (iso_s64)(a - b) < 0; }

/// What `time` costs a task of this weight (100 is nice 0).
ISO_INLINE iso_u64 iso_charge(iso_u64 time, iso_u32 weight) { return time * 100 / (weight ? weight : 1); }

/// The longest request of a task, in virtual time: what keeps a light one from waiting for ever is that it is limited.
ISO_INLINE iso_u64 iso_longest(iso_u64 lag, iso_u32 weight) {
    iso_u64 request = iso_charge(lag, weight);

    return request > 4 * lag ? 4 * lag : request;
}

/// Where a task stands that is queued: a long sleep earns no more than one request (who makes long ones lags as far behind when
/// all is fair), a long run owes no more than what `lag` costs.
ISO_INLINE iso_u64 iso_place(iso_u64 v, iso_u64 queue_v, iso_u64 lag, iso_u32 weight) {
    iso_u64 credit = iso_longest(lag, weight), debt = lag + iso_charge(lag, weight);

    if (iso_before(v, queue_v - credit)) return queue_v - credit;
    if (iso_before(queue_v + debt, v)) return queue_v + debt;
    return v;
}

/// What the queue is ordered by: when a request as long as the task's bursts (or as its present one) would be served.
ISO_INLINE iso_u64 iso_key(iso_u64 v, iso_u64 burst, iso_u64 ran, iso_u64 lag, iso_u32 weight) {
    iso_u64 request = burst > ran ? burst : ran, longest = iso_longest(lag, weight);

    request = iso_charge(request > lag ? lag : request, weight);
    return v + (request > longest ? longest : request);
}

/// The average length of a task's bursts, after one of `ran`.
ISO_INLINE iso_u64 iso_burst(iso_u64 burst, iso_u64 ran) { return (3 * burst + ran) / 4; }

/// The level of an isochronous task is in its nice value: 0 (or less) is the highest, 19 the lowest.
ISO_INLINE int iso_level_of_nice(int nice) { return nice < 0 ? ISO_LEVELS : nice > 19 ? 1 : ISO_LEVELS - nice; }

/// The nice value that stands for a real-time priority (1 to 99): ten levels, so that what is one below a multiple of ten (a
/// sound server's clients) comes after it, and nothing is so nice that it starves as normal work.
ISO_INLINE int iso_nice_of_priority(int priority) { return priority >= 99 ? 0 : priority < 1 ? 9 : (99 - priority) / 10; }

/// Isochronous tasks of a CPU are ordered by level, then by when they came.
ISO_INLINE iso_u64 iso_order(int level, iso_u64 now) { return ((iso_u64)(ISO_LEVELS - level) << 56) | ((now >> 8) & ((1ULL << 56) - 1)); }
