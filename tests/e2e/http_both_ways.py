"""HTTP both ways: handlers written in the script, folders served, and requests that are downloaded."""

import functools
import http.server
import json
import threading

from support import Castile, Suite, decode_errors, free_port, http_get, make_audio, wait_until

suite = Suite()


@suite.test
def handlers(t):
    port = free_port()
    (t.folder / "www").mkdir()
    (t.folder / "www" / "a.txt").write_text("a file")
    (t.folder / "secret").write_text("secret")
    text = f"""
harbor.http.register(port={port}, "/hello", fun (request, response) -> begin
  response.status_code(201)
  response.header("X-Method", request.method)
  response.html("<b>hello</b>")
end)
harbor.http.register(port={port}, method="POST", "/users/:id", fun (request, response) ->
  response.json({{id = request.query["id"], q = request.query["q"], body = request.body(), n = 3, list = [1, 2]}}))
harbor.http.register(port={port}, "/gone", fun (_, response) -> response.redirect("/hello"))
harbor.http.register.simple(port={port}, "/simple", fun (request) -> http.response(content_type="text/x-test", data="simple #{{request.path}}"))
harbor.http.register(port={port}, "/fails", fun (_, _) -> error.raise(error.register("oops"), "no"))
harbor.http.static(port={port}, path="/files", "{t.folder}/www")
output.dummy(sine())
"""
    with Castile(t.binary, text, t.folder) as radio:
        base = f"http://127.0.0.1:{port}"
        t.check("up", wait_until(lambda: http_get(base + "/hello")[0] == 201, 10), radio.text)
        status, headers, body = http_get(base + "/hello")
        t.check("html", body == b"<b>hello</b>" and headers["X-Method"] == "GET" and headers["Content-Type"].startswith("text/html"), (status, body))
        status, headers, body = http_get(base + "/users/42?q=%C3%A9", method="POST", data=b"the body")
        answer = json.loads(body) if status == 200 else {}
        t.check("json", answer == {"id": "42", "q": "é", "body": "the body", "n": 3, "list": [1, 2]}, (status, body))
        t.check("redirect is followed", http_get(base + "/gone")[2] == b"<b>hello</b>")
        status, headers, body = http_get(base + "/simple")
        t.check("simple", status == 200 and body == b"simple /simple" and headers["Content-Type"] == "text/x-test", (status, body))
        t.check("an error is a 500", http_get(base + "/fails")[0] == 500)
        t.check("and is logged", radio.wait_log("oops|no", 5), radio.text)
        t.check("405", http_get(base + "/hello", method="POST", data=b"x")[0] == 405)
        status, headers, body = http_get(base + "/files/a.txt")
        t.check("a file", body == b"a file" and headers["Content-Type"].startswith("text/plain"), (status, body))
        for path in ("/files/../secret", "/files/%2e%2e/secret", "/files/..%2fsecret", "/files//../secret", "/files/"):
            status, _, body = http_get(base + path)
            t.check(path, status in (403, 404) and b"secret" not in body, (status, body))
        t.check("exit 0", radio.stop() == 0, radio.text)


@suite.test
def requests_are_downloaded(t):
    music = t.folder / "served"
    music.mkdir()
    make_audio(music / "song.mp3", seconds=20, title="From afar")
    (music / "text.mp3").write_text("this is no music\n" * 100)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(music)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base, port, temporary = f"http://127.0.0.1:{server.server_address[1]}", free_port(), t.folder / "tmp"
    temporary.mkdir()
    text = f"""
settings.log.level := 4
q = request.queue()
q.push(request.create("{base}/missing.mp3"))
q.push(request.create("{base}/text.mp3"))
q.push(request.create("http://127.0.0.1:{free_port()}/nobody.mp3"))
q.push(request.create("annotate:artist=\\"Far\\":{base}/song.mp3"))
output.harbor(%mp3, port={port}, mount="x", mksafe(q))
"""
    with Castile(t.binary, text, t.folder, env={"TMPDIR": str(temporary)}) as radio:
        def title():
            status, _, body = http_get(f"http://127.0.0.1:{port}/api/status")
            return status == 200 and json.loads(body)["mounts"][0]["song"] == "Far - From afar"
        t.check("what is bad is passed over, the song is played", wait_until(title, 20), radio.text)
        t.check("a 404 is told", radio.count("404"), radio.text)
        complaint = decode_errors(f"http://127.0.0.1:{port}/x", seconds=3)
        t.check("decodes", complaint == "", complaint)
        t.check("one temporary file at most", len(list(temporary.glob("castile-*"))) <= 1, list(temporary.iterdir()))
        radio.stop()
        t.check("none stays", not list(temporary.glob("castile-*")), list(temporary.iterdir()))
    server.shutdown()


if __name__ == "__main__":
    suite.main()
