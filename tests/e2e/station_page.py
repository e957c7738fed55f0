"""The first station as a newcomer meets it: examples/first-station.liq and its page in headless Chromium."""

import pathlib
import shutil
import subprocess
import time

from support import Castile, Suite, decode_errors, free_port, http_get, make_audio, wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
STATION = ROOT / "examples" / "first-station.liq"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"]

suite = Suite()


def page(t, url, *options):
    """Runs Chromium over the page; returns what it printed."""
    profile = t.folder / f"profile{time.monotonic_ns()}"
    done = subprocess.run([CHROMIUM, *FLAGS, f"--user-data-dir={profile}", *options, url], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=60, check=False)
    return done.stdout.decode(errors="replace")


def station(t, port, *arguments):
    return Castile(t.binary, STATION, t.folder, arguments=arguments, env={"PORT": str(port), "MUSIC": ""})


@suite.test
def tones_when_there_is_no_music(t):
    port = free_port()
    with station(t, port) as radio:
        url = f"http://127.0.0.1:{port}"
        t.check("on the air", radio.wait_log("On the air", 10), radio.text[-500:])
        t.check("the page answers", wait_until(lambda: http_get(f"{url}/")[0] == 200, 5), radio.text[-500:])
        t.check("the stream decodes", decode_errors(f"{url}/radio.mp3", 3) == "", decode_errors(f"{url}/radio.mp3", 3))
        t.check("exit code 0", radio.stop() == 0, radio.text[-500:])


@suite.test
def a_folder_of_music(t):
    folder = t.folder / "music"
    folder.mkdir()
    make_audio(folder / "one.mp3", 30, title="Song One", artist="Somebody")
    port = free_port()
    with station(t, port, folder) as radio:
        t.check("says what it plays", radio.wait_log(str(folder), 10), radio.text[-500:])
        t.check("the title is shown", wait_until(lambda: b"Song One" in http_get(f"http://127.0.0.1:{port}/api/status")[2], 10),
                http_get(f"http://127.0.0.1:{port}/api/status"))
        if not CHROMIUM:
            print("     skipped: no chromium")
            return
        dom = page(t, f"http://127.0.0.1:{port}/", "--virtual-time-budget=3000", "--timeout=8000", "--dump-dom")
        t.check("the page shows the title", "Song One" in dom, dom[-1500:])
        t.check("and the artist", "Somebody" in dom)
        t.check("and that it is on air", ">On air<" in dom)
        t.check("and the stream", "/radio.mp3" in dom)
        picture = t.folder / "page.png"
        page(t, f"http://127.0.0.1:{port}/", "--virtual-time-budget=3000", "--timeout=8000", f"--screenshot={picture}", "--window-size=900,700")
        t.check("it can be drawn", picture.exists() and picture.stat().st_size > 5000)


suite.main()
