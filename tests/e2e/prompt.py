#!/usr/bin/env python3
"""castile --interactive at a terminal and at a pipe: prompt.py BINARY."""
import os
import pathlib
import pty
import select
import signal
import subprocess
import sys
import tempfile
import time

BINARY = str(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/release/castile").resolve())
passed, failed = 0, []


def check(name, good, detail=""):
    global passed
    if good:
        passed += 1
    else:
        failed.append(name)
        print(f"FAILED: {name}: {str(detail)[-1500:]}")


def piped(text):
    done = subprocess.run([BINARY, "--interactive", "-q"], input=text, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout


class Terminal:
    """A session at a pseudo-terminal."""

    def __init__(self, home):
        self.text = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update({"HOME": home, "TERM": "vt100", "XDG_STATE_HOME": home + "/state"})
            os.execv(BINARY, [BINARY, "--interactive", "-q"])
        self.expect("# ")

    def expect(self, wanted, seconds=20):
        end = time.monotonic() + seconds
        while wanted not in self.text:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.fd], [], [], left)[0]:
                return False
            try:
                self.text += os.read(self.fd, 4096).decode(errors="replace")
            except OSError:
                return wanted in self.text
        self.text = self.text.partition(wanted)[2]
        return True

    def type(self, text):
        os.write(self.fd, text.encode())

    def end(self, seconds=30):
        """Ctrl-D, again when it came before the prompt did; the exit code."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                self.type("\x04")
            except OSError:
                pass
            self.expect("\0never", 0.3)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                os.close(self.fd)
                return os.waitstatus_to_exitcode(status)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        return None


def pipes():
    code, out = piped("x = 3\nx + 1\n")
    check("a definition and a value", "x : int = 3\n" in out and "- : int = 4\n" in out and code == 0, out)
    code, out = piped("def f(x) =\n  x + 1\nend\nlist.map(f,\n  [1, 2])\n")
    check("what goes over several lines", "f : (int) -> int = " in out and "- : [int] = [2, 3]\n" in out, out)
    code, out = piped("a = 1; b = 2;;\na + b;;\n")
    check("ended by ;;", "a : int = 1\n" in out and "b : int = 2\n" in out and "- : int = 3\n" in out, out)
    code, out = piped("let (a, [b, ...c]) = (1, [\"x\", \"y\"])\n")
    check("a pattern", "a : int = 1\n" in out and 'b : string = "x"\n' in out and 'c : [string] = ["y"]\n' in out, out)
    code, out = piped("\"a\" + 1\nnothing\nlist.hd(default=1, [])\nx = 2\n1 / 0\nx\n")
    check("errors keep the session", out.count("Error") >= 2 and "x : int = 2\n" in out and "- : int = 2\n" in out and code == 0, out)
    code, out = piped("f(\n;;\ny = 1\n")
    check("what is broken can be ended", "Error 2" in out and "y : int = 1\n" in out, out)
    code, out = piped("f(\n\n\ny = 1\n")
    check("by empty lines too", "Error 2" in out and "y : int = 1\n" in out, out)
    code, out = piped("\"open\nz = 1\n")
    check("the end of the input shows what is open", "not terminated" in out, out)
    code, out = piped("shutdown(code=4)\n")
    check("shutdown", code == 4, out)


def terminal():
    with tempfile.TemporaryDirectory() as home:
        t = Terminal(home)
        t.type("station = {name = \"r\", port = 8}\n")
        check("a value at a terminal", t.expect("station : {"), t.text)
        t.type("station.na\t\n")
        check("a method is completed", t.expect('- : string = "r"'), t.text)
        t.type("string.capi\t")
        check("a name of the library is completed", t.expect("talize"), t.text)
        t.type("(\"x\")\n")
        check("and can be called", t.expect('- : string = "X"'), t.text)
        t.type("def g() =\n")
        t.type("7 end\n")
        check("over two lines", t.expect("g : () -> int = "), t.text)
        with tempfile.NamedTemporaryFile(suffix=".wav") as out:
            t.type(f'output.file(%wav, fallible=true, "{out.name}", sine())\n')
            check("a stream runs", wait(lambda: os.path.getsize(out.name) > 20_000), t.text)
        check("the end", t.end() == 0)
        history = pathlib.Path(home, "state/castile/history")
        check("history is kept, for its owner alone", history.exists() and history.stat().st_mode & 0o077 == 0)
        t = Terminal(home)
        t.type("\x1b[A\x1b[A\x1b[A\x1b[A\n")
        check("and comes back", t.expect('- : string = "X"') or t.expect(" = "), t.text)
        t.end()


def wait(condition, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


pipes()
terminal()
print(f"{passed} passed, {len(failed)} failed")
sys.exit(1 if failed else 0)
