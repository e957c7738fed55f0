"""One rung: a fresh process (an engine or the floor) beside a fresh icecast, measured for a while."""
import dataclasses
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

from . import proc, verify
from .icecast import Icecast

CATCHUP = re.compile(r"we must catchup ([0-9.]+) seconds", re.IGNORECASE)


@dataclasses.dataclass
class Participant:
    """`command` is an argument list; an engine gets the script's path as its last argument."""
    name: str
    command: list
    script: pathlib.Path = None      # None: the floor
    held: int = 0                    # greatest count that held
    failed: int = None               # least count that did not


@dataclasses.dataclass
class Settings:
    music: pathlib.Path
    scratch: pathlib.Path
    keep: pathlib.Path               # logs of the runs
    seconds: float = 45
    discard: float = 10
    threads: int = os.cpu_count()
    mounts_per_stream: int = 3
    verify: bool = False


@dataclasses.dataclass
class Row:
    participant: str
    streams: int
    run: int
    held: bool
    cpu: float
    cpu_per_stream: float
    budget: float                    # CPU time of a stream per frame, as a share of the frame
    machine: float                   # process CPU as a share of all cores, percent
    voluntary: float
    involuntary: float
    rss_kib: int
    threads: int
    catchup: float                   # greatest catch-up in the measured part, seconds
    startup_catchup: float
    mounts: int
    icecast_cpu: float
    icecast_voluntary: float
    icecast_rss_kib: int
    stop_seconds: float
    exit_code: int
    note: str = ""


def catchups(log, offset=0):
    with open(log, "rb") as file:
        file.seek(offset)
        text = file.read()
    return max((float(x) for x in CATCHUP.findall(text.decode("utf-8", "replace"))), default=0.0), offset + len(text)


def _environment(settings, icecast, streams, hls):
    environment = dict(os.environ)
    environment.update(STREAMS=str(streams), MUSIC=str(settings.music), HLS_DIR=str(hls), ICECAST_PORT=str(icecast.port),
                       ICECAST_PASSWORD=icecast.password)
    return environment


def _stop(process):
    """SIGTERM, then how long it took; killed after 15 s."""
    begun = time.monotonic()
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    return time.monotonic() - begun


def _wait(process, until):
    while time.monotonic() < until and process.poll() is None:
        time.sleep(min(0.5, max(0.0, until - time.monotonic())))
    return process.poll() is None


def _measure(process, icecast, log, settings, begun):
    """Both readings, or None when the process ended before the second."""
    if not _wait(process, begun + settings.discard):
        return None
    startup, offset = catchups(log)
    first, first_icecast = proc.sample(process.pid), proc.sample(icecast.pid)
    if not _wait(process, begun + settings.seconds):
        return None
    last, last_icecast = proc.sample(process.pid), proc.sample(icecast.pid)
    return startup, catchups(log, offset)[0], proc.between(first, last), proc.between(first_icecast, last_icecast)


def run(participant, streams, number, settings):
    """Runs one rung and returns its Row. A rung holds when no catch-up of a second was reported and every mount was up."""
    name = f"{participant.name}-{streams}-{number}"
    hls = settings.scratch / "hls"
    log = settings.keep / f"{name}.log"
    (settings.keep / f"{name}.faults").unlink(missing_ok=True)
    shutil.rmtree(hls, ignore_errors=True)
    hls.mkdir()
    is_floor = participant.script is None
    arguments = [] if not is_floor else [
        "paced", "--music", str(settings.music), "--sets", str(streams), "--threads", str(settings.threads),
        "--seconds", str(settings.seconds + 1), "--discard", str(settings.discard)]
    command = participant.command + (arguments if is_floor else [str(participant.script)])
    note, problems, mounts = "", [], 0
    with Icecast(settings.scratch / "icecast", sources=streams * settings.mounts_per_stream + 20) as icecast:
        with open(log, "wb") as output:
            begun = time.monotonic()
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                       env=_environment(settings, icecast, streams, hls))
        try:
            measured = _measure(process, icecast, log, settings, begun)
            if measured and not is_floor:
                paths = icecast.mounts()
                mounts = len(paths)
                if settings.verify:
                    problems = verify.everything(map(icecast.url, paths), hls)
        finally:
            if is_floor:
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    pass
            stop_seconds = _stop(process)
    if settings.verify and not is_floor and measured:
        problems += verify.final_playlists(hls)
    shutil.rmtree(hls, ignore_errors=True)
    if is_floor:
        return _floor_row(participant, streams, number, log, measured, process.returncode)
    if measured is None:
        return Row(participant.name, streams, number, False, *[0] * 14, stop_seconds, process.returncode,
                   note=f"ended early, see {log}")
    startup, catchup, usage, icecast_usage = measured
    expected = streams * settings.mounts_per_stream
    if mounts < expected:
        note = f"{mounts} of {expected} mounts"
    if problems:
        note += f"{'; ' if note else ''}{len(problems)} faults, first: {problems[0]}"
        (settings.keep / f"{name}.faults").write_text("\n".join(problems) + "\n", encoding="utf-8")
    elif settings.verify:
        note += f"{'; ' if note else ''}verified"
    return _row(participant.name, streams, number, catchup < 1 and mounts >= expected, usage, catchup, startup, mounts,
                icecast_usage, stop_seconds, process.returncode, note)


def _floor_row(participant, streams, number, log, measured, code):
    try:
        result = json.loads(log.read_text(encoding="utf-8").splitlines()[-1])
    except (ValueError, IndexError):
        raise RuntimeError(f"the floor failed, see {log}") from None
    if measured is None:  # it gave up when a set was a second late: its own figures
        usage = proc.Usage(result["cpu_percent"], result["voluntary_per_second"], result["involuntary_per_second"],
                           result["rss_kib"], result["threads"])
        nothing = proc.Usage(0, 0, 0, 0, 0)
        return _row(participant.name, streams, number, False, usage, result["late_seconds"], 0, 0, nothing, 0, code, "late")
    _, _, usage, icecast_usage = measured
    return _row(participant.name, streams, number, result["held"], usage, result["late_seconds"], 0, 0, icecast_usage, 0, code)


def _row(name, streams, number, held, usage, catchup, startup, mounts, icecast, stop_seconds, code, note=""):
    per_stream = usage.cpu_percent / streams
    return Row(name, streams, number, held, usage.cpu_percent, per_stream, per_stream / 100,
               usage.cpu_percent / os.cpu_count(), usage.voluntary, usage.involuntary, usage.rss_kib, usage.threads, catchup,
               startup, mounts, icecast.cpu_percent, icecast.voluntary, icecast.rss_kib, stop_seconds, code, note)
