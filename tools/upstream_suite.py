#!/usr/bin/env python3
"""Runs the test scripts of a Liquidsoap checkout with our program and says which pass.

Four kinds of folders are known:
  tests/NAME with dune rules  each script is called as its rule says (`liquidsoap ../test.liq SCRIPT`), after the files that it
                              needs are made by their rules (ffmpeg, echo, openssl); passed: exit code 0, skipped: 123
  tests/snapshots             same type (up to the names of variables), value and error number as in `expected`
  tests/failures              each must be refused with an error
  doc/content/liq             each must pass --check
All happens in a copy in a scratch folder: the checkout is only read. One line a script, totals, exit code 1 when one failed.
"""
import argparse
import collections
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ["tests/language", "tests/snapshots", "tests/failures", "tests/regression", "tests/streams", "tests/harbor", "doc/content/liq"]
SKIPPED = 123                                    # the exit code of test.skip()
PROGRAMS = {"ffmpeg", "echo", "openssl", "sh", "bash"}   # what a rule may run; nothing that goes to the network
# Snapshots made without the library that comes with the language: with it they have a value. What Liquidsoap 2.4.2 gives.
WITH_LIBRARY = {
    "append_list": None,                         # `@` is the library's there, an error of type all the same
    "encoder": ("format(audio=pcm(stereo))", None),
    "iterable_for": ("unit", "()"),
    "null_ops": ("bool * int", "(false, 1)"),
    "pp_comments": ("int", "1"),                 # "Test" is no category of that library: here any category is taken
    "time_predicate": ("bool", None),
    "try_catch": ("string", '"nope"'),
}

Result = collections.namedtuple("Result", "state why seconds unknown")


# --- dune files: s-expressions

def read_sexps(text):
    """Lists of lists of words."""
    stack, current = [], []
    for match in re.finditer(r';[^\n]*|\(|\)|"((?:[^"\\]|\\.)*)"|[^\s()";]+', text):
        token = match.group(0)
        if token.startswith(";"):
            continue
        if token == "(":
            stack.append(current)
            current = []
        elif token == ")":
            done, current = current, stack.pop()
            current.append(done)
        elif token.startswith('"'):
            current.append(re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m.group(1), m.group(1)), match.group(1)))
        else:
            current.append(token)
    return current


class Rule:
    def __init__(self, folder, fields):
        self.folder = folder
        fields = {f[0]: f[1:] for f in fields if isinstance(f, list) and f}
        self.action = fields.get("action", [[]])[0]
        self.targets = [t for t in fields.get("target", []) + fields.get("targets", []) if isinstance(t, str)]
        self.dependencies, self.names = [], {}
        for d in fields.get("deps", []):
            if isinstance(d, str):
                self.dependencies.append(d)
            elif d and d[0].startswith(":"):
                self.names[d[0][1:]] = d[1]
                self.dependencies.append(d[1])
        words = self.words(self.action)
        self.is_test = "%{run_test}" in words
        self.enabled = "git" not in words and "curl" not in words
        self.lock, self.result = threading.Lock(), None

    def words(self, action):
        for a in action:
            if isinstance(a, list):
                yield from self.words(a)
            else:
                yield a

    def expand(self, word):
        known = {"target": " ".join(self.targets), "targets": " ".join(self.targets), "deps": " ".join(self.dependencies), **self.names}
        return re.sub(r"%\{([^}]*)\}", lambda m: known.get(m.group(1), m.group(0)), word)


def rules_of(folder):
    rules = []
    for name in ("dune", "dune.inc"):
        if (folder / name).exists():
            rules += [Rule(folder, s[1:]) for s in read_sexps((folder / name).read_text()) if s and s[0] == "rule"]
    return rules


# --- running

class Suite:
    def __init__(self, options, scratch):
        self.options, self.scratch = options, scratch
        self.binary = options.binary.resolve()
        self.targets, self.rules = {}, {}
        checkout = options.checkout.resolve()
        for part in ("tests", "doc"):
            shutil.copytree(checkout / part, scratch / part, symlinks=True, ignore=shutil.ignore_patterns("*.gen", "liquidsoap-test-assets"))
        (scratch / "src").symlink_to(checkout / "src")
        (scratch / "tests/liquidsoap-test-assets").mkdir()
        for folder in (scratch / "tests").iterdir():
            if not folder.is_dir() or folder.name in ("core", "snapshots"):
                continue
            self.rules[folder] = rules_of(folder)
            for rule in self.rules[folder]:
                if not rule.enabled:
                    continue
                for target in rule.targets:
                    self.targets[os.path.normpath(folder / target)] = rule

    def call(self, command, folder, stdin=None, stdout=None):
        """Exit code (None: too late), output, errors; within the limits of time and memory."""
        home = tempfile.mkdtemp(dir=self.scratch)
        environment = {**os.environ, "TMPDIR": home, "HOME": home, "LC_ALL": "C.UTF-8"}
        limited = ["sh", "-c", f'ulimit -v {self.options.memory * 1024}; exec "$@"', "sh", *map(str, command)]
        with subprocess.Popen(limited, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              start_new_session=True) as process:
            try:
                out, err = process.communicate((stdin or "").encode(), timeout=self.options.timeout)
                code = process.returncode
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                out, err = process.communicate()
                code = None
        shutil.rmtree(home, ignore_errors=True)
        if stdout is not None:
            stdout.write_bytes(out)
        return code, out.decode(errors="replace"), err.decode(errors="replace")

    def castile(self, arguments, folder, stdin=None):
        return self.call([self.binary, *arguments], folder, stdin)

    def perform(self, rule, action, stdin=None, stdout=None):
        """An action of a rule. Returns as `call`."""
        done = (0, "", "")
        if not action:
            return done
        head, rest = action[0], action[1:]
        if head in ("progn", "ignore-outputs"):
            for a in rest:
                done = self.perform(rule, a, stdin, stdout)
                if done[0] != 0:
                    break
            return done
        if head == "with-stdout-to":
            return self.perform(rule, rest[1], stdin, rule.folder / rule.expand(rest[0]))
        if head == "with-accepted-exit-codes":
            code, out, err = self.perform(rule, rest[1], stdin, stdout)
            return (0 if code is not None else None), out, err
        if head == "echo":
            return 0, rule.expand(" ".join(rest)), ""
        if head in ("pipe-stdout", "pipe-outputs"):
            for a in rest:
                done = self.perform(rule, a, done[1], stdout)
            return done
        if head in ("system", "bash"):
            return self.call(["bash", "-c", rule.expand(rest[0])], rule.folder, stdin, stdout)
        if head == "diff":
            old, new = (rule.folder / rule.expand(w) for w in rest)
            same = old.exists() and new.exists() and old.read_bytes() == new.read_bytes()
            return (0 if same else 1), "", "" if same else f"{rest[0]} and {rest[1]} differ"
        if head != "run":
            return 1, "", f"unknown action {head}"
        words = [rule.expand(w) for w in rest]
        if words[0].endswith("/liquidsoap.exe") or words[0] == "%{liquidsoap}":
            return self.castile(words[1:], rule.folder, stdin)
        if rest[0] == "%{run_test}":
            words = words[2:]
            if words[0] != "liquidsoap":
                return 1, "", f"unknown test {words[0]}"
            if "--stdlib" in words:              # their library is not ours
                at = words.index("--stdlib")
                del words[at:at + 2]
            return self.castile(words[1:], rule.folder, stdin)
        if words[0] not in PROGRAMS and not (rule.folder / words[0]).exists():
            return 1, "", f"{words[0]} is not run here"
        if words[0] == "echo":                   # the string may hold line breaks
            text = " ".join(words[1:]).replace("\\n", "\n") + "\n"
            if stdout is not None:
                stdout.write_text(text)
            return 0, text, ""
        if words[0] == "ffmpeg":
            words[1:1] = ["-nostdin", "-y"]
        return self.call(words, rule.folder, stdin, stdout)

    def make(self, path):
        """A file that a test needs, by its rule, once."""
        rule = self.targets.get(os.path.normpath(path))
        if rule is None:
            return
        with rule.lock:
            if rule.result is None:
                self.make_dependencies(rule, None)
                rule.result = self.perform(rule, rule.action)

    def make_dependencies(self, rule, script):
        for dependency in rule.dependencies:
            self.make(rule.folder / dependency)
        # A rule that names a whole folder of files: those that the script mentions.
        text = script.read_text(errors="replace") if script and script.exists() else ""
        for target in self.targets if text else ():
            if os.path.basename(target) in text:
                self.make(target)

    def run_rule(self, rule, script):
        self.make_dependencies(rule, script)
        with rule.lock:
            if rule.result is None:
                rule.result = self.perform(rule, rule.action)
        return judge_run(rule.result, self.options.timeout)

    # --- the kinds of folders

    def tests(self, name):
        """(shown name, function) of each test below a folder or file of the checkout."""
        path = self.scratch / name
        folder = path if path.is_dir() else path.parent
        shown = folder.relative_to(self.scratch)
        if shown == pathlib.Path("tests/snapshots"):
            found = [(f"{shown}/cases/{c.name}", lambda c=c: self.snapshot(c)) for c in sorted((folder / "cases").iterdir()) if c.suffix != ".liq-inc"]
        elif shown == pathlib.Path("tests/failures"):
            found = [(f"{shown}/{s.name}", lambda s=s: self.failure(s)) for s in sorted(folder.glob("*.liq"))]
        elif folder in self.rules:
            found = []
            for rule in self.rules[folder]:
                if not rule.is_test:
                    continue
                scripts = [w for w in (rule.expand(w) for w in rule.words(rule.action)) if w.endswith(".liq") and not w.endswith("/test.liq")]
                label = scripts[-1].removeprefix("./") if scripts else next(iter(rule.words(rule.action[2:])), "?")
                script = folder / scripts[-1] if scripts else None
                found.append((f"{shown}/{label}", lambda rule=rule, script=script: self.run_rule(rule, script)))
        else:
            found = [(f"{shown}/{s.name}", lambda s=s: self.document(s)) for s in sorted(folder.glob("*.liq"))]
        if not path.is_dir():
            found = [t for t in found if t[0] == name]
        return found

    def snapshot(self, case):
        expected = (case.parent.parent / "expected" / (case.stem + ".expected")).read_text()
        sections = dict(re.findall(r"^--- (\w+) ---\n(.*?)(?=^--- \w+ ---\n|\Z)", expected, re.S | re.M))
        wanted_error = next((m.group(1) for s in sections.values() for m in [re.search(r"^Error (\d+)", s, re.M)] if m), None)
        wanted = None if wanted_error else (sections["type"], sections["value"])
        if WITH_LIBRARY.get(case.stem):
            wanted_error, wanted = None, WITH_LIBRARY[case.stem]
        # As one expression of the interactive interpreter, which prints type and value.
        code, out, err = self.castile(["-q", "--interactive"], case.parent, "begin\n" + case.read_text() + "\nend;;\n")
        if code is None:
            return "failed", f"still running after {self.options.timeout:g} s", ""
        found = re.search(r".*^(?:# )?- : (.*?) = (.*)\n", out, re.S | re.M)   # the last: definitions are printed before
        error = re.search(r"^Error (\d+)", out + err, re.M)
        if wanted_error:
            if error and error.group(1) == wanted_error:
                return "passed", "", ""
            return "failed", f"expected error {wanted_error}, found " + (f"error {error.group(1)}" if error else "none"), ""
        if not found:
            return "failed", reason(out, err), unknown_name(out + err)
        problems = [f"{what} {given.strip()}, expected {same.strip()}" for what, given, same in zip(("type", "value"), found.groups(), wanted)
                    if same is not None and normal(given) != normal(same)]
        return ("failed" if problems else "passed"), "; ".join(problems), ""

    def failure(self, script):
        code, out, err = self.castile(["-q", script.name], script.parent)
        refused = code not in (0, None) and re.search(r"^Error \d+", out + err, re.M)
        return ("passed" if refused else "failed"), "" if refused else f"not refused: {reason(out, err)}", ""

    def document(self, script):
        code, out, err = self.castile(["--check", script.name], script.parent)
        parsed = code == 0 or self.castile(["--parse-only", script.name], script.parent)[0] == 0
        return ("passed" if code == 0 else "failed"), ("" if parsed else "DOES NOT PARSE: ") + ("" if code == 0 else reason(out, err)), unknown_name(out + err)


def normal(text):
    """A type or a value, up to white space, the names of type variables and how an integer was written."""
    names = {}
    text = re.sub(r"\b0[xX][0-9a-fA-F]+|\b0[oO][0-7]+|\b0[bB][01]+", lambda m: str(int(m.group(0), 0)), text)
    text = re.sub(r"'\w+", lambda m: names.setdefault(m.group(0), f"'{len(names)}"), text)
    return re.sub(r"\s+", "", text)


def reason(out, err):
    text = re.sub(r"\x1b\[[0-9;]*m", "", out + "\n" + err)
    error = re.search(r"^Error (\d+): *([^\n]*(?:\n  [^\n]*\n[^\n]*\n  [^\n]*)?)", text, re.M)
    if error:
        at = re.findall(r"^At ([^\n]*):$", text[:error.start()], re.M)
        place = re.search(r"line \d+", at[-1]).group(0) + ": " if at and "line" in at[-1] else ""
        return f"{place}error {error.group(1)}: " + re.sub(r"\s+", " ", error.group(2))[:200]
    lines = [line for line in text.split("\n") if line.strip()]
    interesting = [line for line in lines if re.search("fail|expected|got|uncaught|error", line, re.I)] or lines
    return " / ".join(line.strip() for line in interesting[-3:])[:240]


def unknown_name(text):
    """The function, method or setting that a refused script wants."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    if match := re.search(r"\n([^\n]*)\n( *)\^+\nError (?:4: Undefined variable|5: this value has no method `)", text):
        line, indent = match.groups()
        # The whole path, from where the caret begins: input.http, settings.server.telnet.
        if path := re.match(r"[\w.]*\w", line[len(indent):]):
            return path.group(0)
    if match := re.search(r"^Error (6|12): ([^\n]*)", text, re.M):
        return match.group(2)
    if match := re.search(r"^Error 3: (Unknown type constructor: [^\n]*)", text, re.M):
        return match.group(1)
    return ""


def judge_run(result, timeout):
    code, out, err = result
    if code is None:
        return "failed", f"still running after {timeout:g} s", ""
    if code == 0:
        return "passed", "", ""
    if code == SKIPPED:
        return "skipped", "", ""
    return "failed", f"exit {code}: " + reason(out, err), unknown_name(out + err)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "build/release/castile")
    parser.add_argument("--only", action="append", metavar="PATH", help="a folder or a script of the checkout, such as tests/language; may be given several times")
    parser.add_argument("--filter", default="", help="only scripts whose name contains this")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--timeout", type=float, default=60, help="seconds for each script (60)")
    parser.add_argument("--memory", type=int, default=6000, help="MiB of address space for each script (6000)")
    parser.add_argument("--list-missing", action="store_true", help="count the unknown names that hold scripts back")
    parser.add_argument("--failed", action="store_true", help="print only what failed, and the totals")
    parser.add_argument("--keep", type=pathlib.Path, help="use this folder as the scratch folder and leave it")
    options = parser.parse_args()
    if not (options.checkout / "tests/test.liq").exists():
        parser.error(f"{options.checkout} is no checkout of Liquidsoap: there is no tests/test.liq")
    if not options.binary.exists():
        parser.error(f"there is no program {options.binary}")
    with tempfile.TemporaryDirectory(prefix="upstream-suite-") as temporary:
        scratch = options.keep.resolve() if options.keep else pathlib.Path(temporary)
        scratch.mkdir(exist_ok=True)
        sys.exit(1 if run(options, Suite(options, scratch)) else 0)


def run(options, suite):
    tests = []
    for name in options.only or FOLDERS:
        found = [t for t in suite.tests(name.rstrip("/")) if options.filter in t[0]]
        if not found:
            sys.exit(f"There is no test in {name}.")
        tests += found
    totals, missing = collections.defaultdict(collections.Counter), collections.Counter()

    def timed(test):
        begin = time.monotonic()
        state, why, unknown = test[1]()
        return Result(state, why, time.monotonic() - begin, unknown)

    with ThreadPoolExecutor(options.jobs) as pool:
        for (name, _), result in zip(tests, pool.map(timed, tests)):
            totals[os.path.dirname(name)][result.state] += 1
            if result.state == "failed" or not options.failed:
                print(f"{result.state if result.state != 'failed' else 'FAILED':8}{name}  {result.seconds:.1f} s" + (f"  {result.why}" if result.why else ""), flush=True)
            if result.unknown:
                missing[result.unknown] += 1
    print()
    for folder, states in totals.items():
        print(f"{folder}: {states['passed']} passed, {states['failed']} failed, {states['skipped']} skipped")
    if options.list_missing:
        print("\nnames that hold scripts back:")
        for name, count in missing.most_common():
            print(f"{count:5}  {name}")
    return sum(states["failed"] for states in totals.values())


if __name__ == "__main__":
    main()
