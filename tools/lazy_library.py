#!/usr/bin/env python3
"""Writes an assembly file of stubs for the functions of shared libraries, which are loaded at the first call of one.

libav and libcurl bring some 140 libraries; mapping them costs 25 MiB and 50 ms before main. A stub jumps through a pointer:
at first to the loader (src/app/lazy/lazy_library.cpp), afterwards straight to the function, as a call through the PLT does.

usage: lazy_library.py ARCHITECTURE OUTPUT LIBRARY.so...
"""
import re
import subprocess
import sys

X86 = """
    .text
castile_lazy_common:
    push %rbp
    mov %rsp, %rbp
    and $-16, %rsp
    sub $192, %rsp
    mov %rax, 128(%rsp)
    mov %rdi, 136(%rsp)
    mov %rsi, 144(%rsp)
    mov %rdx, 152(%rsp)
    mov %rcx, 160(%rsp)
    mov %r8, 168(%rsp)
    mov %r9, 176(%rsp)
    movups %xmm0, 0(%rsp)
    movups %xmm1, 16(%rsp)
    movups %xmm2, 32(%rsp)
    movups %xmm3, 48(%rsp)
    movups %xmm4, 64(%rsp)
    movups %xmm5, 80(%rsp)
    movups %xmm6, 96(%rsp)
    movups %xmm7, 112(%rsp)
    mov %r11, %rdi
    call castile_lazy_resolve
    mov %rax, %r11
    mov 128(%rsp), %rax
    mov 136(%rsp), %rdi
    mov 144(%rsp), %rsi
    mov 152(%rsp), %rdx
    mov 160(%rsp), %rcx
    mov 168(%rsp), %r8
    mov 176(%rsp), %r9
    movups 0(%rsp), %xmm0
    movups 16(%rsp), %xmm1
    movups 32(%rsp), %xmm2
    movups 48(%rsp), %xmm3
    movups 64(%rsp), %xmm4
    movups 80(%rsp), %xmm5
    movups 96(%rsp), %xmm6
    movups 112(%rsp), %xmm7
    mov %rbp, %rsp
    pop %rbp
    jmp *%r11
"""
X86_STUB = """
    .section .text.{name},"ax",@progbits
    .globl {name}
    .type {name}, @function
{name}:
    jmp *castile_lazy_pointers+{offset}(%rip)
castile_lazy_first_{index}:
    mov ${index}, %r11d
    jmp castile_lazy_common
"""
ARM = """
    .text
castile_lazy_common:
    stp x29, x30, [sp, #-224]!
    mov x29, sp
    stp x0, x1, [sp, #16]
    stp x2, x3, [sp, #32]
    stp x4, x5, [sp, #48]
    stp x6, x7, [sp, #64]
    str x8, [sp, #80]
    stp q0, q1, [sp, #96]
    stp q2, q3, [sp, #128]
    stp q4, q5, [sp, #160]
    stp q6, q7, [sp, #192]
    mov x0, x16
    bl castile_lazy_resolve
    mov x16, x0
    ldp x0, x1, [sp, #16]
    ldp x2, x3, [sp, #32]
    ldp x4, x5, [sp, #48]
    ldp x6, x7, [sp, #64]
    ldr x8, [sp, #80]
    ldp q0, q1, [sp, #96]
    ldp q2, q3, [sp, #128]
    ldp q4, q5, [sp, #160]
    ldp q6, q7, [sp, #192]
    ldp x29, x30, [sp], #224
    br x16
"""
ARM_STUB = """
    .section .text.{name},"ax",@progbits
    .globl {name}
    .type {name}, %function
{name}:
    adrp x16, castile_lazy_pointers+{offset}
    ldr x16, [x16, #:lo12:castile_lazy_pointers+{offset}]
    br x16
castile_lazy_first_{index}:
    mov w16, #{index}
    b castile_lazy_common
"""
ARCHITECTURES = {"x86_64": (X86, X86_STUB), "aarch64": (ARM, ARM_STUB)}


def soname(library):
    dynamic = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
    return re.search(r"\(SONAME\).*\[(.*)\]", dynamic).group(1)


def functions(library):
    symbols = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    for line in symbols.splitlines():
        fields = line.split()
        if len(fields) == 3 and fields[1] == "T":
            yield fields[2].split("@")[0]


def main():
    common, stub = ARCHITECTURES[sys.argv[1]]
    libraries = sys.argv[3:]
    table = {}   # name -> number of its library
    for number, library in enumerate(libraries):
        for name in functions(library):
            if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) and name not in ("_init", "_fini"):
                table.setdefault(name, number)
    names = sorted(table)
    out = [common]
    for index, name in enumerate(names):
        out.append(stub.format(name=name, index=index, offset=8 * index))
    out.append("\n    .data\n    .balign 8\n    .globl castile_lazy_pointers\ncastile_lazy_pointers:\n")
    out += [f"    .quad castile_lazy_first_{i}\n" for i in range(len(names))]
    # Numbers rather than pointers: nothing to relocate at start.
    out.append("    .section .rodata\n    .globl castile_lazy_names\ncastile_lazy_names:\n")
    out += [f'    .asciz "{name}"\n' for name in names]
    out.append("    .globl castile_lazy_library_of\ncastile_lazy_library_of:\n")
    out += [f"    .byte {table[name]}\n" for name in names]
    out.append("    .globl castile_lazy_libraries\ncastile_lazy_libraries:\n")
    out += [f'    .asciz "{soname(library)}"\n' for library in libraries] + ["    .byte 0\n"]
    out.append('    .section .note.GNU-stack,"",%progbits\n')
    with open(sys.argv[2], "w", encoding="ascii") as file:
        file.write("".join(out))


if __name__ == "__main__":
    main()
