"""Calls of scripts over HTTP and sockets, to servers of the test's own."""

import http.server
import json
import pathlib
import socket
import subprocess
import threading

from support import Suite, free_port

suite = Suite()


class Server(http.server.BaseHTTPRequestHandler):
    """Tells what it was sent, as JSON; /odd ones misbehave."""

    protocol_version = "HTTP/1.1"

    def answer(self, status, body, headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def body(self):
        if self.headers.get("Transfer-Encoding") == "chunked":
            data = b""
            while size := int(self.rfile.readline(), 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return data
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def handle_any(self):
        data = self.body()
        if self.path == "/redirect":
            return self.answer(302, b"", [("Location", "/there")])
        if self.path == "/missing":
            return self.answer(404, b"no such thing")
        if self.path == "/big":
            return self.answer(200, b"x" * 3_000_000)
        if self.path == "/nothing":
            return self.close_now()
        told = {"method": self.command, "path": self.path, "mine": self.headers.get("X-Mine", ""), "type": self.headers.get("Content-Type", ""),
                "chunked": self.headers.get("Transfer-Encoding", ""), "body": data.decode("latin-1")}
        self.answer(200, json.dumps(told).encode(), [("X-Answer", "yes"), ("Content-Type", "application/json")])

    def close_now(self):
        self.connection.shutdown(socket.SHUT_RDWR)
        self.close_connection = True

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = handle_any

    def handle(self):
        try:
            super().handle()
        except ConnectionError:
            pass  # who had enough

    def log_message(self, *_):
        pass


def run(t, text):
    """Runs a script that prints; its lines."""
    script = pathlib.Path(t.folder) / "script.liq"
    script.write_text(text)
    done = subprocess.run([t.binary, "-q", "--simulate", "0", str(script)], capture_output=True, timeout=60, stdin=subprocess.DEVNULL)
    return done.stdout.decode(errors="replace").splitlines(), done.stderr.decode(errors="replace")


@suite.test
def calls(t):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_address[1]}"
    silent = socket.socket()
    silent.bind(("127.0.0.1", 0))
    silent.listen(1)
    slow = f"http://127.0.0.1:{silent.getsockname()[1]}/"
    (t.folder / "up.txt").write_text("what is in the file")
    lines, errors = run(t, f"""
r = http.get(headers=[("X-Mine", "me")], "{base}/a b?c=d")
print(r)
print((r.status_code, r.status_message, r.http_version, r.headers["x-answer"]))
print(http.head("{base}/h").status_code)
print(http.delete("{base}/d").status_code)
print(http.post(data="posted", "{base}/p"))
parts = ref(["one,", "two,", "three", ""])
def next() =
  l = parts()
  parts := list.tl(l)
  list.hd(default="", l)
end
print(http.put(data=next, "{base}/q"))
print(http.get("{base}/redirect"))
print(http.get(redirect=false, "{base}/redirect").status_code)
r = http.get("{base}/missing")
print((r.status_code, r))
print(http.get("{base}/nothing").status_code)
print(http.get("http://127.0.0.1:{free_port()}/").status_code)
print(http.get("http://no.such.host.invalid/").status_code)
print(http.get(timeout=0.2, "{slow}").status_code)
print(try http.get("ftp://127.0.0.1/x").status_message catch e do e.kind end)
print(try http.get("not a url") catch e do e.kind end)
size = ref(0)
ended = ref(false)
def take(part) =
  if null.defined(part) then size := size() + string.bytes.length(null.get(part)) else ended := true end
end
print(http.get.stream("{base}/big", on_body_data=take).status_code)
print((size(), ended()))
print(http.post.stream(data="x", "{base}/s", on_body_data=fun (part) -> if null.defined(part) then print(null.get(part)) end).status_code)
print(try ignore(http.get.stream("{base}/big", on_body_data=fun (_) -> error.raise(error.failure, "enough"))) "done" catch e do e.message end)
print(http.post.file(name="field", boundary="BB", file="{t.folder}/up.txt", "{base}/f"))
print(http.put.file(boundary="BB", filename="n.bin", contents="given", "{base}/f"))
print(file.download(filename="{t.folder}/down", "{base}/x"))
print(file.exists("{t.folder}/down"))
print(file.download(filename="{t.folder}/none", "{base}/missing"))
print(http.get(http_version="1.0", "{base}/old").status_code)
""")
    t.check("nothing on standard error", errors == "", errors)
    if not t.check("all lines", len(lines) == 26, lines):
        return
    told = json.loads(lines[0])
    t.check("get", (told["method"], told["path"], told["mine"]) == ("GET", "/a%20b?c=d", "me"), told)
    t.check("record", lines[1] == '(200, "OK", "1.1", "yes")', lines[1])
    t.check("head, delete", lines[2:4] == ["200", "200"], lines[2:4])
    t.check("post", json.loads(lines[4])["body"] == "posted", lines[4])
    told = json.loads(lines[5])
    t.check("put of a function", told["body"] == "one,two,three" and told["chunked"] == "chunked" and told["method"] == "PUT", told)
    t.check("redirect", json.loads(lines[6])["path"] == "/there" and lines[7] == "302", lines[6:8])
    t.check("404", lines[8].startswith("(404, \"no such thing\""), lines[8])
    t.check("failures are statuses", lines[9:13] == ["523", "523", "523", "522"], lines[9:13])
    t.check("what is no HTTP is an error", lines[13:15] == ["http", "http"], lines[13:15])
    t.check("streamed", lines[15:17] == ["200", "(3000000, true)"], lines[15:17])
    t.check("streamed post", json.loads(lines[17])["body"] == "x" and lines[18] == "200", lines[17:19])
    t.check("errors of the taker come through", lines[19] == "enough", lines[19])
    told = json.loads(lines[20])
    t.check("file as a form", told["type"] == "multipart/form-data; boundary=BB" and 'name="field"; filename="up.txt"' in told["body"]
            and "\r\n\r\nwhat is in the file\r\n--BB--\r\n" in told["body"], told)
    told = json.loads(lines[21])
    t.check("contents as a form", told["method"] == "PUT" and 'filename="n.bin"' in told["body"] and "given" in told["body"], told)
    t.check("download", lines[22:25] == ["true", "true", "false"], lines[22:25])
    t.check("HTTP 1.0", lines[25] == "200", lines[25:])
    server.shutdown()


@suite.test
def sockets_in_tasks(t):
    """What waits for a socket does not hold up the rest."""
    path = t.folder / "socket"
    script = pathlib.Path(t.folder) / "script.liq"
    script.write_text(f"""
thread.run(fun () -> begin
  s = socket.unix.listen("{path}")
  s.write.wait(fun () -> begin
    s.write("from the server")
    s.close()
  end)
end)
thread.run(delay=0.3, fun () -> begin
  s = socket.unix.client("{path}")
  s.read.wait(fun () -> begin
    print("got: #{{s.read()}}")
    s.close()
    shutdown()
  end)
end)
let (a, b) = begin p = socket.pair(domain=socket.domain.unix) (p, p.peer) end
thread.on_error(error.socket, fun (~backtrace, e) -> begin ignore(backtrace) print("error: #{{e.message}}") end)
a.read.wait(timeout=0.1, fun () -> print("not reached"))
thread.run(delay=0.2, fun () -> begin b.write("later") print("still here: #{{a.read()}}") end)
settings.init.force_start := true
""")
    done = subprocess.run([t.binary, "-q", str(script)], capture_output=True, timeout=60, stdin=subprocess.DEVNULL)
    out = done.stdout.decode()
    t.check("exit", done.returncode == 0, (done.returncode, out, done.stderr.decode()))
    t.check("data came", "got: from the server" in out, out)
    t.check("too late", "error: Timeout while reading from the socket!" in out and "not reached" not in out, out)
    t.check("open after that", "still here: later" in out, out)


if __name__ == "__main__":
    suite.main()
