"""The first station as a newcomer meets it: examples/first-station.liq and its page in headless Chromium."""

import contextlib
import http.server
import os
import pathlib
import shutil
import signal
import subprocess
import threading
import time
import urllib.request

from support import Castile, Suite, decode_errors, free_port, http_get, make_audio, wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
STATION = ROOT / "examples" / "first-station.liq"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"]

suite = Suite()


class Proxy(http.server.BaseHTTPRequestHandler):
    """Hands the station's answers on, and gives the page an image that takes some seconds: Chromium looks at a page once it is
    loaded, and by then the page has heard the station's events. (Virtual time would wait for the event stream to end.)"""

    target = None

    def do_GET(self):
        if self.path == "/slow.svg":
            time.sleep(4)
            return self.answer("image/svg+xml", b'<svg xmlns="http://www.w3.org/2000/svg"/>')
        with contextlib.suppress(OSError):
            with urllib.request.urlopen(self.target + self.path, timeout=10) as answer:
                if self.path == "/":
                    body = answer.read().replace(b"</body>", b'<img src="/slow.svg" alt=""></body>')
                    return self.answer(answer.headers["Content-Type"], body)
                self.send_response(200)
                self.send_header("Content-Type", answer.headers["Content-Type"])
                self.end_headers()
                while data := answer.read1(65536):
                    self.wfile.write(data)
        return None

    def answer(self, kind, body):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def proxy(target):
    handler = type("Handler", (Proxy,), {"target": target})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads, server.block_on_close = True, False
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/"
        finally:
            server.shutdown()


def page(t, url, *options):
    """Runs Chromium over the page; returns what it printed."""
    profile = t.folder / f"profile{time.monotonic_ns()}"
    process = subprocess.Popen([CHROMIUM, *FLAGS, f"--user-data-dir={profile}", *options, url], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        return process.communicate(timeout=60)[0].decode(errors="replace")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # its own session: whatever it left behind


def station(t, port, *arguments):
    return Castile(t.binary, STATION, t.folder, arguments=["--", *arguments] if arguments else [], env={"PORT": str(port), "MUSIC": ""})


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
        picture = t.folder / "page.png"
        with proxy(f"http://127.0.0.1:{port}") as url:
            dom = page(t, url, "--dump-dom")
            page(t, url, f"--screenshot={picture}", "--window-size=900,700")
        t.check("the page shows the title", "Song One" in dom, dom[-1500:])
        t.check("and the artist", "Somebody" in dom)
        t.check("and that it is on air", ">On air<" in dom)
        t.check("and the stream", "/radio.mp3" in dom)
        keep = os.environ.get("CASTILE_KEEP_PAGE")
        if keep and picture.exists():
            shutil.copy(picture, keep)
        t.check("it can be drawn", picture.exists() and picture.stat().st_size > 5000)


suite.main()
