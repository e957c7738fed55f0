"""Counters of a running process, read from /proc."""
import dataclasses
import os
import time

TICK = os.sysconf("SC_CLK_TCK")


@dataclasses.dataclass
class Sample:
    when: float
    cpu: float           # seconds, user and system
    switches: dict       # thread id -> (voluntary, involuntary)
    rss: int             # KiB
    threads: int


def _status(path):
    fields = {}
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            key, _, value = line.partition(":")
            fields[key] = value.split()
    return fields


def sample(pid):
    """One reading; raises OSError when the process is gone."""
    switches, cpu = {}, 0.0
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            status = _status(f"/proc/{pid}/task/{task}/status")
        except OSError:
            continue  # the thread ended
        switches[task] = (int(status["voluntary_ctxt_switches"][0]), int(status["nonvoluntary_ctxt_switches"][0]))
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
    cpu = (int(fields[11]) + int(fields[12])) / TICK
    status = _status(f"/proc/{pid}/status")
    return Sample(time.monotonic(), cpu, switches, int(status.get("VmRSS", ["0"])[0]), len(switches))


@dataclasses.dataclass
class Usage:
    cpu_percent: float          # of one core
    voluntary: float            # context switches per second
    involuntary: float
    rss_kib: int
    threads: int


def between(first, last):
    seconds = last.when - first.when
    voluntary = involuntary = 0
    for task, (now_voluntary, now_involuntary) in last.switches.items():
        was = first.switches.get(task, (0, 0))
        voluntary += now_voluntary - was[0]
        involuntary += now_involuntary - was[1]
    return Usage(100 * (last.cpu - first.cpu) / seconds, voluntary / seconds, involuntary / seconds, last.rss, last.threads)


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))
