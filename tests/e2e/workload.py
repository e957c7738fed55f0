"""The many-streams workload, small: four streams, every mount and HLS variant sound, no sample lost, a clean end."""

import os
import pathlib
import re
import sys
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
from benchlib import align, verify
from support import Castile, Icecast, Suite, wait_until

WORKLOAD = pathlib.Path(__file__).resolve().parents[2] / "bench" / "ladder.liq"
STREAMS = 4

suite = Suite()


def environment(t, icecast, music, streams):
    (t.folder / "hls").mkdir(exist_ok=True)
    return {"STREAMS": str(streams), "MUSIC": str(music), "HLS_DIR": str(t.folder / "hls"), "ICECAST_PORT": str(icecast.port),
            "ICECAST_PASSWORD": icecast.password}


def record(url, path, seconds):
    end = time.monotonic() + seconds
    with urllib.request.urlopen(url, timeout=10) as answer, open(path, "wb") as file:
        while time.monotonic() < end:
            data = answer.read(4096)
            if not data:
                break
            file.write(data)


@suite.test
def four_streams_are_sound_and_end_well(t):
    music = align.make_noise(t.folder / "music.mp3", 60)
    with Icecast(t.folder) as icecast, Castile(t.binary, WORKLOAD, t.folder, env=environment(t, icecast, music, STREAMS)) as radio:
        expected = {f"/s{i}_{kind}" for i in range(1, STREAMS + 1) for kind in ("low", "high", "mp3")}
        if not t.check("all mounts are up", wait_until(lambda: set(icecast.sources()) == expected, 20), sorted(icecast.sources())):
            return
        playlists = [t.folder / "hls" / f"s{i}" / f"{kind}.m3u8" for i in range(1, STREAMS + 1) for kind in ("low", "high")]
        t.check("all playlists are there", wait_until(lambda: all(p.exists() for p in playlists), 25))
        faults = verify.everything(map(icecast.url, expected), t.folder / "hls")
        t.check("every mount and variant decodes", not faults, faults[:3])
        for i in range(1, STREAMS + 1):
            main = (t.folder / "hls" / f"s{i}" / "stream.m3u8").read_text()
            t.check("the main playlist names both", "low.m3u8" in main and "high.m3u8" in main and "CODECS=\"mp4a.40.2\"" in main, main)
        late = [float(x) for x in re.findall(r"must catchup ([0-9.]+) seconds", radio.text)]
        t.check("never a second late, even on a busy machine", max(late, default=0) < 1, late)
        begun = time.monotonic()
        code = radio.stop(10)
        t.check("SIGTERM ends it within 2 s", time.monotonic() - begun < 2, time.monotonic() - begun)
        t.check("exit code 0", code == 0, f"{code}: {radio.text[-500:]}")
    faults = verify.final_playlists(t.folder / "hls")
    t.check("playlists are final and whole", not faults, faults[:3])
    left = [p for p in (t.folder / "hls").glob("**/.*")]
    t.check("no hidden file is left", not left, left[:3])


@suite.test
def segments_of_all_variants_begin_together(t):
    music = align.make_noise(t.folder / "music.mp3", 60)
    script = """
    s = mksafe(single(environment.get("MUSIC")))
    output.file.hls(segment_duration=2., segments=4, environment.get("HLS_DIR"), [
      ("ts", %ffmpeg(format="mpegts", %audio(codec="aac", b="64k"))),
      ("ts2", %ffmpeg(format="mpegts", %audio(codec="aac", b="128k"))),
      ("mp4", %ffmpeg(format="mp4", frag_duration=10, movflags="+dash+skip_sidx+skip_trailer+frag_custom", %audio(codec="aac", b="64k")))
    ], s)
    """
    folder = t.folder / "hls"
    env = {"MUSIC": music, "HLS_DIR": str(folder)}
    with Castile(t.binary, script, t.folder, env=env) as radio:
        names = ("ts", "ts2", "mp4")
        t.check("playlists", wait_until(lambda: all((folder / f"{n}.m3u8").exists() for n in names), 10), radio.text[-500:])
        time.sleep(9)
        faults = [f for n in names for f in verify.playlist(folder / f"{n}.m3u8")]
        t.check("all decode", not faults, faults)
        found = {n: verify.parse_playlist(folder / f"{n}.m3u8") for n in names}
        for name, playlist in found.items():
            t.check(f"{name}: no longer than announced", all(d <= playlist["target"] for d in playlist["durations"]), playlist)
            t.check(f"{name}: rotated", len(playlist["segments"]) == 4, playlist)
            t.check(f"{name}: a date a segment", len(playlist["dates"]) == 4, playlist)
            t.check(f"{name}: same durations as ts", playlist["durations"] == found["ts"]["durations"], playlist["durations"])
            t.check(f"{name}: same dates as ts", playlist["dates"] == found["ts"]["dates"], playlist["dates"])
        t.check("version 7 with fMP4", "EXT-X-VERSION:7" in (folder / "mp4.m3u8").read_text())


@suite.test
def a_recorded_mount_has_every_sample(t):
    music = align.make_noise(t.folder / "music.mp3", 40)
    with Icecast(t.folder) as icecast, Castile(t.binary, WORKLOAD, t.folder, env=environment(t, icecast, music, 2)):
        if not t.check("the mount is up", wait_until(lambda: icecast.mount("/s1_mp3"), 20)):
            return
        for mount, name in (("s1_mp3", "rec.mp3"), ("s1_high", "rec.aac")):
            record(icecast.url(mount), t.folder / name, 8)
            found = align.offsets(music, t.folder / name)
            t.check(f"{mount}: long enough", len(found) >= 10, len(found))
            t.check(f"{mount}: it is our music", all(likeness > 0.9 for _, _, likeness in found), found)
            places = {offset for _, offset, _ in found}
            t.check(f"{mount}: one offset from end to end", len(places) == 1, found)


@suite.test
def a_second_run_starts_without_residue(t):
    music = align.make_noise(t.folder / "music.mp3", 30)
    hls = t.folder / "hls" / "s1"
    with Icecast(t.folder) as icecast:
        for run in (1, 2):
            env = environment(t, icecast, music, 1)
            with Castile(t.binary, WORKLOAD, t.folder, env=env) as radio:
                up = wait_until(lambda: len(icecast.sources()) == 3, 15)
                t.check(f"run {run}: mounts are up", up, radio.text[-500:])
                before = os.stat(hls / "low.m3u8").st_mtime if (hls / "low.m3u8").exists() else 0
                t.check(f"run {run}: a new playlist", wait_until(
                    lambda b=before: (hls / "low.m3u8").exists() and os.stat(hls / "low.m3u8").st_mtime > b, 15))
                t.check(f"run {run}: exit code 0", radio.stop(10) == 0, radio.text[-500:])
    named = set()
    for path in hls.glob("*.m3u8"):
        named |= {path.name, *verify.parse_playlist(path)["segments"]}
    present = {path.name for path in hls.iterdir()}
    t.check("only what the playlists name is there", present == named, sorted(present ^ named))


suite.main()
