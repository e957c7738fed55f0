"""Tracks told to scrobbling services and to Spinitron, played by servers of the test's own."""

import hashlib
import http.server
import json
import subprocess
import threading
import urllib.parse

from support import Suite, wait_until

suite = Suite()
calls = []   # (path, parameters, headers)

NOW = """<?xml version="1.0" encoding="utf-8"?>
<lfm status="ok"><nowplaying><track corrected="0">{track}</track><artist corrected="1">{artist}</artist><album corrected="0"/>
<albumArtist corrected="0"></albumArtist><ignoredMessage code="0"></ignoredMessage></nowplaying></lfm>"""
PLAYED = """<lfm status="ok"><scrobbles accepted="1" ignored="0"><scrobble><track corrected="0">{track}</track><artist corrected="0">{artist}</artist>
<album corrected="0"/><albumArtist corrected="0"/><timestamp>{timestamp}</timestamp><ignoredMessage code="0"/></scrobble></scrobbles></lfm>"""
SESSION = '<lfm status="ok"><session><name>me</name><key>the-key</key><subscriber>0</subscriber></session></lfm>'
REFUSED = '<lfm status="failed"><error code="4">Wrong password</error></lfm>'


class Services(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        given = dict(urllib.parse.parse_qsl(body, keep_blank_values=True))
        calls.append((self.path, given, dict(self.headers)))
        if self.path == "/api/spins":
            status, text = self.spin(given)
        else:
            status, text = self.scrobble(given)
        data = text.encode()
        self.send_response(status, {401: "Unauthorized", 422: "Unprocessable Entity"}.get(status))
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def spin(self, given):
        if given["artist"] == "":
            return 422, json.dumps([{"field": "artist", "message": "Artist cannot be blank."}])
        if self.headers["Authorization"] != "Bearer k":
            return 401, json.dumps({"name": "Unauthorized", "message": "No.", "code": 0, "status": 401})
        return 201, json.dumps({"id": 7, "playlist_id": 8, "start": "now", "artist": given["artist"], "song": given["song"], "release": given.get("release")})

    def scrobble(self, given):
        signature = given.pop("api_sig")
        text = "".join(name + given[name] for name in sorted(given))
        if signature != hashlib.md5((text + "secret").encode()).hexdigest():
            return 403, '<lfm status="failed"><error code="13">Invalid method signature</error></lfm>'
        if given["method"] == "auth.getMobileSession":
            return (200, SESSION) if given["password"] == "right" else (403, REFUSED)
        if given["sk"] != "the-key":
            return 403, '<lfm status="failed"><error code="9">Invalid session</error></lfm>'
        return 200, (NOW if given["method"] == "track.updateNowPlaying" else PLAYED).format(**given)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Services)
threading.Thread(target=server.serve_forever, daemon=True).start()
ADDRESS = f"http://127.0.0.1:{server.server_port}"
SETTINGS = f"""settings.audioscrobbler.url := "{ADDRESS}/2.0/"
settings.audioscrobbler.api_key := "key"
settings.audioscrobbler.api_secret := "secret"
"""


def run(t, text):
    """What a script prints, and what was asked meanwhile."""
    calls.clear()
    done = subprocess.run([t.binary, "-q", "--simulate", "0", text], capture_output=True, text=True, timeout=30)
    t.check("runs", done.returncode == 0, done.stdout + done.stderr)
    return done.stdout.splitlines()


@suite.test
def tells_what_plays(t):
    lines = run(t, SETTINGS + """
said = audioscrobbler.api.track.updateNowPlaying(username="me", password="right", artist="Björk", track="A & B", trackNumber=3)
print(said.lfm.nowplaying.artist)
print(said.lfm.nowplaying.artist.xml_params.corrected)
print(said.lfm.xml_params.status)
""")
    t.check("answer", lines == ["Björk", "1", "ok"], lines)
    t.check("two calls", [c[1]["method"] for c in calls] == ["auth.getMobileSession", "track.updateNowPlaying"], calls)
    t.check("what was told", calls[1][1]["track"] == "A & B" and calls[1][1]["trackNumber"] == "3" and "album" not in calls[1][1], calls)


@suite.test
def tells_what_was_played(t):
    lines = run(t, SETTINGS + """
said = audioscrobbler.api.track.scrobble(username="me", password="right", session_key="the-key", artist="A", track="T", timestamp=1000., chosenByUser=false)
print(said.lfm.scrobbles.scrobble.timestamp)
print(said.lfm.scrobbles.xml_params.accepted)
audioscrobbler.api.track.scrobble.metadata(username="me", password="right", session_key="the-key", [("artist", "B"), ("title", "U"), ("tracknumber", "x")])
audioscrobbler.api.track.scrobble.metadata(username="me", password="right", [("artist", "B")])
""")
    t.check("answer", lines == ["1000.0", "1"], lines)
    t.check("no session opened, nothing without a title", [c[1].get("track") for c in calls] == ["T", "U"], calls)
    t.check("what was told", calls[0][1]["timestamp"] == "1000" and calls[0][1]["chosenByUser"] == "0", calls)


@suite.test
def refusals_are_errors(t):
    lines = run(t, SETTINGS + """
try audioscrobbler.api.track.updateNowPlaying.metadata(username="me", password="wrong", [("artist", "A"), ("title", "T")]) catch e do print("#{e.kind}: #{e.message}") end
settings.audioscrobbler.api_secret := "bad"
try ignore(audioscrobbler.auth(username="me", password="right")) catch e do print("#{e.kind}: #{e.message}") end
settings.audioscrobbler.api_secret := ""
try ignore(audioscrobbler.auth(username="me", password="right")) catch e do print(e.kind) end
""")
    t.check("errors", lines == ["audioscrobbler: Error 4: Wrong password", "audioscrobbler: Error 13: Invalid method signature", "audioscrobbler"], lines)


@suite.test
def every_track_of_a_source(t):
    calls.clear()
    script = SETTINGS + """
tone = metadata.map(insert_missing=true, fun (_) -> [("artist", "A"), ("title", "T")], sine(duration=1., 440.))
output.dummy(audioscrobbler.submit(username="me", password="right", delay=0.5, tone))
"""
    process = subprocess.Popen([t.binary, "-q", script])
    wanted = ["track.updateNowPlaying", "track.scrobble"]
    found = wait_until(lambda: all(any(c[1].get("method") == w for c in list(calls)) for w in wanted), 10)
    process.terminate()
    t.check("ends", process.wait(10) == 0)
    t.check("told twice", found, calls)


@suite.test
def spinitron(t):
    lines = run(t, f"""
host = "{ADDRESS}/api"
spin = spinitron.submit(host=host, api_key="k", artist="A", song="S", duration=3)
print((spin.id, spin.spin_start, spin.artist, spin.release))
spin = spinitron.submit.metadata(host=host, api_key="k", [("artist", "B"), ("title", "T"), ("album", "L")])
print((spin.artist, spin.song, spin.release))
try ignore(spinitron.submit(host=host, api_key="k", artist="", song="S")) catch e do print("#{{e.kind}}: #{{e.message}}") end
try ignore(spinitron.submit(host=host, api_key="x", artist="A", song="S")) catch e do print(e.message) end
try ignore(spinitron.submit.metadata(host=host, api_key="k", [("title", "T")])) catch e do print(e.kind) end
print(spinitron.submit.raw(host=host, api_key="k", artist="A", song="S").status_code)
""")
    t.check("answers", lines[:2] == ['(7, "now", "A", null)', '("B", "T", "L")'], lines)
    t.check("errors", lines[2:5] == ["http: Spinitron refuses the track (422 Unprocessable Entity) artist: Artist cannot be blank.",
                                     "Spinitron refuses the track (401 Unauthorized) Unauthorized: No.", "invalid"], lines)
    t.check("raw", lines[5:] == ["201"], lines)
    t.check("what was told", calls[0][1] == {"song": "S", "artist": "A", "live": "0", "duration": "3"}, calls[0])


suite.main()
