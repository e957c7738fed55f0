// libav is loaded when it is first called: its libraries bring some hundred others, 25 MB and most of the start-up time,
// which a script that is only checked does not need. Each function below is a jump through a slot; the slot first leads to
// lazy_libav.cpp's castile_libav_load, which fills all slots. The list of functions is libav_functions.inc.

#include <libavcodec/version.h>

#if defined(__x86_64__)

// At a function's entry: keeps the arguments, loads libav, then calls the function again through its filled slot (r11).
    .text
    .type castile_libav_first, @function
castile_libav_first:
    .cfi_startproc
    push %r11
    push %rdi
    push %rsi
    push %rdx
    push %rcx
    push %r8
    push %r9
    push %rax
    sub $136, %rsp
    .cfi_def_cfa_offset 208
    movups %xmm0, 0(%rsp)
    movups %xmm1, 16(%rsp)
    movups %xmm2, 32(%rsp)
    movups %xmm3, 48(%rsp)
    movups %xmm4, 64(%rsp)
    movups %xmm5, 80(%rsp)
    movups %xmm6, 96(%rsp)
    movups %xmm7, 112(%rsp)
    call castile_libav_load
    movups 0(%rsp), %xmm0
    movups 16(%rsp), %xmm1
    movups 32(%rsp), %xmm2
    movups 48(%rsp), %xmm3
    movups 64(%rsp), %xmm4
    movups 80(%rsp), %xmm5
    movups 96(%rsp), %xmm6
    movups 112(%rsp), %xmm7
    add $136, %rsp
    pop %rax
    pop %r9
    pop %r8
    pop %rcx
    pop %rdx
    pop %rsi
    pop %rdi
    pop %r11
    .cfi_def_cfa_offset 8
    jmp *%r11
    .cfi_endproc

.macro libav_function name
    .text
    .globl \name
    .hidden \name
    .type \name, @function
\name:
    jmp *.Lslot_\name(%rip)
.Lfirst_\name:
    lea \name(%rip), %r11
    jmp castile_libav_first
    .size \name, . - \name
    libav_entry \name
.endm

#elif defined(__aarch64__)

    .text
    .type castile_libav_first, %function
castile_libav_first:
    stp x29, x30, [sp, #-240]!
    stp x0, x1, [sp, #16]
    stp x2, x3, [sp, #32]
    stp x4, x5, [sp, #48]
    stp x6, x7, [sp, #64]
    stp x8, x17, [sp, #80]
    stp q0, q1, [sp, #96]
    stp q2, q3, [sp, #128]
    stp q4, q5, [sp, #160]
    stp q6, q7, [sp, #192]
    bl castile_libav_load
    ldp x0, x1, [sp, #16]
    ldp x2, x3, [sp, #32]
    ldp x4, x5, [sp, #48]
    ldp x6, x7, [sp, #64]
    ldp x8, x17, [sp, #80]
    ldp q0, q1, [sp, #96]
    ldp q2, q3, [sp, #128]
    ldp q4, q5, [sp, #160]
    ldp q6, q7, [sp, #192]
    ldp x29, x30, [sp], #240
    br x17

.macro libav_function name
    .text
    .globl \name
    .hidden \name
    .type \name, %function
\name:
    adrp x16, .Lslot_\name
    ldr x16, [x16, #:lo12:.Lslot_\name]
    br x16
.Lfirst_\name:
    adrp x17, \name
    add x17, x17, #:lo12:\name
    b castile_libav_first
    .size \name, . - \name
    libav_entry \name
.endm

#endif

#if defined(__x86_64__) || defined(__aarch64__)

// A slot, and its entry (name, slot) in the table that castile_libav_load walks.
.macro libav_entry name
    .data
    .p2align 3
.Lslot_\name:
    .quad .Lfirst_\name
    .section .rodata
.Lname_\name:
    .asciz "\name"
    .section .data.rel.ro, "aw"
    .p2align 3
    .quad .Lname_\name
    .quad .Lslot_\name
.endm

    .section .data.rel.ro, "aw"
    .p2align 3
    .globl castile_libav_table
    .hidden castile_libav_table
castile_libav_table:

#include "libav_functions.inc"

    .section .data.rel.ro, "aw"
    .quad 0

#endif

    .section .note.GNU-stack, "", %progbits
