// SPDX-License-Identifier: GPL-2.0
// An isochronous class for Linux, as a sched_ext scheduler: real-time service for anyone that cannot starve the machine.
//
// The policy. A CPU runs, in this order:
//   1. isochronous tasks: those with the policy SCHED_EXT, which everyone may ask for (not children of one that asked with
//      SCHED_FLAG_RESET_ON_FORK, until they ask). Twenty levels, by nice value (0 is the
//      highest); within a level round robin, 10 ms. A higher level preempts at once. Real-time classes are above all of this.
//   2. kernel threads that are bound to the CPU: they do its work (timers, soft interrupts, work queues).
//   3. normal tasks, fairly by weight (nice): each CPU has a queue ordered by virtual deadline, virtual time plus the length of
//      the task's usual burst. Who uses less than its share wakes with an earlier deadline than who uses all it can get, and
//      preempts it. A timer ends slices, since ticks are too far apart.
//   The limit. Each CPU keeps the class's share of its time as a decaying average (iso_period, 5 s), demoted time included. Above
//   iso_cpu (70 %) the CPU's isochronous tasks run as normal ones (weight of nice 0), until it is under 90 % of that.
//   Below the limit nobody starves either: a bound kernel thread waits 8 ms at most, normal work two seconds (less when many
//   wait); then they go first, for 1 and 4 ms. So the kernel's watchdog (30 s) has nothing to end, whatever the tunables say.
//   Balance: a waking task takes an idle CPU, or, if isochronous, one that runs something lower; an idle CPU takes what waits
//   elsewhere; a busy one looks around every 16 ms, so that three tasks on two CPUs take turns.
//
// What is easily broken here (each has a test): dispatch() runs before the previous task is queued again; enqueue() is called for
// it by the CPU itself, which must not kick itself; the average must not lose short runs; the switch costs time that is nobody's;
// time in the class is no debt as normal work.

#include "scx.bpf.h"
#include "iso_shared.h"

char license_text[] SEC("license") = "GPL";

enum { QUEUE_NORMAL, QUEUE_ISO, QUEUE_KTHREAD, QUEUES };

const u64 lag = 4 * ISO_MS;             // how far virtual times drift apart: see iso_place() and iso_key()
const u64 margin = ISO_MS / 5;          // by how much a deadline must be earlier to preempt
const u64 shortest_timer = ISO_MS / 10;
const u64 most_gap = ISO_MS / 10;       // of a switch; what is longer is idle time or a real-time task's
const u64 kthread_wait = 8 * ISO_MS;
const u64 kthread_slice = ISO_MS;
const u64 normal_wait = 2000 * ISO_MS;  // shared by those that wait
const u64 normal_window = 4 * ISO_MS;
const u64 balance_every = 16 * ISO_MS;
const u64 away_long = ISO_MS / 5;       // longer than a switch: a higher class has the CPU

const volatile struct iso_setup setup SEC(".rodata.setup") = {.cpu_count = 1};

struct iso_shared shared SEC(".data.shared") = {};

struct task_context {
    u64 v;                // virtual time, on the clock of CPU `base`
    u64 start, ran, burst;
    s32 base;             // -1: has none yet
    u32 outside;          // made by one of the class that asked for its children to be normal; until it asks itself
    u32 level_at_start;
};

struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct task_context);
} tasks SEC(".maps");

struct slice_timer {
    struct bpf_timer timer;
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, ISO_MAX_CPUS);
    __type(key, u32);
    __type(value, struct slice_timer);
} timers SEC(".maps");

#define ENUM(type, name) bpf_core_enum_value(enum type, name)
#define LOCAL ENUM(scx_dsq_id_flags, SCX_DSQ_LOCAL)
#define PREEMPT ENUM(scx_enq_flags, SCX_ENQ_PREEMPT)

static __always_inline struct iso_cpu* cpu_state(s32 cpu) {
    u64 i = (u32)cpu & (ISO_MAX_CPUS - 1);  // a mask: every compiler's code for it passes the verifier; init refuses more CPUs

    barrier_var(i);
    i &= ISO_MAX_CPUS - 1;
    return &shared.cpus[i];
}

static __always_inline u64 queue_of(s32 cpu, u32 queue) { return 0x1000 + (u64)(u32)cpu * 8 + queue; }
static __always_inline bool waits(s32 cpu, u32 queue) { return scx_bpf_dsq_nr_queued(queue_of(cpu, queue)) > 0; }
static __always_inline struct task_context* context(struct task_struct* p) { return bpf_task_storage_get(&tasks, p, 0, 0); }
static __always_inline bool resets_children(struct task_struct* task) { return BPF_CORE_READ_BITFIELD(task, sched_reset_on_fork); }

// The kernel resets only real-time policies on a fork: a child has the policy still, and is known by `outside`. It asks for itself
// with a policy of its own in between, or with the flag that its children be normal.
static __always_inline bool is_iso(struct task_struct* p) {
    struct task_context* t;

    if (p->policy != SCHED_EXT) return false;
    t = context(p);
    return t && !t->outside;
}
static __always_inline u32 level_of(struct task_struct* p) { return is_iso(p) ? iso_level_of_nice(p->static_prio - 120) : 0; }
static __always_inline bool is_bound_kthread(struct task_struct* p) {
    return (p->flags & PF_KTHREAD) && p->nr_cpus_allowed == 1 && p->policy != SCHED_EXT;
}
// The nice value of an isochronous task is its level, not its weight.
static __always_inline u32 weight_of(const struct task_struct* p) { return p->policy == SCHED_EXT ? 100 : p->scx.weight; }
static __always_inline bool may_run_on(const struct task_struct* p, s32 cpu) {
    return !p->migration_disabled && bpf_cpumask_test_cpu(cpu, p->cpus_ptr);
}

// --- The limit ------------------------------------------------------------------------------------------------------

// Up to now: the class ran, or the switch away from it did.
static __always_inline void account(struct iso_cpu* c, u64 now) {
    u64 at = c->average.at, period = shared.tunables.period, gap;
    int demoted;

    if (c->gap_iso && at && now > at) {
        gap = now - at > most_gap ? most_gap : now - at;
        iso_average_add(&c->average, at + gap, 1, period);
        c->iso_time += gap;
        c->gap_iso = 0;
    }
    at = c->average.at;
    if (c->running_iso && at && now > at) c->iso_time += now - at;
    iso_average_add(&c->average, now, c->running_iso, period);

    demoted = iso_demoted(c->demoted, c->average.share, shared.tunables.cpu);
    if (setup.mutation & ISO_NO_CAP) demoted = 0;
    if (demoted == c->demoted) return;
    c->demoted = demoted;
    if (demoted)
        c->demotions++;
    else
        c->promotions++;
}

// --- Virtual time ---------------------------------------------------------------------------------------------------

// The task's virtual time on the clock of this CPU.
static __always_inline void rebase(struct task_context* t, struct iso_cpu* c, s32 cpu) {
    if (t->base == cpu) return;
    if (t->base < 0)
        t->v = c->queue_v;
    else
        t->v = c->queue_v + (t->v - cpu_state(t->base)->queue_v);
    t->base = cpu;
}

static __always_inline u64 key_of(const struct task_struct* p, const struct task_context* t) {
    return iso_key(t->v, t->burst, t->ran, lag, weight_of(p));
}

// By when the running normal task would be served, with what it has had by now.
static __always_inline u64 running_key(const struct iso_cpu* c, u64 now) {
    u64 v = c->run_v + iso_charge(now - c->since, c->run_weight);
    return iso_before(c->run_key, v) ? v : c->run_key;
}

static void arm(s32 cpu, struct iso_cpu* c, u64 now, u64 after) {
    u32 key = cpu;
    struct slice_timer* timer = bpf_map_lookup_elem(&timers, &key);

    if (after < shortest_timer) after = shortest_timer;
    if (!timer || (c->slice_end > now && c->slice_end <= now + after)) return;
    c->slice_end = now + after;
    bpf_timer_start(&timer->timer, after, 0);
}

static int slice_over(void* map, u32* key, struct slice_timer* timer) {
    struct iso_cpu* c = cpu_state(*key);
    u64 end = c->slice_end;

    if (c->kind == ISO_NORMAL && end && bpf_ktime_get_ns() + shortest_timer / 2 >= end)
        scx_bpf_kick_cpu(*key, ENUM(scx_kick_flags, SCX_KICK_PREEMPT));
    return 0;
}

// --- Where a task goes ------------------------------------------------------------------------------------------------

// Has a higher class the CPU, for longer than a switch takes?
static __always_inline bool away(const struct iso_cpu* c, u64 now) { return c->kind == ISO_AWAY && now - c->since > away_long; }

static __always_inline bool runs_lower(const struct iso_cpu* c, u32 level, u64 now) {
    u32 top = c->level > c->pending_level ? c->level : c->pending_level;

    return !c->demoted && top < level && !away(c, now);
}

SEC("struct_ops/iso_select_cpu")
s32 BPF_PROG(iso_select_cpu, struct task_struct* p, s32 prev_cpu, u64 wake_flags) {
    bool idle = false;
    u32 level = level_of(p);
    s32 cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &idle);
    u64 now;
    s32 i;

    if (idle) {
        insert(p, LOCAL, level ? shared.tunables.iso_slice : shared.tunables.normal_slice, 0);
        return cpu;
    }
    if (!level || p->nr_cpus_allowed == 1) return prev_cpu;
    now = bpf_ktime_get_ns();
    if (runs_lower(cpu_state(prev_cpu), level, now)) return prev_cpu;
    bpf_for(i, 1, setup.cpu_count) {
        s32 other = prev_cpu + i;

        if (i > 32) break;
        if (other >= setup.cpu_count) other -= setup.cpu_count;
        if (runs_lower(cpu_state(other), level, now) && bpf_cpumask_test_cpu(other, p->cpus_ptr)) return other;
    }
    return prev_cpu;
}

static __always_inline void enqueue_iso(struct task_struct* p, s32 cpu, struct iso_cpu* c, u32 level, u64 now, u64 flags, bool put_back) {
    u64 slice = shared.tunables.iso_slice;
    u32 top = c->level > c->pending_level ? c->level : c->pending_level;

    // At once, before what is queued: nothing of this level or above runs or is about to.
    if (!put_back && level > top && !away(c, now) && !(setup.mutation & ISO_NO_KICK)) {
        c->pending_level = level;
        c->preemptions++;
        insert(p, LOCAL, slice, flags | PREEMPT);
        return;
    }
    // Who woke is not held back by what normal work is owed: that will be paid later.
    if (!put_back) c->window_end = 0;
    insert_by_key(p, queue_of(cpu, QUEUE_ISO), slice, iso_order(level, now), flags);
}

static __always_inline void enqueue_normal(struct task_struct* p, s32 cpu, struct iso_cpu* c, u64 now, u64 flags, bool put_back) {
    struct task_context* t = context(p);
    u64 slice = shared.tunables.normal_slice, key, running;
    s32 idle;

    if (!t) return;  // cannot be: init_task made it
    rebase(t, c, cpu);
    t->v = iso_place(t->v, c->queue_v, lag, weight_of(p));
    key = key_of(p, t);

    if (!put_back && !c->pending_level && !c->pending_normal) {
        if (c->kind == ISO_IDLE) {
            c->pending_normal = 1;
            insert(p, LOCAL, slice, flags);
            return;
        }
        if (c->kind == ISO_NORMAL && (flags & ENUM(scx_enq_flags, SCX_ENQ_WAKEUP))) {
            running = running_key(c, now);
            if (iso_before(key + margin, running)) {
                c->pending_normal = 1;
                c->normal_preemptions++;
                insert(p, LOCAL, slice, flags | PREEMPT);
                return;
            }
        }
    }
    if (c->kind == ISO_NORMAL && !put_back) {
        // Not yet: when the running one has had as much, or its slice.
        running = c->run_v + iso_charge(now - c->since, c->run_weight);
        arm(cpu, c, now, iso_before(running, key) && (key - running) * c->run_weight / 100 < slice ? (key - running) * c->run_weight / 100 : slice);
    }
    if (!waits(cpu, QUEUE_NORMAL)) c->normal_served = now;
    insert_by_key(p, queue_of(cpu, QUEUE_NORMAL), slice, key, flags);
    if (p->nr_cpus_allowed == 1 || (flags & ENUM(scx_enq_flags, SCX_ENQ_WAKEUP))) return;
    idle = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
    if (idle >= 0) scx_bpf_kick_cpu(idle, ENUM(scx_kick_flags, SCX_KICK_IDLE));
}

SEC("struct_ops/iso_enqueue")
void BPF_PROG(iso_enqueue, struct task_struct* p, u64 flags) {
    s32 cpu = scx_bpf_task_cpu(p);
    struct iso_cpu* c = cpu_state(cpu);
    u64 now = bpf_ktime_get_ns();
    bool put_back = p == bpf_get_current_task_btf();  // after its slice: the CPU is already choosing
    struct task_context* t = context(p);
    u32 level;

    if (t && t->outside && (p->policy != SCHED_EXT || resets_children(p))) t->outside = 0;
    level = level_of(p);

    account(c, now);
    if (level && !c->demoted) {
        enqueue_iso(p, cpu, c, level, now, flags, put_back);
    } else if (is_bound_kthread(p)) {
        if (!put_back && !c->pending_level && (c->kind == ISO_NORMAL || c->kind == ISO_IDLE)) {
            insert(p, LOCAL, kthread_slice, flags | PREEMPT);
            return;
        }
        if (!waits(cpu, QUEUE_KTHREAD)) c->kthread_served = now;
        insert(p, queue_of(cpu, QUEUE_KTHREAD), kthread_slice, flags);
    } else {
        enqueue_normal(p, cpu, c, now, flags, put_back);
    }
}

// What the running task had since it began, or since the last time this was asked.
static __always_inline void settle(struct task_struct* p, struct iso_cpu* c, struct task_context* t, u64 now) {
    u64 ran = now - t->start;

    t->start = now;
    t->ran += ran;
    if (c->kind == ISO_KTHREAD)
        c->kthread_time += ran;
    else if (!c->running_iso)
        c->normal_time += ran;
    if (!t->level_at_start) t->v += iso_charge(ran, weight_of(p));  // time in the class is no debt as normal work
}

// It runs from now on, or goes on for another slice.
static __always_inline void begin(struct task_struct* p, s32 cpu, struct iso_cpu* c, struct task_context* t, u64 now) {
    rebase(t, c, cpu);
    t->start = now;
    c->since = now;
    c->slice_end = 0;
    c->pending_level = 0;
    c->pending_normal = 0;
    c->running_iso = is_iso(p);
    c->level = c->demoted ? 0 : level_of(p);
    t->level_at_start = c->level;
    if (c->level) {
        c->kind = ISO_CLASS;
    } else if (is_bound_kthread(p)) {
        c->kind = ISO_KTHREAD;
        c->kthread_served = now;
    } else {
        c->kind = ISO_NORMAL;
        if (!c->window_end) c->normal_served = now;
        t->v = iso_place(t->v, c->queue_v, lag, weight_of(p));
        if (iso_before(c->queue_v, t->v)) c->queue_v = t->v;
        c->run_v = t->v;
        c->run_weight = weight_of(p);
        c->run_key = key_of(p, t);
        if (c->window_end || waits(cpu, QUEUE_NORMAL)) arm(cpu, c, now, shared.tunables.normal_slice);
    }
}

// --- Who runs next ------------------------------------------------------------------------------------------------------

// The class was demoted or is back: what waits goes to the other queue.
static void move_queue(s32 cpu, struct iso_cpu* c, u64 now) {
    struct bpf_iter_scx_dsq it;
    struct task_struct* p;
    struct task_context* t;
    bool demoted = c->demoted;

    c->moved = demoted;
    if (!waits(cpu, demoted ? QUEUE_ISO : QUEUE_NORMAL)) return;
    if (!bpf_iter_scx_dsq_new(&it, queue_of(cpu, demoted ? QUEUE_ISO : QUEUE_NORMAL), 0)) {
        while ((p = bpf_iter_scx_dsq_next(&it))) {
            t = context(p);
            if (!t || !is_iso(p)) continue;
            if (demoted) {
                rebase(t, c, cpu);
                t->v = iso_place(t->v, c->queue_v, lag, 100);
                scx_bpf_dsq_move_set_slice(&it, shared.tunables.normal_slice);
                scx_bpf_dsq_move_set_vtime(&it, key_of(p, t));
                scx_bpf_dsq_move_vtime(&it, p, queue_of(cpu, QUEUE_NORMAL), 0);
            } else {
                scx_bpf_dsq_move_set_slice(&it, shared.tunables.iso_slice);
                scx_bpf_dsq_move_set_vtime(&it, iso_order(level_of(p), now));
                scx_bpf_dsq_move_vtime(&it, p, queue_of(cpu, QUEUE_ISO), 0);
            }
        }
    }
    bpf_iter_scx_dsq_destroy(&it);
}

// One normal task from the longest queue of another CPU into ours, if that is longer than ours.
static bool pull_normal(s32 cpu, struct iso_cpu* c, u64 now, s32 mine) {
    struct bpf_iter_scx_dsq it;
    struct task_struct* p;
    struct task_context* t;
    s32 i, n, longest = mine, from = -1;
    bool pulled = false;

    bpf_for(i, 0, setup.cpu_count) {
        if (i == cpu) continue;
        n = scx_bpf_dsq_nr_queued(queue_of(i, QUEUE_NORMAL));
        // Who waits behind a real-time task or the class waits longer.
        if (n > 0 && (cpu_state(i)->kind == ISO_AWAY || cpu_state(i)->level) && now - cpu_state(i)->since > 2 * ISO_MS) n++;
        if (n > longest) {
            longest = n;
            from = i;
        }
    }
    if (from < 0) return false;
    if (!bpf_iter_scx_dsq_new(&it, queue_of(from, QUEUE_NORMAL), 0)) {
        bpf_for(i, 0, 8) {
            p = bpf_iter_scx_dsq_next(&it);
            if (!p) break;
            if (!may_run_on(p, cpu)) continue;
            t = context(p);
            if (!t) continue;
            rebase(t, c, cpu);
            t->v = iso_place(t->v, c->queue_v, lag, weight_of(p));
            scx_bpf_dsq_move_set_slice(&it, shared.tunables.normal_slice);
            scx_bpf_dsq_move_set_vtime(&it, key_of(p, t));
            if (scx_bpf_dsq_move_vtime(&it, p, queue_of(cpu, QUEUE_NORMAL), 0)) {
                pulled = true;
                c->stolen++;
                break;
            }
        }
    }
    bpf_iter_scx_dsq_destroy(&it);
    return pulled;
}

// An isochronous task that waits behind another one elsewhere.
static bool pull_iso(s32 cpu, struct iso_cpu* c) {
    s32 i;

    if (c->demoted) return false;
    bpf_for(i, 0, setup.cpu_count) {
        if (i == cpu || !waits(i, QUEUE_ISO)) continue;
        if (take(queue_of(i, QUEUE_ISO))) {
            c->stolen++;
            return true;
        }
    }
    return false;
}

static __always_inline bool kthread_starves(s32 cpu, const struct iso_cpu* c, u64 now) {
    return waits(cpu, QUEUE_KTHREAD) && now - c->kthread_served > kthread_wait;
}

static __always_inline bool normal_starves(const struct iso_cpu* c, u64 now, s32 waiting) {
    return waiting > 0 && now - c->normal_served > normal_wait / (1 + waiting / 8);
}

SEC("struct_ops/iso_dispatch")
void BPF_PROG(iso_dispatch, s32 cpu, struct task_struct* prev) {
    struct iso_cpu* c = cpu_state(cpu);
    struct task_context* t = 0;
    u64 now = bpf_ktime_get_ns(), head = 0;
    u32 prev_level = 0;
    s32 normals;

    account(c, now);
    // prev, if it goes on, is in no queue yet. Not to see it would start a lower task, only to be preempted at once.
    if (prev && (prev->scx.flags & ENUM(scx_ent_flags, SCX_TASK_QUEUED))) t = context(prev);
    if (prev && t) {
        settle(prev, c, t, now);
        if (!c->demoted) prev_level = level_of(prev);
    }
    if (c->demoted != c->moved) move_queue(cpu, c, now);
    normals = scx_bpf_dsq_nr_queued(queue_of(cpu, QUEUE_NORMAL));

    if (c->window_end && now >= c->window_end) {
        c->window_end = 0;
        c->normal_served = now;
    }
    if (prev_level && normals > 0 && !c->window_end && normal_starves(c, now, normals)) {
        c->window_end = now + normal_window;
        c->guards++;
    }
    if (c->window_end && (prev_level || waits(cpu, QUEUE_ISO))) {
        // Normal work is owed a while. A task of the class that goes on is put back meanwhile.
        if (normals > 0 && (!t || prev_level) && take(queue_of(cpu, QUEUE_NORMAL))) goto guard;
        if (prev && t && !prev_level) goto normal;
        c->window_end = 0;
        c->normal_served = now;
    }
    if (prev_level || waits(cpu, QUEUE_ISO)) {
        if (prev_level && kthread_starves(cpu, c, now) && take(queue_of(cpu, QUEUE_KTHREAD))) {
            c->guards++;
            goto guard;
        }
        if (!prev_level || (first_key(queue_of(cpu, QUEUE_ISO), &head) && iso_before(head, iso_order(prev_level, now)))) {
            if (take(queue_of(cpu, QUEUE_ISO))) return;
        }
        if (prev && prev_level) goto go_on;
    }
    if (waits(cpu, QUEUE_KTHREAD) && take(queue_of(cpu, QUEUE_KTHREAD))) return;
    if (prev && t && is_bound_kthread(prev)) goto go_on;

    if (now - c->balanced > balance_every) {
        c->balanced = now;
        if (pull_iso(cpu, c)) return;
        if (t && pull_normal(cpu, c, now, normals)) normals++;
    }
normal:
    if (prev && t) {
        if (normals > 0 && first_key(queue_of(cpu, QUEUE_NORMAL), &head) && iso_before(head, key_of(prev, t)) && take(queue_of(cpu, QUEUE_NORMAL))) return;
        goto go_on;
    }
    if (normals > 0 && take(queue_of(cpu, QUEUE_NORMAL))) return;
    if (pull_iso(cpu, c)) return;
    if (pull_normal(cpu, c, now, 0)) take(queue_of(cpu, QUEUE_NORMAL));
    return;

guard:
    c->guarded = 1;
    return;

go_on:
    if (!prev || !t) return;
    set_slice(prev, prev_level ? shared.tunables.iso_slice : shared.tunables.normal_slice);
    begin(prev, cpu, c, t, now);
}

SEC("struct_ops/iso_running")
void BPF_PROG(iso_running, struct task_struct* p) {
    s32 cpu = scx_bpf_task_cpu(p);
    struct iso_cpu* c = cpu_state(cpu);
    struct task_context* t = context(p);
    u64 now = bpf_ktime_get_ns(), head;

    if (!t) return;
    account(c, now);  // with the switch to this task, when it came from one of the class: else a yield loop hides in it
    begin(p, cpu, c, t, now);
    // One of a higher level was queued while this one was on its way.
    if (!c->guarded && !c->demoted && !(setup.mutation & ISO_NO_KICK) && first_key(queue_of(cpu, QUEUE_ISO), &head) &&
        ISO_LEVELS - (u32)(head >> 56) > c->level)
        scx_bpf_kick_cpu(cpu, ENUM(scx_kick_flags, SCX_KICK_PREEMPT));
    c->guarded = 0;
}

SEC("struct_ops/iso_stopping")
void BPF_PROG(iso_stopping, struct task_struct* p, bool runnable) {
    struct iso_cpu* c = cpu_state(scx_bpf_task_cpu(p));
    struct task_context* t = context(p);
    u64 now = bpf_ktime_get_ns();

    if (!t) return;
    account(c, now);
    settle(p, c, t, now);
    c->gap_iso = c->running_iso;
    c->running_iso = 0;
    c->level = 0;
    c->kind = ISO_AWAY;
    c->since = now;
    if (!runnable) {
        t->burst = iso_burst(t->burst, t->ran);
        t->ran = 0;
    }
}

SEC("struct_ops/iso_tick")
void BPF_PROG(iso_tick, struct task_struct* p) {
    s32 cpu = scx_bpf_task_cpu(p);
    struct iso_cpu* c = cpu_state(cpu);
    u64 now = bpf_ktime_get_ns(), head;
    s32 normals;

    account(c, now);
    if (c->demoted != c->moved) {
        set_slice(p, 0);
        return;
    }
    if (c->kind == ISO_CLASS) {
        normals = scx_bpf_dsq_nr_queued(queue_of(cpu, QUEUE_NORMAL));
        if (kthread_starves(cpu, c, now) || normal_starves(c, now, normals)) set_slice(p, 0);
    } else if (c->kind == ISO_NORMAL) {
        if (waits(cpu, QUEUE_KTHREAD) || (first_key(queue_of(cpu, QUEUE_NORMAL), &head) && iso_before(head, running_key(c, now)))) set_slice(p, 0);
    }
}

SEC("struct_ops/iso_update_idle")
void BPF_PROG(iso_update_idle, s32 cpu, bool idle) {
    struct iso_cpu* c = cpu_state(cpu);
    u64 now = bpf_ktime_get_ns();

    if (!idle) return;
    account(c, now);
    c->kind = ISO_IDLE;
    c->since = now;
    c->pending_level = 0;
    c->pending_normal = 0;
}

// --- Comings and goings -------------------------------------------------------------------------------------------------

SEC("struct_ops/iso_init_task")
s32 BPF_PROG(iso_init_task, struct task_struct* p, struct scx_init_task_args* args) {
    struct task_context* t = bpf_task_storage_get(&tasks, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

    if (!t) return -12;  // ENOMEM
    t->base = -1;
    if (p->policy == SCHED_EXT) {
        // Of a child; the flag itself is not inherited. When the scheduler is loaded, `maker` is the loader.
        struct task_struct* maker = bpf_get_current_task_btf();
        struct task_context* made_by = maker ? context(maker) : 0;

        if (maker && maker->policy == SCHED_EXT && (resets_children(maker) || (made_by && made_by->outside))) t->outside = 1;
    }
    return 0;
}

SEC("struct_ops/iso_enable")
void BPF_PROG(iso_enable, struct task_struct* p) {
    struct task_context* t = context(p);

    if (!t) return;
    t->base = -1;
    t->ran = 0;
}

SEC("struct_ops.s/iso_init")
s32 BPF_PROG(iso_init) {
    s32 i, queue, error;
    u32 key;
    struct slice_timer* timer;

    if (setup.cpu_count > ISO_MAX_CPUS) return -7;  // E2BIG
    bpf_for(i, 0, setup.cpu_count) {
        cpu_state(i)->queue_v = 1ULL << 40;
        bpf_for(queue, 0, QUEUES) {
            error = scx_bpf_create_dsq(queue_of(i, queue), -1);
            if (error) return error;
        }
        key = i;
        timer = bpf_map_lookup_elem(&timers, &key);
        if (!timer) return -12;
        bpf_timer_init(&timer->timer, &timers, CLOCK_MONOTONIC);
        bpf_timer_set_callback(&timer->timer, slice_over);
    }
    return 0;
}

SEC("struct_ops/iso_exit")
void BPF_PROG(iso_exit, struct scx_exit_info* info) {
    bpf_probe_read_kernel_str(shared.exit_reason, sizeof shared.exit_reason, info->reason);
    bpf_probe_read_kernel_str(shared.exit_message, sizeof shared.exit_message, info->msg);
    shared.exit_code = info->exit_code;
    shared.exit_kind = info->kind;
}

SEC(".struct_ops.link")
struct sched_ext_ops castile_iso = {
    .select_cpu = (void*)iso_select_cpu,
    .enqueue = (void*)iso_enqueue,
    .dispatch = (void*)iso_dispatch,
    .running = (void*)iso_running,
    .stopping = (void*)iso_stopping,
    .tick = (void*)iso_tick,
    .update_idle = (void*)iso_update_idle,
    .init_task = (void*)iso_init_task,
    .enable = (void*)iso_enable,
    .init = (void*)iso_init,
    .exit = (void*)iso_exit,
    .flags = SCX_OPS_KEEP_BUILTIN_IDLE,
    .timeout_ms = 30000,
    .name = "castile_iso",
};
