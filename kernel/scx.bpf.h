// The kernel's types and functions that the scheduler uses, as far as it uses them: offsets come from the BTF of the kernel that
// runs (CO-RE), and functions that changed their name have fallbacks, so one object serves every kernel from 6.16 on.
#pragma once

typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef __u8 u8;
typedef __u32 u32;
typedef __s32 s32;
typedef __u64 u64;
typedef __s64 s64;
typedef _Bool bool;
#define true 1
#define false 0

enum { BPF_MAP_TYPE_ARRAY = 2, BPF_MAP_TYPE_TASK_STORAGE = 29 };
enum { BPF_F_NO_PREALLOC = 1, BPF_LOCAL_STORAGE_GET_F_CREATE = 1, CLOCK_MONOTONIC = 1 };

struct bpf_timer {
    __u64 opaque[2];
} __attribute__((aligned(8)));
struct bpf_iter_num {
    __u64 opaque[1];
} __attribute__((aligned(8)));
struct bpf_iter_scx_dsq {
    __u64 opaque[6];
} __attribute__((aligned(8)));

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct cpumask {
    unsigned long bits[1];
};
struct sched_ext_entity {
    u32 flags, weight;
    u64 slice, dsq_vtime;
};
struct task_struct {
    unsigned int flags, policy;
    int static_prio, nr_cpus_allowed;
    const struct cpumask* cpus_ptr;
    unsigned short migration_disabled;
    unsigned sched_reset_on_fork : 1;
    struct sched_ext_entity scx;
};
enum scx_exit_kind { SCX_EXIT_NONE };
struct scx_exit_info {
    enum scx_exit_kind kind;
    s64 exit_code;
    const char* reason;
    char* msg;
};
struct scx_init_task_args;
struct scx_bpf_dsq_insert_vtime_args {
    u64 dsq_id, slice, vtime, enq_flags;
};

#pragma clang attribute pop

/* Bound to the kernel's own by the names of its members; what it has besides stays empty. */
struct sched_ext_ops {
    s32 (*select_cpu)(struct task_struct* p, s32 prev_cpu, u64 wake_flags);
    void (*enqueue)(struct task_struct* p, u64 enq_flags);
    void (*dispatch)(s32 cpu, struct task_struct* prev);
    void (*tick)(struct task_struct* p);
    void (*running)(struct task_struct* p);
    void (*stopping)(struct task_struct* p, bool runnable);
    void (*update_idle)(s32 cpu, bool idle);
    s32 (*init_task)(struct task_struct* p, struct scx_init_task_args* args);
    void (*enable)(struct task_struct* p);
    s32 (*init)(void);
    void (*exit)(struct scx_exit_info* info);
    u64 flags;
    u32 timeout_ms;
    char name[128];
};

enum scx_enq_flags { SCX_ENQ_WAKEUP = 1ULL, SCX_ENQ_PREEMPT = 1ULL << 32 };
enum scx_kick_flags { SCX_KICK_IDLE = 1, SCX_KICK_PREEMPT = 2 };
enum scx_ent_flags { SCX_TASK_QUEUED = 1 };
enum scx_dsq_id_flags { SCX_DSQ_LOCAL = (1ULL << 63) | 2 };
enum { SCX_OPS_KEEP_BUILTIN_IDLE = 1 };
enum { PF_KTHREAD = 0x00200000, SCHED_EXT = 7 };

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

extern s32 scx_bpf_create_dsq(u64 dsq_id, s32 node) __ksym;
extern s32 scx_bpf_select_cpu_dfl(struct task_struct* p, s32 prev_cpu, u64 wake_flags, bool* is_idle) __ksym;
extern s32 scx_bpf_pick_idle_cpu(const struct cpumask* allowed, u64 flags) __ksym;
extern s32 scx_bpf_dsq_nr_queued(u64 dsq_id) __ksym;
extern void scx_bpf_kick_cpu(s32 cpu, u64 flags) __ksym;
extern s32 scx_bpf_task_cpu(const struct task_struct* p) __ksym;
extern int bpf_iter_scx_dsq_new(struct bpf_iter_scx_dsq* it, u64 dsq_id, u64 flags) __ksym;
extern struct task_struct* bpf_iter_scx_dsq_next(struct bpf_iter_scx_dsq* it) __ksym;
extern void bpf_iter_scx_dsq_destroy(struct bpf_iter_scx_dsq* it) __ksym;
extern void scx_bpf_dsq_move_set_slice(struct bpf_iter_scx_dsq* it, u64 slice) __ksym;
extern void scx_bpf_dsq_move_set_vtime(struct bpf_iter_scx_dsq* it, u64 vtime) __ksym;
extern bool scx_bpf_dsq_move_vtime(struct bpf_iter_scx_dsq* it, struct task_struct* p, u64 dsq_id, u64 enq_flags) __ksym;
extern bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask* mask) __ksym;

/* libbpf drops the last ___suffix before it looks a name up. From 6.19, the names before it: */
extern bool scx_bpf_dsq_insert___v2___now(struct task_struct* p, u64 dsq_id, u64 slice, u64 enq_flags) __ksym __weak;
extern void scx_bpf_dsq_insert___before(struct task_struct* p, u64 dsq_id, u64 slice, u64 enq_flags) __ksym __weak;
extern bool __scx_bpf_dsq_insert_vtime(struct task_struct* p, struct scx_bpf_dsq_insert_vtime_args* args) __ksym __weak;
extern void scx_bpf_dsq_insert_vtime___before(struct task_struct* p, u64 dsq_id, u64 slice, u64 vtime, u64 enq_flags) __ksym __weak;
extern bool scx_bpf_task_set_slice___now(struct task_struct* p, u64 slice) __ksym __weak;
extern struct task_struct* scx_bpf_dsq_peek(u64 dsq_id) __ksym __weak;
/* from 7.1: */
extern bool scx_bpf_dsq_move_to_local___v2___now(u64 dsq_id, u64 enq_flags) __ksym __weak;
extern bool scx_bpf_dsq_move_to_local___before(u64 dsq_id) __ksym __weak;

static __always_inline void insert(struct task_struct* p, u64 queue, u64 slice, u64 flags) {
    if (bpf_ksym_exists(scx_bpf_dsq_insert___v2___now))
        scx_bpf_dsq_insert___v2___now(p, queue, slice, flags);
    else
        scx_bpf_dsq_insert___before(p, queue, slice, flags);
}

static __always_inline void insert_by_key(struct task_struct* p, u64 queue, u64 slice, u64 key, u64 flags) {
    if (bpf_ksym_exists(__scx_bpf_dsq_insert_vtime)) {
        struct scx_bpf_dsq_insert_vtime_args args = {.dsq_id = queue, .slice = slice, .vtime = key, .enq_flags = flags};
        __scx_bpf_dsq_insert_vtime(p, &args);
    } else {
        scx_bpf_dsq_insert_vtime___before(p, queue, slice, key, flags);
    }
}

static __always_inline bool take(u64 queue) {
    if (bpf_ksym_exists(scx_bpf_dsq_move_to_local___v2___now)) return scx_bpf_dsq_move_to_local___v2___now(queue, 0);
    return scx_bpf_dsq_move_to_local___before(queue);
}

static __always_inline void set_slice(struct task_struct* p, u64 slice) {
    if (bpf_ksym_exists(scx_bpf_task_set_slice___now))
        scx_bpf_task_set_slice___now(p, slice);
    else
        p->scx.slice = slice;
}

/* The key of the first task of a queue, or false. */
static __always_inline bool first_key(u64 queue, u64* key) {
    struct bpf_iter_scx_dsq it;
    struct task_struct* p;
    bool found = false;

    if (scx_bpf_dsq_nr_queued(queue) <= 0) return false;
    if (!bpf_iter_scx_dsq_new(&it, queue, 0)) {
        p = bpf_iter_scx_dsq_next(&it);
        if (p) {
            *key = p->scx.dsq_vtime;
            found = true;
        }
    }
    bpf_iter_scx_dsq_destroy(&it);
    return found;
}
