"""Disks that fail: other outputs go on, the log says it once, the output recovers by itself; recordings are whole."""

import datetime
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
from benchlib import verify
from support import Castile, Suite, decode_errors, ffprobe, make_audio, wait_until

suite = Suite()

SEGMENT = re.compile(r"#EXT-X-PROGRAM-DATE-TIME:(\S+)Z\s+#EXTINF:([\d.]+),\s+(\S+)")

HLS_AND_FILE = """
s = mksafe(single(environment.get("MUSIC")))
output.file.hls(segment_duration=1., segments=4, segments_overhead=2, environment.get("HLS_DIR"), [
  ("low", %ffmpeg(format="mpegts", %audio(codec="aac", b="64k"))), ("high", %ffmpeg(format="mpegts", %audio(codec="aac", b="128k")))
], s)
output.file(%mp3(bitrate=128), environment.get("RECORDING"), s)
"""


def run(t, hls, recording, script=HLS_AND_FILE):
    music = make_audio(t.folder / "music.mp3", 20)
    return Castile(t.binary, script, t.folder, env={"MUSIC": music, "HLS_DIR": str(hls), "RECORDING": str(recording)})


def duration(path):
    streams = ffprobe(path)
    return float(streams[0].get("duration", 0)) if streams else 0


def live(path):
    """A playlist with segments that are all there."""
    return path.exists() and verify.parse_playlist(path)["segments"] and not verify.playlist(path, decoding=False)


class Tmpfs:
    """A small disk; None when we may not mount one."""

    def __init__(self, folder, size):
        self.folder, self.size = folder, size

    def __enter__(self):
        self.folder.mkdir()
        if os.geteuid() != 0:
            return None
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={self.size}", "tmpfs", str(self.folder)], check=False,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.mounted = done.returncode == 0
        return self.folder if self.mounted else None

    def __exit__(self, *_):
        if getattr(self, "mounted", False):
            subprocess.run(["umount", "-l", str(self.folder)], check=False)


@suite.test
def hls_folder_cannot_be_made_then_can(t):
    hls = t.folder / "hls"
    hls.write_text("a file is in the way")  # root may write anywhere, but not in a file
    with run(t, hls, t.folder / "rec.mp3") as radio:
        t.check("the log names the folder", radio.wait_log(f"{hls}", 10), radio.text[-500:])
        time.sleep(4)
        t.check("and does so once", radio.count("Cannot write HLS files") == 1, radio.text[-800:])
        t.check("it still runs", radio.process.poll() is None, radio.text[-500:])
        hls.unlink()
        t.check("it recovers by itself", wait_until(lambda: live(hls / "low.m3u8") and live(hls / "high.m3u8"), 10))
        t.check("and says so", radio.wait_log("HLS files can be written again", 5))
        t.check("exit code 0", radio.stop() == 0, radio.text[-500:])
    t.check("the recording went on", duration(t.folder / "rec.mp3") > 4.5, duration(t.folder / "rec.mp3"))
    t.check("and decodes", decode_errors(t.folder / "rec.mp3") == "", decode_errors(t.folder / "rec.mp3"))


@suite.test
def a_pause_leaves_the_dates_of_hls_alone(t):
    """Stopped for a while, the stream resumes: the dates of segments go on growing as their durations do."""
    hls = t.folder / "hls"
    with run(t, hls, t.folder / "rec.mp3") as radio:
        t.check("it starts", wait_until(lambda: live(hls / "low.m3u8"), 10), radio.text[-500:])
        os.kill(radio.pid, signal.SIGSTOP)
        time.sleep(3)
        os.kill(radio.pid, signal.SIGCONT)
        seen = {}
        end = time.monotonic() + 6
        while time.monotonic() < end:
            for date, seconds, name in SEGMENT.findall((hls / "low.m3u8").read_text()):
                seen[name] = (datetime.datetime.fromisoformat(date).timestamp(), float(seconds))
            time.sleep(0.1)
        t.check("exit code 0", radio.stop() == 0, radio.text[-500:])
    all = [seen[name] for name in sorted(seen, key=lambda name: int(re.search(r"(\d+)\.ts", name).group(1)))]
    gaps = [round(after[0] - before[0] - before[1], 3) for before, after in zip(all, all[1:])]
    t.check("there are segments of before and after", len(all) >= 6, seen)
    t.check("each begins where the one before ended", all and max(map(abs, gaps)) < 0.1, gaps)


@suite.test
def hls_folder_disappears(t):
    hls = t.folder / "hls"
    with run(t, hls, t.folder / "rec.mp3") as radio:
        t.check("it begins", wait_until(lambda: live(hls / "low.m3u8"), 10), radio.text[-500:])
        shutil.rmtree(hls)
        t.check("it comes back", wait_until(lambda: live(hls / "low.m3u8") and (hls / "stream.m3u8").exists(), 10), radio.text[-500:])
        t.check("exit code 0", radio.stop() == 0)


@suite.test
def hls_disk_full_then_free(t):
    with Tmpfs(t.folder / "disk", "400k") as disk:
        if disk is None:
            print("     skipped: no right to mount a tmpfs")
            return
        filler = disk / "filler"
        filler.write_bytes(b"x" * 330 * 1024)
        with run(t, disk / "hls", t.folder / "rec.mp3") as radio:
            t.check("the log says why", radio.wait_log("No space left on device", 15), radio.text[-500:])
            t.check("it still runs", radio.process.poll() is None)
            if (disk / "hls/low.m3u8").exists():
                faults = verify.playlist(disk / "hls/low.m3u8", decoding=False)
                t.check("the playlist names what is there", not faults, faults)
            filler.unlink()
            t.check("it recovers by itself", wait_until(
                lambda: live(disk / "hls/low.m3u8") and len(verify.parse_playlist(disk / "hls/low.m3u8")["segments"]) == 4, 15),
                radio.text[-500:])
            t.check("exit code 0", radio.stop() == 0, radio.text[-500:])
        faults = verify.final_playlists(disk / "hls")
        t.check("final playlists are whole", not faults, faults)
    t.check("the recording went on", duration(t.folder / "rec.mp3") > 4, duration(t.folder / "rec.mp3"))


@suite.test
def recording_on_a_full_disk_goes_on_when_there_is_space(t):
    with Tmpfs(t.folder / "disk", "200k") as disk:
        if disk is None:
            print("     skipped: no right to mount a tmpfs")
            return
        filler = disk / "filler"
        filler.write_bytes(b"x" * 150 * 1024)
        with run(t, t.folder / "hls", disk / "rec.mp3") as radio:
            t.check("the log says why", radio.wait_log("No space left on device", 15), radio.text[-500:])
            size = (disk / "rec.mp3").stat().st_size
            filler.unlink()
            t.check("it goes on", wait_until(lambda: (disk / "rec.mp3").stat().st_size > size + 30000, 20), radio.text[-800:])
            t.check("HLS was not disturbed", live(t.folder / "hls/low.m3u8"))
            t.check("exit code 0", radio.stop() == 0, radio.text[-500:])
        t.check("it decodes", ffprobe(disk / "rec.mp3") != [])


@suite.test
def one_file_after_the_other(t):
    script = """
    s = mksafe(single(environment.get("MUSIC")))
    output.file(
      %mp3(bitrate=128), reopen_delay=2., reopen_when={true}, on_close=fun (f) -> print("closed #{f}"),
      "#{environment.get("RECORDING")}/%Y/$(title) {time}.mp3", s
    )
    """.replace("{time}", "%H%M%S")
    music = make_audio(t.folder / "music.mp3", 20, title="A/B")
    folder = t.folder / "rec"
    with Castile(t.binary, script, t.folder, env={"MUSIC": music, "RECORDING": str(folder)}) as radio:
        t.check("files are closed", radio.wait_log(r"^closed .*", 12, times=2), radio.text[-500:])
        t.check("exit code 0", radio.stop() == 0, radio.text[-500:])
    files = sorted(folder.glob("*/*.mp3"))
    t.check("several files in the year's folder", len(files) >= 3 and files[0].parent.name.startswith("20"), files)
    t.check("the last one was closed too", radio.count("^closed ") == len(files), (radio.count("^closed "), files))
    for path in files[:-1]:  # the last one may be too short for ffprobe to know it
        t.check(f"{path.name} decodes", decode_errors(path) == "", decode_errors(path))
    lengths = [duration(path) for path in files]
    t.check("about two seconds each", all(1.8 < x < 2.4 for x in lengths[:-1]), lengths)


suite.main()
