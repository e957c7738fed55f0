// What the BPF program and its loader share: tunables in, statistics out. Mapped into the loader; words are read and written whole.
#pragma once
#include "iso_math.h"

#define ISO_MAX_CPUS 512 /* a power of two */

enum iso_mutation { ISO_NO_KICK = 1, ISO_NO_CAP = 2 }; /* for tests: what they must notice */

/// Fixed when it is loaded.
struct iso_setup {
    iso_u32 cpu_count;
    iso_u32 mutation; /* enum iso_mutation */
};

/// May change while it runs.
struct iso_tunables {
    iso_u64 period;       /* of the decaying average, ns */
    iso_u64 iso_slice;    /* round robin of a level, ns */
    iso_u64 normal_slice; /* ns */
    iso_u32 cpu;          /* limit, percent */
    iso_u32 pad;
};

enum iso_kind { ISO_IDLE, ISO_AWAY, ISO_NORMAL, ISO_KTHREAD, ISO_CLASS }; /* what a CPU runs; AWAY: a higher class, or it is switching */

struct iso_cpu {
    /* statistics */
    struct iso_average average;
    iso_u64 iso_time, normal_time, kthread_time; /* ns */
    iso_u64 demotions, promotions, preemptions, normal_preemptions, guards, stolen;
    /* what runs: written under the lock of its runqueue, read by others as a hint */
    iso_u64 since;         /* start of the running task, or of being AWAY */
    iso_u64 run_v;         /* its virtual time at the start, */
    iso_u64 run_key;       /* and the key it was served by */
    iso_u64 slice_end;     /* when the timer may take the CPU from a normal task */
    iso_u64 queue_v;       /* virtual time of the CPU's normal queue */
    iso_u64 normal_served, kthread_served; /* when one ran or none waited */
    iso_u64 window_end;    /* until then normal work goes before the class */
    iso_u64 balanced;
    iso_u32 kind, level;   /* level 0 for a demoted task */
    iso_u32 run_weight;
    iso_u32 running_iso;   /* of the class, demoted or not */
    iso_u32 demoted, moved; /* moved: the queues follow `demoted` */
    iso_u32 gap_iso;       /* the switch from an isochronous task is charged to the class */
    iso_u32 pending_level, pending_normal; /* put on the local queue, not running yet */
    iso_u32 guarded; /* what was taken next is let run although the class waits */
};

struct iso_shared {
    struct iso_tunables tunables;
    iso_s64 exit_kind, exit_code;
    char exit_reason[64], exit_message[192];
    struct iso_cpu cpus[ISO_MAX_CPUS];
};
