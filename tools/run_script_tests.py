#!/usr/bin/env python3
"""Runs the script tests of a folder: NAME.liq beside NAME.expected.

NAME.expected holds what the script prints on standard output, after a line "exit: N" when the exit code is not 0 and a
line "stderr: TEXT" for each text that standard error must contain. The first line of a script may give options:
"# options: --simulate 5"; one that gives none is run with --simulate 0: its definitions are evaluated, no time passes.
Each runs in a folder of its own, $TEST_TMP; $TEST_DIR is where the script is; the time zone is UTC.
"""
import argparse
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

ALWAYS = ["-q"]
DEFAULT_OPTIONS = ["--simulate", "0"]


def options_of(script):
    first = script.read_text(encoding="utf-8", errors="replace").split("\n", 1)[0]
    match = re.match(r"#\s*options:\s*(.*)", first)
    return shlex.split(match.group(1)) if match else DEFAULT_OPTIONS


def run(binary, script, timeout):
    options = options_of(script)
    with tempfile.TemporaryDirectory(prefix="castile-test-") as folder:
        environment = {**os.environ, "TEST_TMP": folder, "TEST_DIR": str(script.parent), "TZ": "UTC"}
        command = [str(binary), *ALWAYS, *options, str(script)]
        try:
            done = subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout)
        except subprocess.TimeoutExpired as late:
            return None, (late.stdout or b"").decode(errors="replace"), (late.stderr or b"").decode(errors="replace")
        return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def parse_expected(text):
    code, wanted_errors, lines = 0, [], text.split("\n")
    while lines and (match := re.match(r"(exit|stderr): (.*)", lines[0])):
        if match.group(1) == "exit":
            code = int(match.group(2))
        else:
            wanted_errors.append(match.group(2))
        lines.pop(0)
    return code, wanted_errors, "\n".join(lines)


def judge(binary, script, accept, timeout):
    code, out, err = run(binary, script, timeout)
    if code is None:
        return False, f"still running after {timeout} s\n{out}{err}"
    expected_file = script.with_suffix(".expected")
    wanted_code, wanted_errors, wanted = parse_expected(expected_file.read_text(encoding="utf-8") if expected_file.exists() else "")
    if accept:
        head = (f"exit: {code}\n" if code else "") + "".join(f"stderr: {e}\n" for e in wanted_errors)
        expected_file.write_text(head + out, encoding="utf-8")
        return True, ""
    if not expected_file.exists():
        return False, f"there is no {expected_file.name} (--accept writes it)"
    problems = []
    if code != wanted_code:
        problems.append(f"exit code {code}, expected {wanted_code}")
    if out != wanted:
        problems.append(f"printed:\n{out}\nexpected:\n{wanted}")
    problems += [f"standard error does not contain: {e}" for e in wanted_errors if e not in err]
    return not problems, "\n".join(problems) + (f"\nstandard error:\n{err}" if problems and err else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("filter", nargs="?", default="", help="only scripts whose name contains this")
    parser.add_argument("--accept", action="store_true", help="write what is printed now as what is expected")
    parser.add_argument("--timeout", type=float, default=20)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    binary, folder = options.binary.resolve(), options.folder.resolve()
    scripts = sorted(s for s in folder.glob("*.liq") if options.filter in s.name)
    passed = failed = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for script, (good, report) in zip(scripts, pool.map(lambda s: judge(binary, s, options.accept, options.timeout), scripts)):
            if good:
                passed += 1
            else:
                failed += 1
                print(f"FAILED {script.name}: {report}\n")
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not scripts else 0)


if __name__ == "__main__":
    main()
