"""Busy loops beside what is measured, the classes of the kernel, and what the machine did meanwhile."""
import subprocess
import sys

# word -> (title, class of the server or the only thread, class of clients)
CLASSES = {
    "normal": ("SCHED_NORMAL", "normal", "normal"),
    "nice": ("nice -20", "nice:-20", "nice:-20"),
    "slice": ("slice 0.1 ms", "slice:0.1", "slice:0.1"),
    "iso": ("SCHED_ISO", "iso:0", "iso:1"),
    "fifo": ("SCHED_FIFO", "fifo:20", "fifo:15"),
    "rr": ("SCHED_RR", "rr:20", "rr:15"),
}


class Hogs:
    """Busy loops, each a process."""

    def __init__(self, count):
        self.count, self.processes = count, []

    def __enter__(self):
        self.processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"], stdin=subprocess.DEVNULL) for _ in range(self.count)]
        return self

    def __exit__(self, *_):
        for one in self.processes:
            one.kill()
            one.wait()


def counters():
    """Of /proc/stat: ticks of all processors by kind, interrupts, context switches."""
    found = {}
    with open("/proc/stat", encoding="ascii") as file:
        for line in file:
            words = line.split()
            if words[0] == "cpu":
                kinds = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
                found["cpu"] = dict(zip(kinds, map(int, words[1:9])))
            elif words[0] in ("intr", "ctxt"):
                found[words[0]] = int(words[1])
    return found


def between(first, last, seconds):
    """Percent of all processors by kind; interrupts and context switches a second."""
    ticks = {kind: last["cpu"][kind] - first["cpu"][kind] for kind in first["cpu"]}
    total = max(1, sum(ticks.values()))
    shares = {kind: 100 * n / total for kind, n in ticks.items()}
    return shares, (last["intr"] - first["intr"]) / seconds, (last["ctxt"] - first["ctxt"]) / seconds
