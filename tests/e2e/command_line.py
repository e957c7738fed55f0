"""The command line: what is printed, exit codes, signals, the background."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

CASTILE = pathlib.Path(sys.argv[1]).resolve()
failed = 0


def check(name, condition, shown=""):
    global failed
    if not condition:
        failed += 1
        print(f"FAILED {name}: {shown}")


def run(*arguments, stdin="", timeout=20):
    done = subprocess.run([str(CASTILE), *arguments], input=stdin, capture_output=True, text=True, timeout=timeout)
    return done.returncode, done.stdout, done.stderr


def wait_for(condition, seconds=10):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


def text_of(path):
    return path.read_text() if path.exists() else ""


def answers():
    code, out, _ = run("--version")
    check("version", code == 0 and out.startswith("Liquidsoap 2.5"), out)
    code, out, _ = run("-h", "list.map")
    check("help of a function", code == 0 and "Type: " in out and "Category: List" in out, out)
    code, _, err = run("-h", "no.such.function")
    check("help of no function", code == 1 and len(err.splitlines()) == 1, err)
    code, out, _ = run("--list-functions-json")
    check("functions as JSON", code == 0 and '"list.map"' in out, out[:200])
    code, out, _ = run("--list-settings")
    check("settings", code == 0 and "settings.log.level := 3" in out, out[:200])
    code, out, _ = run("--check-lib")
    check("declarations", code == 0, out)


def scripts():
    code, out, err = run("print(1 + 2)")
    check("expression", code == 1 and out == "3\nNo output defined, nothing to do.\n", out + err)
    code, out, _ = run("-", stdin="print(\"from stdin\") shutdown(code=3)")
    check("standard input", code == 3 and out == "from stdin\n", out)
    code, out, _ = run("--check", "print(1)")
    check("check runs nothing", code == 0 and out == "", out)
    code, _, err = run("--no-such-option")
    check("unknown option", code == 2 and len(err.splitlines()) == 1 and "--no-such-option" in err, err)
    code, _, err = run("/no/such/script.liq")
    check("unreadable script", code == 1 and len(err.splitlines()) == 1, err)
    code, out, _ = run("x = 1", "print(x + 1) shutdown()")
    check("two scripts", code == 0 and out == "2\n", out)
    code, out, _ = run("print(argv(1)) print(getopt(default=\"none\", \"--name\")) shutdown()", "--", "first", "--name=n")
    check("arguments of the script", out == "first\nn\n", out)
    code, out, _ = run("--strict", "--check", "def f() = unused = 1 2 end print(f())")
    check("strict", code == 1, out)
    code, out, _ = run("--interactive", stdin="x = 3\nx + 1\n")
    check("interactive", "x : int = 3" in out and "- : int = 4" in out and code == 0, out)


def early_log():
    code, out, err = run('log.important("said early") list.hd([])')
    check("what a script said before it failed", code == 1 and "[lang:3] said early" in out and "Error 14" in err, out + err)
    code, out, _ = run("-q", 'log.important("said early") list.hd([])')
    check("unless told to be quiet", code == 1 and out == "", out)


def lists():
    for option, wanted in (("--list-plugins", "# Formats\n\n- %aac"), ("--list-extra-functions-md", "`audioscrobbler.submit`"), ("--list-functions-md", "`list.map`"),
                           ("--list-functions-by-category", "# List\n\n- "), ("--list-protocols-md", "### annotate"),
                           ("--list-deprecated-functions-md", "**Deprecated.**")):
        code, out, _ = run(option)
        check(option, code == 0 and wanted in out, out[:300])
    for option in ("--list-plugin", "-Z", "--dump-delay=x", "--dump-delay", "-r"):
        code, _, err = run(option)
        check("refused " + option, code == 2 and len(err.splitlines()) == 1, err)
    script = 'output.dummy(id="end", sine(id="tone"))'
    code, out, _ = run("--describe-sources", script)
    check("sources", code == 0 and out.startswith("Sources dump:") and "tone" in out, out)
    code, out, _ = run("--describe-clocks", "--dump-delay", "0.05", script)
    check("clocks", code == 0 and out.startswith("Clocks dump:") and "end" in out, out)


def requests():
    code, out, err = run("-r", 'annotate:title="A title":synth:shape=saw,duration=2')
    check("a request", code == 0 and "title = A title\n" in out and out.endswith("duration = 2.00 s\n"), out + err)
    code, out, err = run('protocol.add("mine", fun (~rlog, ~maxtime, arg) -> begin ignore(rlog) ignore(maxtime) null("synth:d=#{arg}") end)', "--request", "mine:3")
    check("a request of a script's protocol", code == 0 and out.endswith("duration = 3.00 s\n"), out + err)
    code, out, err = run("-r", "/no/such/file.mp3")
    check("a request that leads nowhere", code == 2 and len(err.splitlines()) == 1, err)


def signals():
    script = 'on_shutdown(fun () -> print("closing")) output.dummy(sine()) print("running")'
    running = subprocess.Popen([str(CASTILE), "-q", script], stdout=subprocess.PIPE, text=True)
    running.stdout.readline()
    time.sleep(0.3)
    begin = time.monotonic()
    running.send_signal(signal.SIGTERM)
    out, _ = running.communicate(timeout=10)
    check("SIGTERM", running.returncode == 0 and out == "closing\n" and time.monotonic() - begin < 2, f"{running.returncode} {out}")


def background():
    with tempfile.TemporaryDirectory() as folder:
        pid_file, log = pathlib.Path(folder, "pid"), pathlib.Path(folder, "log")
        settings = f'settings.init.daemon.pidfile.path := "{pid_file}" settings.log.file := true settings.log.file.path := "{log}" log("starting") output.dummy(sine())'
        for name, arguments in [("--daemon", ["--daemon", settings]), ("settings.init.daemon", ["settings.init.daemon := true " + settings])]:
            code, out, err = run(*arguments)
            check(name, code == 0 and wait_for(lambda: text_of(pid_file)), err)
            pid = int(pid_file.read_text())
            check(name + " log", wait_for(lambda: "[lang:3] starting" in text_of(log)), text_of(log))
            log.rename(folder + "/old")
            os.kill(pid, signal.SIGUSR1)
            os.kill(pid, signal.SIGTERM)
            check(name + " end", wait_for(lambda: not pid_file.exists()), "the PID file is still there")
            check(name + " log reopened", wait_for(log.exists), "there is no new log file")
        code, _, err = run("--daemon", "print(unknown)")
        check("error in the background", code == 1 and "Error 4" in err, err)


for part in (answers, scripts, lists, requests, early_log, signals, background):
    part()
print("1 failed" if failed else "all passed")
sys.exit(1 if failed else 0)
