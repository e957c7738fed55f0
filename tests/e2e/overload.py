"""Clocks under abuse: more work than the machine can do, and a process that was stopped. Who suffers, who is told, who answers."""

import os
import re
import signal
import statistics
import time

from support import Castile, Suite, free_port, http_get, wait_until

suite = Suite()

# A clock that uses so many milliseconds of a processor for each frame of 20 ms.
BUSY = """
def busy(milliseconds) =
  def burn() =
    since = time()
    while time() - since < milliseconds / 1000. do () end
  end
  burn
end
def stream(name, milliseconds, priority) =
  s = sine(id="tone_#{name}")
  s.on_frame(synchronous=true, busy(milliseconds))
  output.dummy(id=name, s)
  ignore(clock(priority=priority, s.clock))
end
"""


def http_script(port):
    return f"""
harbor.http.register.simple(port={port}, "/stats", fun (_) ->
  http.response(data=json.stringify(scheduler.stats())))
harbor.http.register.simple(port={port}, "/hello", fun (_) -> http.response(data="hello"))
"""


def answers(port, seconds):
    """Seconds that each answer of the engine took, asked again and again for a while."""
    took, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        begin = time.monotonic()
        status, _, _ = http_get(f"http://127.0.0.1:{port}/hello", timeout=5)
        took.append(time.monotonic() - begin if status == 200 else 9.0)
        time.sleep(0.05)
    return took


@suite.test
def three_times_the_machine(t):
    port, cores = free_port(), os.cpu_count()
    script = BUSY + http_script(port) + f"for i = 1 to {6 * cores} do stream('c#{{i}}', 10., 0) end"
    script = script.replace("'", '"')
    with Castile(t.binary, script, t.folder) as radio:
        t.check("says that it is late", radio.wait_log("must catchup", 20), radio.text)
        took = answers(port, 5)
        t.check("answers", statistics.median(took) < 0.2, took)
        t.check("answers always", max(took) < 1, max(took))
        begin = time.monotonic()
        radio.process.send_signal(signal.SIGTERM)
        t.check("hears the signal", radio.wait_log("Shutdown signal received", 2))
        t.check("hears it at once", time.monotonic() - begin < 0.5, time.monotonic() - begin)
        t.check("ends", wait_until(lambda: radio.process.poll() is not None, 3) is not None)
        lines = radio.count("must catchup")
        t.check("says little", lines < 60, lines)


@suite.test
def who_suffers(t):
    port, cores = free_port(), os.cpu_count()
    # The higher priority asks for an eighth of the machine (others may use it, too), the lower for 1.5 times all of it.
    script = BUSY + http_script(port) + f"""
for i = 1 to {6 * cores} do stream("low#{{i}}", 5., 0) end
for i = 1 to {cores} do stream("high#{{i}}", 2.5, 1) end
"""
    with Castile(t.binary, script, t.folder) as radio:
        t.check("some are late", radio.wait_log(r"\[clock.low\d+:2\] .*must catchup", 30), radio.text[-2000:])
        time.sleep(5)
        t.check("none of the higher priority is", radio.count(r"\[clock.high\d+:2\]") <= 1, radio.text[-3000:])


def paused(t, settings, seconds=3):
    script = settings + """
for i = 1 to 20 do output.dummy(id="out#{i}", sine()) end
thread.run(every=0.5, { print("ticks #{list.fold((fun (n, c) -> n + c.ticks()), 0, clock.active())}") })
print("READY")
"""
    with Castile(t.binary, script, t.folder) as radio:
        t.check("runs", radio.wait_log("READY", 10) and radio.wait_log("ticks", 10), radio.text)
        time.sleep(1)
        radio.process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        lines = len(radio.lines)
        radio.process.send_signal(signal.SIGCONT)
        time.sleep(2.5)
        told = [line for line in radio.lines[lines:] if "ticks" not in line]
        t.check("few lines", len(told) <= 10, "\n".join(told))
        counts = [int(x) for x in re.findall(r"ticks (\d+)", radio.text)]
        t.check("goes on", counts[-1] > counts[-2], counts)
        return told, counts


@suite.test
def a_pause_is_not_made_up_for(t):
    for animator in ("true", "false"):
        told, counts = paused(t, f"settings.clock.task := {animator}")
        t.check(f"{animator}: says so", any("did not run for" in line for line in told), told)
        t.check(f"{animator}: no catch-up", not any("catchup" in line for line in told), told)
        t.check(f"{animator}: no time is made up for", counts[-1] - counts[0] < 20 * 50 * 6, counts)


@suite.test
def a_pause_is_made_up_for_when_asked(t):
    told, counts = paused(t, 'settings.clock.after_pause := "catchup"')
    t.check("catches up", any("must catchup" in line for line in told), told)
    t.check("the time is made up for", counts[-1] - counts[0] > 20 * 50 * 6, counts)


suite.main()
