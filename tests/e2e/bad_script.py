"""Scripts made to hurt: each ends with an error that says where, within two seconds of CPU and 500 MB."""

import os
import pathlib
import random
import resource
import subprocess
import sys
import tempfile
import threading

CASTILE = pathlib.Path(sys.argv[1]).resolve()
ONLY = sys.argv[2] if len(sys.argv) > 2 else ""
DEEP = 100_000
SECONDS, MEGABYTES = 2, 500
passed = failed = 0


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    resource.setrlimit(resource.RLIMIT_CPU, (20, 20))


def measure(folder, script, *options):
    """Exit code, output, CPU seconds, MB."""
    path = folder / "bad.liq"
    path.write_bytes(script if isinstance(script, bytes) else script.encode())
    with open(folder / "out", "wb+") as out:
        process = subprocess.Popen([str(CASTILE), *options, str(path)], stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=folder,
                                   preexec_fn=limit_memory)
        timer = threading.Timer(60, process.kill)
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read(1 << 20).decode(errors="replace")
    return process.returncode, text, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def attempt(folder, name, script, code=1, wanted="line", options=()):
    global passed, failed
    if ONLY not in name:
        return
    got, text, seconds, megabytes = measure(folder, script, *options)
    problems = []
    if got != code and code is not None:
        problems.append(f"exit code {got}")
    if code is None and got not in (0, 1):
        problems.append(f"exit code {got}")
    if got == 1 and wanted not in text:
        problems.append(f"does not say {wanted!r}")
    if len(text) > 200_000:   # at most two hundred warnings and one error
        problems.append(f"says too much: {len(text)} bytes")
    if seconds > SECONDS:
        problems.append(f"{seconds:.1f} s")
    if megabytes > MEGABYTES:
        problems.append(f"{megabytes:.0f} MB")
    if problems:
        failed += 1
        print(f"FAILED {name}: {', '.join(problems)}: {text[:300]!r}")
    else:
        passed += 1


def bytes_that_are_no_text(folder):
    noise = random.Random(7)
    attempt(folder, "binary file", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + noise.randbytes(1 << 20))
    attempt(folder, "zeros", bytes(1 << 20))
    attempt(folder, "a program", CASTILE.read_bytes()[:4 << 20])
    attempt(folder, "a name that is not UTF-8", b"x = 1\nna\xefve\xff = 2\n")
    attempt(folder, "a string that is not UTF-8", b'x = "caf\xe9"\nprint(string.length(x) + "\xff")\n')
    attempt(folder, "a comment that is not UTF-8", b"# caf\xe9 \xff\xfe\nprint(x)\n")
    attempt(folder, "UTF-16", "print(1)\n".encode("utf-16"))


def long_lines(folder):
    ten = 10_000_000
    attempt(folder, "10 MB of a name", "x" * ten)
    attempt(folder, "10 MB of brackets", ")" * ten)
    attempt(folder, "10 MB of a sum", "x = " + "1 + " * (ten // 4) + "1\n")
    attempt(folder, "10 MB of a sum of names", "x = " + "a + " * (ten // 4) + "a\n")
    attempt(folder, "10 MB of a string with an error after it", 'x = "' + "y" * ten + '" + 1\n')
    attempt(folder, "10 MB of a string that does not end", 'x = "' + "y" * ten)
    attempt(folder, "10 MB of a comment with an error after it", "#" + "y" * ten + "\nx = )\n")
    attempt(folder, "10 MB of a list", "x = [" + "1," * (ten // 2) + "true + 1]\n", code=None)
    attempt(folder, "10 MB of digits", "x = " + "9" * ten + "\n")
    attempt(folder, "10 MB of arguments", "print(" + "1," * (ten // 2) + "1)\n")
    attempt(folder, "1 MB of statements", "x = 1\n" * 150_000 + "x + true\n", code=None)


def deep_nesting(folder):
    for opening in ("(", "[", "{", "{a=", "begin ", "if true then ", "fun () -> ", "def f() = ", "def f(x=", "not ", "- ", "!", "ref(", "f(", "a[",
                    "try ", "try x catch e do ", "while true do ", "for i = 1 to 3 do ", "for i = ", "let [", "let {a=", "let (", "let x.{a=",
                    "open ", "%ffmpeg(", "%ffmpeg(%audio(", '"#{', "'#{", "(x : ", "(x : [", "(x : {a:", "(x : (", "(x : (int) -> ", "(x : ?", "%ifdef a\n",
                    "%include ", "(1, ", "[1, ...", "x.{a=", "f(a=", "1 ? 2 : ", "r/", "{...", "let rec f = fun (x) -> ", "let json.parse (x : [", "x = y = "):
        attempt(folder, f"nested {opening!r}", opening * DEEP)
        attempt(folder, f"started by a name and nested {opening!r}", "x = " + opening * DEEP + "1")
    for opening, closing in (("(", ")"), ("[", "]"), ("{", "}"), ("(fun () -> ", ")"), ("{a=", "}"), ("begin ", " end"), ("if true then ", " end"),
                             ("#<", ">#"), ("%ffmpeg(", ")"), ("f(", ")"), ("try ", " catch e do () end"), ("ref(", ")")):
        attempt(folder, f"nested and closed {opening!r}", "x = " + opening * DEEP + "1" + closing * DEEP + "\nprint(y)\n")
    attempt(folder, "nested types", "def f(x : " + "[" * DEEP + "int" + "]" * DEEP + ") = x end\n")
    attempt(folder, "nested function types", "def f(x : " + "(int) -> " * DEEP + "int) = x end\n")
    attempt(folder, "nested nullable types", "def f(x : int" + "?" * DEEP + ") = x end\nprint(y)\n", code=None)
    attempt(folder, "nested interpolations", "x = " + '"a#{' * DEEP + "1" + '}b"' * DEEP + "\n")
    attempt(folder, "nested functions", "".join(f"def f{i}() =\n" for i in range(DEEP)) + "1\n" + "end\n" * DEEP)
    for chain in (".a", "()", "(1)", "[1]", "?.a", ".{a=1}", " + 1", " ?? 1", " and true", " or true", " ^ x", "::[]", " := 1", " @ f", " - -1", ".a()", " == 1"):
        attempt(folder, f"a chain of {chain!r}", "x = 1\ny = x" + chain * DEEP + "\nprint(z)\n")
        attempt(folder, f"a chain of {chain!r} of nothing", "y = x" + chain * DEEP + "\n")
    attempt(folder, "elsif over and over", "if true then 1 " + "elsif true then 1 " * DEEP + "else undefined end\n")


def files_within_files(folder):
    (folder / "loop.liq").write_text('%include "loop.liq"\n')
    (folder / "one.liq").write_text('x = 1\n%include "two.liq"\n')
    (folder / "two.liq").write_text('%include "one.liq"\n')
    (folder / "both.liq").write_text('%include "both.liq"\n%include "both.liq"\n')
    for name in ("loop", "one", "both", "bad"):
        attempt(folder, f"include loop: {name}", f'%include "{name}.liq"\n')
    attempt(folder, "include of a folder", '%include "/tmp"\n')
    attempt(folder, "include of an endless file", '%include "/dev/zero"\n')


def large_types(folder):
    doubling = "def p0(x) = (x, x) end\n" + "".join(f"def p{i + 1}(x) = p{i}(p{i}(x)) end\n" for i in range(20)) + "y = p20(1)\nz = y + 1\n"
    attempt(folder, "pairs of pairs by functions", doubling)
    chain = "def f0(x) = (x, x) end\n" + "".join(f"def f{i + 1}(x) = (f{i}(x), f{i}(x)) end\n" for i in range(60)) + "f60(1) + 1\n"
    attempt(folder, "functions that give pairs", chain)
    attempt(folder, "pairs of pairs", "x0 = (1, 2)\n" + "".join(f"x{i + 1} = (x{i}, x{i})\n" for i in range(60)) + "x60 + 1\n")
    attempt(folder, "functions of pairs", "def f0(x) = x end\n" + "".join(f"f{i + 1} = fun (x) -> f{i}((x, x))\n" for i in range(60)) + "ignore(f60(1))\nexit(0)\n", code=None)
    attempt(folder, "records of records", "x0 = {a=1}\n" + "".join(f"x{i + 1} = {{a=x{i}, b=x{i}, c=x{i}}}\n" for i in range(60)) + "x60 + 1\n")
    attempt(folder, "lists of records", "x0 = [{a=1}]\n" + "".join(f"x{i + 1} = [{{a=x{i}}}, {{a=x{i}, b=x{i}}}]\n" for i in range(60)) + "x60 + 1\n")
    attempt(folder, "the identity of itself", "i = fun (x) -> x\n" + "y = i(" + "i)(i" * 300 + ")\ny + 1\n", code=None)
    attempt(folder, "a type that holds itself", "def rec f(x) = f([x]) end\nf(1)\n", code=None)
    attempt(folder, "applied to itself", "def f(x) = x(x) end\n")
    many = ", ".join(f"~a{i}=1" for i in range(DEEP))
    attempt(folder, "a function of 100,000 named parameters", f"def f({many}) = 1 end\nf(zz=1)\n")
    wide = "x = {" + ", ".join(f"a{i}={i}" for i in range(20_000)) + "}\nx + 1\n"
    attempt(folder, "a record of 20,000 fields", wide)
    attempt(folder, "a tuple of 20,000 elements", "x = (" + ", ".join(["1"] * 20_000) + ")\nx + true\n")
    attempt(folder, "a function of 20,000 parameters", "def f(" + ", ".join(f"a{i}" for i in range(20_000)) + ") = 1 end\nf(1)\n")


def large_values(folder):
    attempt(folder, "a huge integer", "x = 99999999999999999999999999\nprint(x + y)\n")
    attempt(folder, "a huge hexadecimal integer", "x = 0x" + "f" * 1000 + "\nprint(x + y)\n")
    attempt(folder, "a huge float", "x = 1e999999999\nprint(x + y)\n")
    for call in ("string.make(1000000000000)", "string.make(9223372036854775807)", "string.spaces(1000000000000)", "list.make(1000000000000, 1)",
                 "list.init(1000000000000, fun (i) -> i)", "list.make(9223372036854775807, 1)"):
        attempt(folder, call, f"x = 1\nx = {call}\nprint(x)\n")
    attempt(folder, "a string doubled over and over", 's = ref("x")\nwhile true do s := s() ^ s() end\n')
    attempt(folder, "a string joined over and over", 's = ref("x")\nwhile true do s := string.concat(separator=s(), [s(), s()]) end\n')
    attempt(folder, "an interpolation doubled over and over", 's = ref("x")\nwhile true do s := "#{s()}#{s()}" end\n')
    attempt(folder, "a list doubled over and over", "l = ref([1])\nwhile true do l := list.append(l(), l()) end\n")
    attempt(folder, "spreads doubled over and over", "l = ref([1])\nwhile true do l := [...l(), ...l()] end\n")


def deep_recursion(folder):
    attempt(folder, "endless recursion", "def rec f(x) = 1 + f(x) end\nprint(f(1))\n")
    attempt(folder, "endless recursion through a builtin", "def rec f(x) = list.map(f, [x, x]) end\nignore(f(1))\n", code=None)
    attempt(folder, "recursion through list.map", "def rec f(x) = list.length(list.map(f, [x])) end\nprint(f(1))\n")
    attempt(folder, "recursion through a reference", "r = ref(fun (x) -> x + 1)\ndef f(x) = g = r() 1 + g(x) end\nr := f\nprint(f(1))\n")
    attempt(folder, "a text of 100,000 brackets as JSON", f'let json.parse x = string.make(char_code=91, {DEEP})\nprint(x)\n', code=None)
    attempt(folder, "a list of a million by recursion",
            "def rec f(l, i) = if i == 0 then l else f([i, ...l], i - 1) end end\nprint(list.length(f([], 1000000)))\nx = undefined\n")
    attempt(folder, "a million elements by recursion",
            "def rec f(l, i) = if i == 0 then l else f([i, ...l], i - 1) end end\nl = f([], 1000000)\n"
            "def rec sum(s, l) = if l == [] then s else let [x, ...rest] = l sum(s + x, rest) end end\n"
            "print(sum(0, l))\nerror.raise(error.register(\"end\"), \"of it\")\n")
    doubled = "x0 = {a=1}\n" + "".join(f"x{i + 1} = {{l=x{i}, r=x{i}}}\n" for i in range(60))
    attempt(folder, "a doubled record as text", doubled + "print(x60)\n")
    attempt(folder, "a doubled record as JSON", doubled + "print(json.stringify(x60))\n")
    attempt(folder, "a doubled pair compared", "x0 = (1, 1)\n" + "".join(f"x{i + 1} = (x{i}, x{i})\n" for i in range(60)) + "print(x60 == x60)\nlist.hd([])\n")
    # Getters of getters: a value as deep as one likes, which its destruction must not fall over.
    attempt(folder, "a long chain of closures",
            "def wrap(f) = fun () -> 1 + f() end\nr = ref(fun () -> 1)\nfor _ = 1 to 1000000 do r := wrap(r()) end\nf = r()\nprint(f())\n")
    attempt(folder, "a long chain of closures forgotten",
            "def wrap(f) = fun () -> 1 + f() end\nr = ref(fun () -> 1)\nfor _ = 1 to 1000000 do r := wrap(r()) end\nr := fun () -> 1\nf = r()\nprint(f())\nlist.hd([])\n")


def main():
    with tempfile.TemporaryDirectory() as folder:
        for group in (bytes_that_are_no_text, long_lines, deep_nesting, files_within_files, large_types, large_values, deep_recursion):
            group(pathlib.Path(folder))
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


main()
