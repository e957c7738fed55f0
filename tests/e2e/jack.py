"""input.jack, output.jack and jack.server against a real jackd with the dummy driver.

Nothing here depends on how fast the machine is: what is heard is held against what the engine counted as late or lost.
"""

import ctypes
import math
import os
import pathlib
import shutil
import struct
import subprocess
import sys

from support import Castile, Process, Suite, free_port, http_get, make_audio, wait_until

suite = Suite()
numbers = iter(range(1000))
RATE = 44100


class Jackd(Process):
    """A JACK server of our own, with the dummy driver."""

    def __init__(self, name=None, rate=48000, period=512):
        self.name = name or f"castile-test-{os.getpid()}-{next(numbers)}"
        super().__init__(["jackd", "-n", self.name, "--no-realtime", "--no-mlock", "--sync", "--timeout", "5000", "--port-max", "128", "-d", "dummy", "-r", str(rate), "-p", str(period),
                          "-C", "2", "-P", "2"], env={**os.environ, "JACK_NO_AUDIO_RESERVATION": "1"})
        self.ready = bool(wait_until(lambda: self.process.poll() is not None or self.ask("ports"), 15)) and self.process.poll() is None

    def stop(self, timeout=10):
        code = super().stop(timeout)
        for left in pathlib.Path("/dev/shm").glob(f"jack*{self.name}*"):   # of clients that it did not see end
            left.unlink(missing_ok=True)
        return code

    def ask(self, *words):
        """What ask() prints in a process of its own; "" when it cannot."""
        done = subprocess.run([sys.executable, __file__, "--ask", self.name, *words], capture_output=True, text=True, timeout=20, stdin=subprocess.DEVNULL)
        return done.stdout if done.returncode == 0 else ""

    def peers(self, port):
        return self.ask("peers", port).split("\n")[:-1]


def ask(server, *words):
    """ports | peers PORT | connect OUTPUT INPUT: a client of libjack, since not every system has JACK's own tools."""
    jack = ctypes.CDLL("libjack.so.0")
    for name, result in (("client_open", ctypes.c_void_p), ("get_ports", ctypes.POINTER(ctypes.c_char_p)), ("port_by_name", ctypes.c_void_p),
                         ("port_get_all_connections", ctypes.POINTER(ctypes.c_char_p))):
        getattr(jack, "jack_" + name).restype = result
    no_start, by_name = 1, 4
    client = jack.jack_client_open(b"ask", no_start | by_name, ctypes.byref(ctypes.c_int()), server.encode())
    if not client:
        return 1
    client = ctypes.c_void_p(client)
    found = None
    if words[0] == "connect":
        done = jack.jack_connect(client, words[1].encode(), words[2].encode()) == 0
    else:
        if words[0] == "peers":
            port = jack.jack_port_by_name(client, words[1].encode())
            found = jack.jack_port_get_all_connections(client, ctypes.c_void_p(port)) if port else None
        else:
            found = jack.jack_get_ports(client, None, None, ctypes.c_ulong(0))
        done = True
    names = []
    while found and found[len(names)]:
        names.append(found[len(names)].decode())
    jack.jack_client_close(client)
    print("".join(name + "\n" for name in names), end="")
    if words[0] == "connect" and done:
        print("done")
    return 0 if done else 1


def samples(path):
    """Channels of a 16-bit WAV that may still be written."""
    data = path.read_bytes()
    at = data.find(b"data")
    body = data[at + 8:]
    values = struct.unpack(f"<{len(body) // 2}h", body[:len(body) // 2 * 2])
    return values[0::2], values[1::2]


def level(values, frequency, rate=RATE):
    """Amplitude of one frequency, 1 being full scale (Goertzel with a Hann window)."""
    n = len(values)
    if n < 100:
        return 0.0
    re = im = 0.0
    for i, value in enumerate(values):
        window = 1 - math.cos(2 * math.pi * (i + 0.5) / n)
        phase = 2 * math.pi * frequency * i / rate
        re += value * window * math.cos(phase)
        im -= value * window * math.sin(phase)
    return 2 * math.hypot(re, im) / n / 32768


def breaks(values, frequency, rate=RATE, slack=12):
    """Where a sine does not go on: x[n] = 2 cos(w) x[n-1] - x[n-2]. Neighbours count as one."""
    factor, found, last = 2 * math.cos(2 * math.pi * frequency / rate), [], -10**9
    for i in range(2, len(values)):
        if abs(values[i] - factor * values[i - 1] + values[i - 2]) > slack:
            if i - last > 200:
                found.append(i)
            last = i
    return found


def first_sound(values):
    return next((i for i, value in enumerate(values) if abs(value) > 300), len(values))


def page(port):
    """name{labels} -> value."""
    found = {}
    for line in http_get(f"http://127.0.0.1:{port}/metrics")[2].decode().splitlines():
        if not line.startswith("#"):
            key, _, value = line.rpartition(" ")
            found[key] = float(value)
    return found


def total(figures, name):
    return sum(value for key, value in figures.items() if key.startswith(name + "{") or key == name)


LOOP = """
settings.prometheus.server := true
settings.prometheus.server.port := {port}
settings.log.level := 4
tone = sine(440., amplitude=0.5)
out = output.jack(id="out", server="{server}", tone)
output.file(id="beside", %wav(header=false), "beside.raw", tone)
back = input.jack(id="back", server="{server}")
out.connect(back)
output.file(id="record", %wav, "record.wav", back)
"""


def heard(t, what, left, right, late):
    """One tone, in both channels, at its level; as many breaks as the engine says there were late periods."""
    begin = first_sound(left)
    left, right = left[begin + 2000:], right[begin + 2000:]
    if not t.check(f"{what}: something is heard", len(left) > RATE, len(left)):
        return
    part = left[:RATE]
    t.check(f"{what}: the same in both channels", left[:RATE] == right[:RATE])
    found = breaks(left[:5 * RATE // 2], 440)
    t.check(f"{what}: the tone goes on", len(found) <= late, f"{found[:10]}, late {late}")
    if not found:
        t.check(f"{what}: its level", abs(level(part, 440) - 0.5) < 0.01, level(part, 440))
        t.check(f"{what}: nothing else", max(level(part, f) for f in (50, 220, 880, 1320, 5000, 12000)) < 0.001)


@suite.test
def there_and_back(t):
    """sine, output.jack, input.jack, output.file: at another rate, and at the same."""
    for rate, period in ((48000, 512), (44100, 441), (44100, 1024)):
        what, port = f"{rate} Hz, {period}", free_port()
        folder = t.folder / f"{rate}-{period}"
        folder.mkdir()
        with Jackd(rate=rate, period=period) as jackd:
            t.check(f"{what}: jackd", jackd.ready, jackd.text)
            with Castile(t.binary, LOOP.format(port=port, server=jackd.name), folder=folder) as radio:
                record = folder / "record.wav"
                t.check(f"{what}: connects", radio.wait_log("out is connected to", 10) and radio.wait_log("back is connected to", 10), radio.text)
                t.check(f"{what}: paced by JACK", radio.wait_log(r"\[clock.*elf-sync mode \(jack\(" + jackd.name, 10, times=2), radio.text)
                wait_until(lambda: record.exists() and first_sound(samples(record)[0]) < len(samples(record)[0]) - 3 * RATE, 40, interval=0.5)
                figures = page(port)
                late = sum(total(figures, f"castile_jack_{kind}_total") for kind in ("missing_samples", "dropped_samples", "xruns"))
                if rate != RATE:
                    t.check(f"{what}: says so", radio.count(f"{rate} Hz, {period} samples a period; converted from and to 44100 Hz") == 2)
                t.check(f"{what}: figures", total(figures, "castile_jack_connected") == 2 and total(figures, "castile_jack_connections_total") == 2
                        and total(figures, "castile_jack_sample_rate_hertz") == 2 * rate and total(figures, "castile_jack_period_samples") == 2 * period)
                t.check(f"{what}: clocks follow a device", total(figures, "castile_clock_self_sync") == 2)
                t.check(f"{what}: what the kernel gives to clocks", sum('kernel="' in key and 'kernel=""' not in key for key in figures if key.startswith("castile_clock_info{")) == 2)
                t.check(f"{what}: output connected", any("castile_output_connected" in key and 'output="out"' in key and value == 1 for key, value in figures.items()))
                t.check(f"{what}: ends", radio.stop() == 0, radio.text[-2000:])
            # Each hole breaks the tone twice; each late or lost sample, and each late period, may be a hole of its own.
            heard(t, what, *samples(record), late=2 * late)


@suite.test
def server_dies(t):
    """kill -9, then a new server of that name: the sound comes back by itself, and what else runs is not held up."""
    port = free_port()
    jackd = Jackd()
    try:
        with Castile(t.binary, LOOP.format(port=port, server=jackd.name), folder=t.folder) as radio:
            record, beside = t.folder / "record.wav", t.folder / "beside.raw"
            seconds = lambda path: path.stat().st_size / 4 / RATE if path.exists() else 0  # noqa: E731
            t.check("sound", wait_until(lambda: record.exists() and first_sound(samples(record)[0]) < len(samples(record)[0]) - RATE, 20))
            # A connection by hand is made again as well.
            t.check("by hand", jackd.ask("connect", "out:out_0", "system:playback_2") == "done\n")
            for round_number in (1, 2):
                jackd.kill()
                t.check(f"{round_number}: notices", radio.wait_log("is gone", 10, times=round_number), radio.text)
                t.check(f"{round_number}: the computer's clock", radio.wait_log("non-self-sync mode", 10, times=2 * round_number), radio.text)
                before, silent = seconds(beside), seconds(record)
                t.check(f"{round_number}: the file beside goes on", wait_until(lambda: seconds(beside) > before + 2, 10), (before, seconds(beside)))
                t.check(f"{round_number}: so does the record", wait_until(lambda: seconds(record) > silent + 1, 10))
                left = samples(record)[0]
                t.check(f"{round_number}: which is silent", max(map(abs, left[-RATE // 4:])) < 50, max(map(abs, left[-RATE // 4:])))
                if round_number == 1:
                    figures = page(port)
                    t.check("told as not connected", total(figures, "castile_jack_connected") == 0)
                jackd = Jackd(jackd.name)
                t.check(f"{round_number}: new server", jackd.ready, jackd.text)
                t.check(f"{round_number}: connects again", radio.wait_log("(out|back) is connected to", 15, times=2 * round_number + 2), radio.text)
                t.check(f"{round_number}: sound again", wait_until(lambda: level(samples(record)[0][-RATE // 4:], 440) > 0.4, 15))
                t.check(f"{round_number}: by hand, too", wait_until(lambda: "system:playback_2" in jackd.peers("out:out_0"), 10), jackd.peers("out:out_0"))
            t.check("file beside is one tone", not breaks(samples_of_raw(beside), 440))
            jackd.stop()   # in good order, this time
            t.check("notices an end in good order", radio.wait_log("is gone", 10, times=3), radio.text)
            t.check("ends", radio.stop() == 0, radio.text[-2000:])
    finally:
        jackd.stop()


def samples_of_raw(path):
    data = path.read_bytes()
    data = data[:len(data) // 4 * 4]
    return struct.unpack(f"<{len(data) // 2}h", data)[0::2]


@suite.test
def no_server_yet(t):
    """A script starts without a server, says so once, and finds it when it comes."""
    name = f"castile-test-{os.getpid()}-late"
    song = make_audio(t.folder / "song.wav", seconds=60, frequency=440)
    text = f"""
out = output.jack(id="out", fallible=true, server="{name}", single("{song}"))
out.on_start(fun () -> print("started #{{out.is_started()}}"))
live = input.jack(id="live", fallible=true, server="{name}")
output.file(id="mixed", %wav(header=false), "mixed.raw", fallback(track_sensitive=false, [live, sine(660.)]))
"""
    with Castile(t.binary, text, folder=t.folder) as radio:
        t.check("says so", radio.wait_log(f'out: Cannot connect to the JACK server "{name}": it does not run', 10), radio.text)
        t.check("runs all the same", radio.wait_log("started true", 10))
        mixed = t.folder / "mixed.raw"
        t.check("the fallback is heard", wait_until(lambda: mixed.exists() and mixed.stat().st_size > 4 * RATE, 10))
        t.check("once", radio.count("out: Cannot connect") == 1)
        with Jackd(name) as jackd:
            t.check("jackd", jackd.ready, jackd.text)
            t.check("finds it", radio.wait_log("out is connected to", 15) and radio.wait_log("live is connected to", 15), radio.text)
            t.check("the live source takes over", wait_until(lambda: max(map(abs, samples_of_raw(mixed)[-2000:])) < 50, 15))
        t.check("falls back again", wait_until(lambda: level(samples_of_raw(mixed)[-RATE // 10:], 660) > 0.5, 15))
        t.check("ends", radio.stop() == 0, radio.text[-2000:])


@suite.test
def functions(t):
    """jack.server.*, ports, connections."""
    with Jackd(rate=48000, period=256) as jackd:
        t.check("jackd", jackd.ready, jackd.text)
        text = f"""
name = "{jackd.name}"
print("rate #{{jack.server.sample_rate(server=name)}} size #{{jack.server.buffer_size(server=name)}}")
settings.frame.audio.samplerate := jack.server.sample_rate(server=name)
print("in #{{jack.server.get_input_ports(server=name, flags=["is_physical"])}}")
print("out #{{jack.server.get_output_ports(server=name, pattern="capture_1")}}")
print("midi #{{jack.server.get_output_ports(server=name, type="midi")}}")
def refused(f) =
  try
    f()
    print("not refused")
  catch error do
    print("refused: #{{error.kind}} #{{error.message}}")
  end
end
refused({{ignore(jack.server.sample_rate(server="castile-no-such-server"))}})
refused({{ignore(jack.server.get_input_ports(server=name, type="video"))}})
refused({{ignore(jack.server.get_input_ports(server=name, flags=["is_red"]))}})
out = output.jack(id="out", server=name, mean(sine()))
two = output.jack(id="two", server=name, sine())
three = input.jack(id="three", server=name)
jack.server.playback(server=name).connect(out)
two.connect(jack.server.playback(server=name))
jack.server.capture(server=name).connect(three)
output.dummy(three)
six = input.jack(id="six", server=name)
output.file(%wav(channels=6), "six.wav", six)
two.connect(six)
thread.run(delay=0.5, every=0.5, fun () -> if out.ports() != [] and three.ports() != [] then
  let [o] = out.ports()
  let [i, ...rest] = three.ports()
  o.connect(i)
  jack.server.connect(server=name, list.hd(rest), o)
  print("by hand #{{o.name}} #{{i.name}}")
end)
"""
        with Castile(t.binary, text, folder=t.folder) as radio:
            t.check("runs", radio.wait_log("refused: .*is_red", 10), radio.text)
            t.check("server", radio.count("^rate 48000 size 256") == 1, radio.text)
            t.check("input ports", radio.count(r"^in \[system:playback_1, system:playback_2\]") == 1, radio.text)
            t.check("output ports", radio.count(r"^out \[system:capture_1\]") == 1)
            t.check("midi ports", radio.count(r"^midi \[") == 1)
            t.check("no such server", radio.count('^refused: jack Cannot connect to the JACK server "castile-no-such-server"') == 1, radio.text)
            t.check("bad arguments", radio.count("^refused: jack .*audio. or .midi") == 1 and radio.count("^refused: jack .*is_red") == 1)
            t.check("counts that do not match", radio.wait_log("two: 2 outputs and 6 inputs cannot be connected", 15), radio.text)
            t.check("by hand", radio.wait_log("^by hand out:out_0 three:three_0", 15), radio.text)
            peers = jackd.peers
            t.check("one to both", wait_until(lambda: {"system:playback_1", "system:playback_2"} <= set(peers("out:out_0")), 10), jackd.ask("ports"))
            t.check("and by hand", {"three:three_0", "three:three_1"} <= set(peers("out:out_0")), peers("out:out_0"))
            t.check("in order", wait_until(lambda: peers("two:two_0") == ["system:playback_1"] and peers("two:two_1") == ["system:playback_2"], 10), jackd.ask("ports"))
            t.check("captured", wait_until(lambda: "system:capture_2" in peers("three:three_1"), 10), jackd.ask("ports"))
            t.check("ends", radio.stop() == 0, radio.text[-2000:])
        t.check("and leaves nothing", wait_until(lambda: "out:" not in jackd.ask("ports") and "three:" not in jackd.ask("ports"), 10), jackd.ask("ports"))


@suite.test
def another_pace(t):
    """self_sync=false, and a clock that the script ties to the computer's: never a wait, sound all the same; starting and stopping."""
    with Jackd() as jackd:
        t.check("jackd", jackd.ready, jackd.text)
        text = f"""
settings.server.socket := false
a = output.jack(id="a", server="{jackd.name}", self_sync=false, sine(440.))
b = input.jack(id="b", server="{jackd.name}", self_sync=false)
a.connect(b)
b.on_start(fun () -> print("b starts"))
b.on_stop(fun () -> print("b stops"))
output.file(%wav(header=false), "b.raw", b)
c = output.jack(id="c", server="{jackd.name}", sine(440.))
clock.assign_new(sync="cpu", [sine()])
thread.run(delay=3., fun () -> b.stop())
thread.run(delay=4., fun () -> begin print("b #{{b.is_started()}}") b.start() end)
"""
        with Castile(t.binary, text, folder=t.folder) as radio:
            raw = t.folder / "b.raw"
            t.check("connects", radio.wait_log("c is connected to", 10), radio.text)
            t.check("heard", wait_until(lambda: raw.exists() and level(samples_of_raw(raw)[-RATE // 4:], 440) > 0.2, 10))
            t.check("one clock follows JACK", radio.wait_log(r"elf-sync mode \(jack", 10) and radio.count(r"elf-sync mode \(jack") == 1, radio.text)
            t.check("starts", radio.count("^b starts") == 1)
            t.check("stops", radio.wait_log("^b stops", 10) and radio.wait_log("^b false", 10), radio.text)
            t.check("starts again", radio.wait_log("^b starts", 10, times=2), radio.text)
            t.check("heard again", wait_until(lambda: level(samples_of_raw(raw)[-RATE // 4:], 440) > 0.2, 10))
            t.check("ends", radio.stop() == 0, radio.text[-2000:])


@suite.test
def server_stands_still(t):
    """A server that stops in the middle (SIGSTOP) holds nobody up for long."""
    import signal
    with Jackd() as jackd:
        t.check("jackd", jackd.ready, jackd.text)
        port = free_port()
        with Castile(t.binary, LOOP.format(port=port, server=jackd.name), folder=t.folder) as radio:
            beside = t.folder / "beside.raw"
            t.check("paced by JACK", radio.wait_log(r"elf-sync mode \(jack", 10, times=2), radio.text)
            os.kill(jackd.pid, signal.SIGSTOP)
            try:
                t.check("the computer's clock", radio.wait_log("non-self-sync mode", 10, times=2), radio.text)
                before = beside.stat().st_size
                t.check("the file beside goes on", wait_until(lambda: beside.stat().st_size > before + 4 * RATE, 10))
            finally:
                os.kill(jackd.pid, signal.SIGCONT)
            t.check("the late periods are counted", wait_until(lambda: total(page(port), "castile_jack_xruns_total") > 0, 15))
            t.check("JACK's again", radio.wait_log(r"elf-sync mode \(jack", 15, times=4), radio.text)
            t.check("ends", radio.stop() == 0, radio.text[-2000:])


if sys.argv[1:2] == ["--ask"]:
    sys.exit(ask(*sys.argv[2:]))
if not shutil.which("jackd"):
    print("skipped: there is no jackd here (Debian: jackd2)")
    sys.exit(0)
suite.main()
