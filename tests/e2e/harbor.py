"""output.harbor: listeners, titles, bursts, the page and its events, TLS, ports in use."""

import base64
import contextlib
import json
import shutil
import socket
import ssl
import subprocess
import time

from support import Castile, Process, Suite, decode_errors, ffprobe, free_port, http_get, make_audio, make_certificate, wait_until

suite = Suite()


def script(port, music=None, extra="", format="%mp3(bitrate=128)", mount="live.mp3", more=""):
    source = f'mksafe(single("{music}"))' if music else 'metadata.map(fun (_) -> [("title", "Tone"), ("artist", "Sine")], sine())'
    return f"""
settings.log.level := 4
settings.harbor.bind_addrs := ["127.0.0.1"]
s = {source}
output.harbor({format}, port={port}, mount="{mount}", name="Test radio", {extra} s)
{more}
"""


def listen(port, path="/live.mp3", seconds=3.0, headers=(), limit=1 << 20, version="1.1"):
    """(head, body, seconds until the first byte of the body) of a raw listener."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as s:
        lines = [f"GET {path} HTTP/{version}", "Host: localhost", *headers, "", ""]
        s.sendall("\r\n".join(lines).encode())
        data, start, first = b"", time.monotonic(), None
        while time.monotonic() - start < seconds and len(data) < limit:
            s.settimeout(max(0.05, seconds - (time.monotonic() - start)))
            try:
                piece = s.recv(65536)
            except TimeoutError:
                break
            if not piece:
                break
            data += piece
            if first is None and b"\r\n\r\n" in data and len(data.split(b"\r\n\r\n", 1)[1]) > 0:
                first = time.monotonic() - start
        head, _, body = data.partition(b"\r\n\r\n")
        return head.decode("utf-8", "replace"), body, first


def split_icy(body, interval):
    """(audio, [(position, title)])."""
    audio, titles, at = b"", [], 0
    while at < len(body):
        audio += body[at:at + interval]
        at += interval
        if at >= len(body):
            break
        size = body[at] * 16
        text = body[at + 1:at + 1 + size].rstrip(b"\0").decode()
        if size:
            titles.append((len(audio), text))
        at += 1 + size
    return audio, titles


def ready(port, path="/live.mp3"):
    def on_air():
        status, _, body = http_get(f"http://127.0.0.1:{port}/api/status", timeout=2)
        return status == 200 and any(m["path"] == path and m["on_air"] for m in json.loads(body)["mounts"])
    return wait_until(on_air, 10)


@suite.test
def serves_listeners(t):
    port = free_port()
    music = make_audio(t.folder / "m.mp3", seconds=30, title="It's; 'on'", artist="Généré")
    with Castile(t.binary, script(port, music), t.folder) as radio:
        t.check("on air", ready(port), radio.text)
        time.sleep(5)
        head, body, first = listen(port, seconds=2)
        t.check("200", head.startswith("HTTP/1.1 200 OK"), head)
        t.check("type", "Content-Type: audio/mpeg" in head, head)
        t.check("name", "icy-name: Test radio" in head, head)
        t.check("CORS", "Access-Control-Allow-Origin: *" in head, head)
        t.check("no titles unless asked", "icy-metaint" not in head, head)
        t.check("begins at once", first is not None and first < 0.3, first)
        burst = len(body) / 16000 - 2
        t.check("the burst is about four seconds", 3.3 < burst < 4.7, burst)
        old, _, _ = listen(port, seconds=0.5, version="1.0")
        t.check("HTTP/1.0", old.startswith("HTTP/1.0 200 OK"), old)
        complaint = decode_errors(f"http://127.0.0.1:{port}/live.mp3", seconds=5)
        t.check("decodes", complaint == "", complaint)
        status, headers, body = http_get(f"http://127.0.0.1:{port}/live.mp3", method="HEAD")
        t.check("HEAD", status == 200 and headers["Content-Type"] == "audio/mpeg" and body == b"", status)
        t.check("404", http_get(f"http://127.0.0.1:{port}/nothing")[0] == 404)

        head, body, _ = listen(port, seconds=2, headers=["Icy-MetaData: 1"])
        t.check("metaint", "icy-metaint: 8192" in head, head)
        audio, titles = split_icy(body, 8192)
        t.check("the title comes first", titles and titles[0][0] == 8192, titles[:2])
        t.check("the title", titles and titles[0][1].startswith("StreamTitle='Généré - It's; 'on''"), titles[:2])
        (t.folder / "icy.mp3").write_bytes(audio)
        complaint = decode_errors(t.folder / "icy.mp3")
        t.check("the audio between is whole", complaint == "" or "Estimating" in complaint, complaint)
        t.check("exit 0", radio.stop() == 0, radio.text)


@suite.test
def ogg_and_burst(t):
    port = free_port()
    more = f"""output.harbor(%vorbis, port={port}, mount="/ogg", burst_seconds=1., s)
output.harbor(%mp3(bitrate=128), port={port}, mount="/bytes", burst=16000, s)
output.harbor(%mp3(bitrate=128), port={port}, mount="/none", burst=null, s)
"""
    with Castile(t.binary, script(port, more=more), t.folder) as radio:
        t.check("on air", ready(port), radio.text)
        time.sleep(4)
        for _ in range(2):  # a late listener gets the headers
            streams = ffprobe(f"http://127.0.0.1:{port}/ogg")
            t.check("probes", streams and streams[0]["codec_name"] == "vorbis", streams)
        complaint = decode_errors(f"http://127.0.0.1:{port}/ogg", seconds=3)
        t.check("decodes", complaint == "", complaint)
        _, body, _ = listen(port, "/bytes", seconds=0.4)
        t.check("burst in bytes", 12000 < len(body) < 26000, len(body))
        _, body, _ = listen(port, "/none", seconds=0.4)
        t.check("no burst", len(body) < 12000, len(body))


@suite.test
def port_in_use(t):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with Castile(t.binary, script(port), t.folder) as radio:
            t.check("exit 1", radio.wait_exit(10) == 1, radio.text)
            t.check("says so", f"port {port} is already in use" in radio.text, radio.text)
    with Castile(t.binary, script(port), t.folder) as first:
        t.check("free again", ready(port), first.text)
        with Castile(t.binary, script(port), t.folder, name="second.liq") as second:
            t.check("exit 1", second.wait_exit(10) == 1, second.text)
        t.check("the first goes on", len(listen(port, seconds=1)[1]) > 1000)
        t.check("exit 0", first.stop() == 0, first.text)
    with Castile(t.binary, script(port), t.folder) as again:
        t.check("starts right after", ready(port), again.text)


@suite.test
def slow_listener(t):
    port = free_port()
    with Castile(t.binary, script(port, format="%wav", extra='format="audio/wav", timeout=2.,'), t.folder) as radio:
        t.check("on air", ready(port), radio.text)
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.connect(("127.0.0.1", port))
        s.sendall(b"GET /live.mp3 HTTP/1.0\r\n\r\n")
        t.check("is dropped", radio.wait_log("is dropped", 60), radio.text)
        _, body, _ = listen(port, seconds=3)
        t.check("others get everything", len(body) > 400000, len(body))
        t.check("no catch-up", not radio.count("We must catch up"), radio.text)
        s.close()


@suite.test
def many_listeners_share_one_stream(t):
    port = free_port()
    with Castile(t.binary, script(port), t.folder) as radio:
        t.check("on air", ready(port), radio.text)
        time.sleep(1)
        before = radio.rss()
        sockets = []
        for _ in range(200):
            s = socket.create_connection(("127.0.0.1", port), timeout=5)
            s.sendall(b"GET /live.mp3 HTTP/1.1\r\nHost: x\r\nIcy-MetaData: 1\r\n\r\n")
            sockets.append(s)
        count = wait_until(lambda: json.loads(http_get(f"http://127.0.0.1:{port}/api/status")[2])["listeners"] == 200, 5)
        t.check("all are counted", count)
        end = time.monotonic() + 5
        while time.monotonic() < end:
            for s in sockets:
                s.setblocking(False)
                try:
                    s.recv(65536)
                except BlockingIOError:
                    pass
            time.sleep(0.1)
        per_listener = (radio.rss() - before) / 200
        t.check("under 24 KiB each", per_listener < 24 << 10, per_listener)
        for s in sockets:
            s.close()
        t.check("all are gone", wait_until(lambda: json.loads(http_get(f"http://127.0.0.1:{port}/api/status")[2])["listeners"] == 0, 5))
        t.check("no descriptor stays", radio.fds() < 40, radio.fds())


@suite.test
def authorisation(t):
    port = free_port()
    more = f"""
def check(c) = c.login == "bob" and c.password == "s3c" end
output.harbor(%mp3, port={port}, mount="/private", auth=check, s)
output.harbor(%mp3, port={port}, mount="/fixed", user="u", password="p", s)
"""
    with Castile(t.binary, script(port, more=more), t.folder) as radio:
        t.check("on air", ready(port), radio.text)
        for path, good in (("/private", "bob:s3c"), ("/fixed", "u:p")):
            head, _, _ = listen(port, path, seconds=1)
            t.check(f"{path} needs a name", head.startswith("HTTP/1.1 401") and "WWW-Authenticate" in head, head)
            for pair, code in ((good, "200"), ("bob:nope", "401")):
                token = base64.b64encode(pair.encode()).decode()
                head, _, _ = listen(port, path, seconds=1, headers=[f"Authorization: Basic {token}"])
                t.check(f"{path} {pair}", head.startswith(f"HTTP/1.1 {code}"), head)


@suite.test
def listener_callbacks(t):
    port = free_port()
    extra = 'on_connect=fun (l) -> print("NEW #{l.ip} #{l.uri} #{l.headers[\\"x-who\\"]}"), on_disconnect=fun (a) -> print("GONE #{a}"),'
    with Castile(t.binary, script(port, extra=extra), t.folder) as radio:
        t.check("on air", ready(port), radio.text)
        listen(port, "/live.mp3?a=1", seconds=0.5, headers=["X-Who: me"])
        t.check("on_connect", radio.wait_log(r"NEW 127\.0\.0\.1 /live\.mp3\?a=1 me", 5), radio.text)
        t.check("on_disconnect", radio.wait_log(r"GONE 127\.0\.0\.1:\d+", 5), radio.text)


@suite.test
def page_and_status(t):
    port = free_port()
    with Castile(t.binary, script(port), t.folder) as radio:
        t.check("on air", ready(port), radio.text)
        base = f"http://127.0.0.1:{port}"
        for path, kind in (("/", "text/html"), ("/station.js", "text/javascript"), ("/station.css", "text/css")):
            status, headers, body = http_get(base + path)
            t.check(path, status == 200 and headers["Content-Type"].startswith(kind) and len(body) > 500, (status, len(body)))
        t.check("no request leaves the station", not any(x in http_get(base + "/")[2] for x in (b"//cdn", b"googleapis", b"https://")))
        status = json.loads(http_get(base + "/api/status")[2])
        t.check("station", status["station"]["name"] == "Test radio", status)
        icecast = json.loads(http_get(base + "/status-json.xsl")[2])
        t.check("icestats", icecast["icestats"]["source"]["listenurl"] == f"{base}/live.mp3", icecast)
        t.check("always a title", icecast["icestats"]["source"]["title"], icecast)
        with socket.create_connection(("127.0.0.1", port), timeout=10) as s:
            s.sendall(b"GET /api/events HTTP/1.1\r\nHost: x\r\n\r\n")
            file = s.makefile("rb")
            levels = []
            while len(levels) < 10:
                line = file.readline()
                if line.startswith(b"event: levels"):
                    levels.append(json.loads(file.readline()[6:])["/live.mp3"])
        t.check("two channels", len(levels[-1]["peak"]) == 2, levels)
        t.check("a full-scale sine: peak 1, RMS 0.707", abs(levels[-1]["peak"][0] - 1) < 0.02 and abs(levels[-1]["rms"][0] - 0.707) < 0.02, levels[-1])


@suite.test
def the_page_plays(t):
    """Chromium opens the page, presses play and becomes a listener."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not chromium:
        print("     skipped: no chromium")
        return
    port = free_port()
    with Castile(t.binary, script(port), t.folder) as radio:
        t.check("on air", ready(port), radio.text)
        browser = subprocess.Popen([chromium, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage", "--mute-audio",
                                    "--autoplay-policy=no-user-gesture-required", f"--user-data-dir={t.folder}/profile", "--remote-debugging-port=0",
                                    f"http://127.0.0.1:{port}/#play"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            status = lambda: json.loads(http_get(f"http://127.0.0.1:{port}/api/status")[2])
            t.check("it listens", wait_until(lambda: status()["listeners"] == 1, 30), status())
            before = status()["mounts"][0]["bytes_sent"]
            time.sleep(5)
            rate = (status()["mounts"][0]["bytes_sent"] - before) * 8 / 5 / 1000
            t.check("and takes the stream as it is made", 100 < rate < 160, rate)
        finally:
            browser.terminate()
            browser.wait(10)
        t.check("it is gone", wait_until(lambda: status()["listeners"] == 0, 10), status())


@suite.test
def tls(t):
    port = free_port()
    certificate, key = make_certificate(t.folder)
    extra = f'transport=http.transport.ssl(certificate="{certificate}", key="{key}"),'
    with Castile(t.binary, script(port, extra=extra), t.folder) as radio:
        context = ssl.create_default_context(cafile=certificate)

        def get(path, size):
            with socket.create_connection(("127.0.0.1", port), timeout=5) as raw, context.wrap_socket(raw, server_hostname="localhost") as s:
                s.sendall(f"GET {path} HTTP/1.0\r\n\r\n".encode())
                data = b""
                while len(data) < size:
                    piece = s.recv(65536)
                    if not piece:
                        break
                    data += piece
                return data
        def up():
            try:
                return get("/api/status", 100)
            except OSError:
                return None
        t.check("up", wait_until(up, 10), radio.text)
        time.sleep(2)
        t.check("listens", len(get("/live.mp3", 40000)) >= 40000)
        t.check("the page", b"<!doctype html>" in get("/", 1 << 20))
        with socket.create_connection(("127.0.0.1", port), timeout=5) as s:  # plain text to a TLS port
            s.sendall(b"GET / HTTP/1.0\r\n\r\n")
            t.check("plain text is refused", b"200" not in s.recv(1000))
        radio_text = radio.text
        t.check("goes on", len(get("/live.mp3", 10000)) >= 10000, radio_text)
    with Castile(t.binary, script(port, extra='transport=http.transport.ssl(certificate="/nonexistent.pem"),'), t.folder) as radio:
        t.check("missing certificate: exit 1", radio.wait_exit(10) == 1, radio.text)
        t.check("named", "/nonexistent.pem" in radio.text, radio.text)


@suite.test
def hostile_clients(t):
    port = free_port()
    with Castile(t.binary, script(port, more="settings.harbor.accept_timeout := 0.5"), t.folder) as radio:
        t.check("on air", ready(port), radio.text)
        for data, expected in ((b"GET /" + b"a" * 30000 + b" HTTP/1.1\r\n\r\n", b"431"), (b"\x00\x01\x02\r\n\r\n", b"400"), (b"BREW / HTCPCP/1.0\r\n\r\n", b"505"),
                               (b"POST /live.mp3 HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", b"4")):
            with socket.create_connection(("127.0.0.1", port), timeout=20) as s:
                with contextlib.suppress(OSError):  # refused in the middle of what we say
                    s.sendall(data)
                first = s.recv(200).split(b"\r\n")[0]
                t.check(str(data[:20]), expected in first, first)
        with socket.create_connection(("127.0.0.1", port), timeout=20) as s:
            s.sendall(b"GET / HT")
            t.check("a head that never ends is cut off", s.recv(100) == b"")
        with socket.create_connection(("127.0.0.1", port), timeout=20) as s:  # a byte now and then does not put it off
            with contextlib.suppress(OSError):
                for byte in b"GET /api/status HTTP/1.1\r\n" * 4:
                    s.sendall(bytes([byte]))
                    time.sleep(0.1)
            with contextlib.suppress(OSError):
                t.check("nor does one that trickles in get an answer", b"200" not in s.recv(100))
        t.check("goes on", len(listen(port, seconds=5, limit=20000)[1]) > 1000)


@suite.test
def few_descriptors(t):
    """However many connect, descriptors are left for the station itself: the next file opens."""
    port = free_port()
    listing = t.folder / "list.m3u"
    listing.write_text("\n".join(make_audio(t.folder / f"{i}.mp3", 1.5, title=f"T{i}") for i in range(3)) + "\n")
    script_text = f'''
settings.harbor.bind_addrs := ["127.0.0.1"]
s = playlist(mode="normal", "{listing}")
s.on_track(synchronous=true, fun (m) -> print("TRACK #{{m["title"]}}"))
output.harbor(%mp3, port={port}, mount="live.mp3", mksafe(s))
'''
    (t.folder / "script.liq").write_text(script_text)
    with Process(["prlimit", "--nofile=160:160", t.binary, t.folder / "script.liq"], cwd=t.folder) as radio:
        t.check("on air", ready(port), radio.text)
        held = []
        for _ in range(200):
            s = socket.create_connection(("127.0.0.1", port), timeout=10)
            with contextlib.suppress(OSError):
                s.sendall(b"GET /live.mp3 HTTP/1.0\r\n\r\n")
            held.append(s)
        t.check("says that it is full", radio.wait_log("more are refused", 10), radio.text[-800:])
        before = radio.count("TRACK")
        t.check("tracks follow one another", radio.wait_log("TRACK", 20, times=before + 3), radio.text[-800:])
        t.check("nothing lacked a descriptor", not radio.count("(?i)too many open files"), radio.text[-800:])
        for s in held:
            s.close()
        t.check("serves again", wait_until(lambda: http_get(f"http://127.0.0.1:{port}/api/status")[0] == 200, 10))
        t.check("exit 0", radio.stop() == 0, radio.text[-800:])


if __name__ == "__main__":
    suite.main()
