"""Is what comes out sound? Every mount and every HLS variant is probed with ffprobe and decoded with ffmpeg."""
import concurrent.futures
import json
import pathlib
import re
import subprocess
import tempfile
import time
import urllib.request

from . import frames

SECONDS = 4


def _run(command, timeout=60):
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return None, "timed out"
    return done, done.stderr.decode("utf-8", "replace").strip()


def probe(url):
    """The audio streams ffprobe sees (a list of dictionaries), or a string saying what is wrong."""
    done, errors = _run(["ffprobe", "-v", "error", "-show_streams", "-of", "json", url])
    if done is None or done.returncode or errors:
        return f"ffprobe: {errors or 'failed'}"
    streams = [s for s in json.loads(done.stdout)["streams"] if s.get("codec_type") == "audio"]
    return streams or "ffprobe: no audio stream"


def decode(url, seconds=SECONDS, options=()):
    """Empty when ffmpeg decodes some seconds without a word."""
    done, errors = _run(["ffmpeg", "-v", "error", "-xerror", *options, "-i", url, "-t", str(seconds), "-f", "null", "-"])
    return "" if done is not None and done.returncode == 0 and not errors else f"ffmpeg: {errors or 'failed'}"


def _fault(place, options=()):
    found = probe(place)
    return found if isinstance(found, str) else decode(place, options=options)


def mount(url):
    """The mount as a listener gets it. Icecast lets one in between two blocks of 1,400 bytes, in the middle of a frame, where
    ffmpeg may take data for a header: then what follows, from the first whole frame to the last, must be sound and unbroken."""
    fault = _fault(url)
    if fault:
        first, fault = fault, _captured(url)
        fault = fault and f"{first.splitlines()[0]}; {fault}"
    return [f"{url}: {fault.splitlines()[0]}"] if fault else []


def _captured(url):
    data, end = b"", time.monotonic() + SECONDS
    with urllib.request.urlopen(url, timeout=10) as answer:
        while time.monotonic() < end:
            data += answer.read1(65536)
    found = frames.whole_frames(data)
    if not found:
        return "no frames"
    first, last = found
    if len(data) - last > 2000:
        return f"broken at byte {last} of {len(data)}"
    with tempfile.NamedTemporaryFile(suffix=".raw") as file:
        file.write(data[first:last])
        file.flush()
        return _fault(file.name)


def parse_playlist(path):
    """The tags of a media playlist that matter here."""
    text = pathlib.Path(path).read_text(encoding="utf-8")
    lines = text.splitlines()
    target = re.search(r"#EXT-X-TARGETDURATION:(\d+)", text)
    sequence = re.search(r"#EXT-X-MEDIA-SEQUENCE:(\d+)", text)
    return {
        "ok": bool(lines) and lines[0] == "#EXTM3U",
        "target": int(target.group(1)) if target else None,
        "sequence": int(sequence.group(1)) if sequence else 0,
        "durations": [float(x) for x in re.findall(r"#EXTINF:([0-9.]+)", text)],
        "segments": [line for line in lines if line and not line.startswith("#")],
        "ended": "#EXT-X-ENDLIST" in text,
        "dates": re.findall(r"#EXT-X-PROGRAM-DATE-TIME:(\S+)", text),
    }


def media_playlists(folder):
    for path in sorted(pathlib.Path(folder).glob("**/*.m3u8")):
        if "#EXT-X-STREAM-INF" not in path.read_text(encoding="utf-8"):
            yield path


def playlist(path, decoding=True):
    path = pathlib.Path(path)
    found = parse_playlist(path)
    faults = []
    if not found["ok"] or found["target"] is None:
        return [f"{path}: not a media playlist"]
    if not found["segments"]:
        return [f"{path}: no segment"]
    if any(round(x) > found["target"] for x in found["durations"]):
        faults.append(f"{path}: a segment longer than EXT-X-TARGETDURATION")
    faults += [f"{path}: names {name}, which is missing" for name in found["segments"] if not (path.parent / name).exists()]
    if decoding and not faults:
        fault = _fault(str(path), options=("-live_start_index", "0"))
        if fault:
            faults.append(f"{path}: {fault.splitlines()[0]}")
    return faults


def everything(urls, hls):
    """All faults of the mounts at `urls` and the playlists below `hls`, as sentences. Four at a time: most of it is waiting."""
    jobs = [(mount, url) for url in sorted(urls)]
    jobs += [(playlist, path) for path in media_playlists(hls)]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        return [fault for faults in pool.map(lambda job: job[0](*job[1:]), jobs) for fault in faults]


def final_playlists(hls):
    """After a clean stop: every playlist is final and whole."""
    faults = []
    for path in media_playlists(hls):
        if not parse_playlist(path)["ended"]:
            faults.append(f"{path}: no EXT-X-ENDLIST after the stop")
        faults += playlist(path, decoding=False)
    return faults
