"""harbor.http whole: middleware, CORS, folders in pieces, answers in pieces, and the pages of commands and variables."""

import hashlib
import socket
import time

from support import Castile, Suite, free_port, http_get, make_certificate, wait_until

suite = Suite()


def serve(t, script, port):
    radio = Castile(t.binary, script + "\noutput.dummy(blank())\n", t.folder)
    t.check("serves", wait_until(lambda: http_get(f"http://127.0.0.1:{port}/")[0] != 0, 10), radio.text)
    return radio


@suite.test
def middleware(t):
    port = free_port()
    script = f"""
harbor.http.register(port={port}, "/before", fun (request, response) -> response.data("before #{{request.headers["x-seen"]}}"))
harbor.http.middleware.register(fun (request, response, next) -> begin
  response.header("X-First", "1")
  next(request.{{headers = ("x-seen", "yes")::request.headers}}, response)
end)
harbor.http.middleware.register(fun (request, response, next) ->
  if request.query["stop"] == "" then next(request, response) else response.status_code(418) end)
harbor.http.middleware.register(harbor.http.middleware.cors(origin="https://site.example", max_age=60, exposed_headers=["X-First"]))
harbor.http.register(port={port}, method="OPTIONS", "/api/.*", fun (_, response) -> response.data("not reached"))
harbor.http.register(port={port}, "/api/:name", fun (request, response) -> response.data("api #{{request.query["name"]}}"))
harbor.http.register.simple(port={port}, "/simple", fun (_) -> "simple")
harbor.http.register(port={port}, "/removed/:id", fun (_, response) -> response.data("there"))
harbor.remove(port={port}, harbor.http.regexp_of_path("/removed/:id"))
harbor.http.register(port={port}, "/replaced", fun (_, response) -> response.data("old"))
harbor.http.register(port={port}, "/replaced", fun (_, response) -> response.data("new"))
harbor.http.register.regexp(port={port}, r/^\\/v(?<version>\\d+)$/, fun (request, response) -> response.data(request.query["version"]))
"""
    with serve(t, script, port):
        base = f"http://127.0.0.1:{port}"
        status, headers, body = http_get(base + "/before")
        t.check("also for handlers that were there before", (status, body, headers.get("X-First")) == (200, b"before yes", "1"), (status, body))
        t.check("one may answer itself", http_get(base + "/before?stop=1")[0] == 418)
        status, headers, body = http_get(base + "/api/music")
        t.check("CORS", headers.get("Access-Control-Allow-Origin") == "https://site.example" and headers.get("Vary") == "Origin" and
                headers.get("Access-Control-Expose-Headers") == "X-First", dict(headers))
        t.check("the handler still answers", body == b"api music", body)
        status, headers, body = http_get(base + "/api/music", method="OPTIONS", headers={"Access-Control-Request-Headers": "x-key"})
        t.check("what a browser asks beforehand", status == 204 and headers.get("Access-Control-Allow-Headers") == "x-key" and
                headers.get("Access-Control-Max-Age") == "60" and "POST" in headers.get("Access-Control-Allow-Methods", ""), (status, dict(headers)))
        status, headers, body = http_get(base + "/simple")
        t.check("simple handlers have none", body == b"simple" and headers.get("X-First") is None)
        t.check("a removed one is gone", http_get(base + "/removed/1")[0] == 404)
        t.check("a later one replaces", http_get(base + "/replaced")[2] == b"new")
        t.check("groups of an expression", http_get(base + "/v12")[2] == b"12" and http_get(base + "/vx")[0] == 404)


@suite.test
def folders(t):
    port = free_port()
    www = t.folder / "www"
    (www / "sub").mkdir(parents=True)
    big = bytes(range(256)) * 4096 * 30  # 30 MiB
    (www / "big.bin").write_bytes(big)
    (www / "empty").write_bytes(b"")
    (www / "sub" / "a <b>.txt").write_text("hello")
    (www / "sub" / ".hidden").write_text("no")
    (t.folder / "secret").write_text("secret")
    script = f"""
harbor.http.static(port={port}, path="/files", browse=true, "{www}")
harbor.http.static(port={port}, path="/closed/", headers=[("X-Mine", "1")], content_type=fun (_) -> "x/y", "{www}")
harbor.http.static.base(fun (~method, path, f) -> harbor.http.register(port={port}, method=method, path, f), content_type=fun (_) -> "x/z",
  basepath="base", headers=[], browse=true, "{www}")
"""
    with serve(t, script, port) as radio:
        base = f"http://127.0.0.1:{port}"
        before = radio.rss()
        status, headers, body = http_get(base + "/files/big.bin", limit=1 << 30)
        t.check("a whole file", status == 200 and hashlib.sha1(body).digest() == hashlib.sha1(big).digest(), (status, len(body)))
        t.check("in pieces", radio.rss() - before < 10 << 20, radio.rss() - before)
        t.check("its length and age", headers.get("Content-Length") == str(len(big)) and headers.get("Last-Modified", "").endswith("GMT"), dict(headers))
        t.check("other sites may", headers.get("Access-Control-Allow-Origin") == "*")

        def part(wanted):
            status, headers, body = http_get(base + "/files/big.bin", headers={"Range": wanted}, limit=1 << 30)
            return status, headers.get("Content-Range"), body

        size = len(big)
        t.check("a range", part("bytes=300-309") == (206, f"bytes 300-309/{size}", big[300:310]))
        t.check("its end", part("bytes=-5") == (206, f"bytes {size - 5}-{size - 1}/{size}", big[-5:]))
        t.check("from somewhere", part(f"bytes={size - 3}-") == (206, f"bytes {size - 3}-{size - 1}/{size}", big[-3:]))
        t.check("behind the end", part(f"bytes={size}-")[:2] == (416, f"bytes */{size}"))
        for nonsense in ("bytes=x-y", "bytes=9-1", "lines=1-2", "bytes=1-2,4-5", "bytes=-", "bytes=99999999999999999999-"):
            t.check(f"{nonsense} is the whole", part(nonsense)[0] == 200 and len(part(nonsense)[2]) == size)
        t.check("empty", http_get(base + "/files/empty")[0] == 200 and http_get(base + "/files/empty")[2] == b"")
        status, headers, body = http_get(base + "/files/big.bin", method="HEAD")
        t.check("HEAD", status == 200 and headers.get("Content-Length") == str(size) and body == b"")
        page = http_get(base + "/files/sub/")[2].decode()
        t.check("a list of files", 'href="a%20%3Cb%3E.txt">a &lt;b&gt;.txt<' in page and "hidden" not in page, page)
        t.check("its links work", http_get(base + "/files/sub/a%20%3Cb%3E.txt")[2] == b"hello")
        t.check("of folders too", 'href="sub/"' in http_get(base + "/files/")[2].decode())
        t.check("no list unless wanted", http_get(base + "/closed/sub/")[0] == 403)
        status, headers, _ = http_get(base + "/closed/empty")
        t.check("headers and type of one's own", headers.get("X-Mine") == "1" and headers.get("Content-Type") == "x/y", dict(headers))
        for path in ("/files/../secret", "/files/%2e%2e/secret", "/files/sub/..%2f..%2fsecret", "/files//../../secret", "/base/../secret", "/base/%2e%2e/secret"):
            t.check(f"{path} leads nowhere", http_get(base + path)[0] in (403, 404), http_get(base + path))
        status, headers, body = http_get(base + "/base/sub/a%20%3Cb%3E.txt")
        t.check("the function behind it", (status, body, headers.get("Content-Type")) == (200, b"hello", "x/z"), (status, body, dict(headers)))
        slow = [socket.create_connection(("127.0.0.1", port)) for _ in range(40)]
        for s in slow:
            s.sendall(b"GET /files/big.bin HTTP/1.1\r\nHost: x\r\n\r\n")  # and reads nothing
        time.sleep(0.5)
        t.check("slow clients hold little", radio.rss() - before < 30 << 20, radio.rss() - before)
        t.check("and hold up nobody", http_get(base + "/files/sub/a%20%3Cb%3E.txt")[2] == b"hello")
        for s in slow:
            s.close()


@suite.test
def answers(t):
    port = free_port()
    script = f"""
n = ref(0)
harbor.http.register(port={port}, "/pieces", fun (_, response) -> begin
  n := 0
  response.data({{
    n := n() + 1
    n() < 4 ? "piece #{{n()}} " : ""
  }})
end)
harbor.http.register(port={port}, "/breaks", fun (_, response) -> begin
  m = ref(0)
  response.data({{
    m := m() + 1
    if m() > 2 then error.raise(error.register("oops"), "broken") end
    "piece"
  }})
end)
harbor.http.register(port={port}, "/json", fun (_, response) -> response.json({{a = 1, b = [true]}}))
harbor.http.register(port={port}, "/form", fun (_, response) ->
  response.multipart_form(boundary="XX", [{{name = "f", attributes = [("filename", "x.txt")], headers = [("Content-Type", "a/b")], contents = getter("hello")}}]))
harbor.http.register(port={port}, "/state", fun (_, response) -> begin
  response.status_code(404)
  response.status_message("Not Here")
  response.content_type("a/b")
  response.headers([("X-One", "1")])
  response.header("X-Two", "2")
  response.data("#{{response.status_sent()}}")
end)
harbor.http.register(port={port}, "/split", fun (_, response) -> response.header("X-A", "1\\r\\nX-Evil: 2"))
harbor.http.register(port={port}, method="POST", "/twice", fun (request, response) -> begin
  body = harbor.http.mk_body(request.data)
  response.data("#{{body()}}#{{body()}}")
end)
"""
    with serve(t, script, port) as radio:
        base = f"http://127.0.0.1:{port}"
        t.check("in pieces", http_get(base + "/pieces")[2] == b"piece 1 piece 2 piece 3 ", http_get(base + "/pieces"))
        with socket.create_connection(("127.0.0.1", port)) as s:
            s.settimeout(5)
            s.sendall(b"GET /pieces HTTP/1.1\r\n\r\nGET /json HTTP/1.0\r\n\r\n")
            raw = b""
            while data := s.recv(65536):
                raw += data
        t.check("chunked, and the connection goes on", b"Transfer-Encoding: chunked\r\n" in raw and b"\r\n8\r\npiece 1 \r\n" in raw and
                b"\r\n0\r\n\r\nHTTP/1.1 200" in raw and raw.endswith(b'{"a":1,"b":[true]}\n'), raw)
        with socket.create_connection(("127.0.0.1", port)) as s:
            s.settimeout(5)
            s.sendall(b"GET /breaks HTTP/1.1\r\n\r\n")
            raw = b""
            while data := s.recv(65536):
                raw += data
        t.check("an answer that breaks off is seen to be cut", b"5\r\npiece\r\n" in raw and not raw.endswith(b"0\r\n\r\n"), raw)
        t.check("the log tells", radio.wait_log("broke off", 5), radio.text)
        status, headers, body = http_get(base + "/form")
        t.check("a form", body == b'--XX\r\nContent-Disposition: form-data; name="f"; filename="x.txt"\r\nContent-Type: a/b\r\n\r\nhello\r\n--XX--\r\n' and
                headers.get("Content-Type") == "multipart/form-data; boundary=XX", body)
        status, headers, body = http_get(base + "/state")
        t.check("all that can be set", (status, headers.get("Content-Type"), headers.get("X-One"), headers.get("X-Two"), body) ==
                (404, "a/b", "1", "2", b"false"), (status, dict(headers), body))
        t.check("no header in a header", "X-Evil" not in http_get(base + "/split")[1])
        t.check("a body read twice", http_get(base + "/twice", method="POST", data=b"ab")[2] == b"abab")


@suite.test
def pages(t):
    port = free_port()
    script = f"""
volume = interactive.float("volume", description="Volume <dB>", min=0., max=2., 1.)
on = interactive.bool("on", true)
name = interactive.string("name", "it's \\"x\\"")
interactive.harbor(port={port})
server.harbor(port={port})
server.register("state", fun (_) -> "#{{volume()}} #{{on()}} #{{name()}}")
"""
    with serve(t, script, port):
        base = f"http://127.0.0.1:{port}"
        page = http_get(base + "/interactive")[2].decode()
        t.check("a page of variables", "Volume &lt;dB&gt; (volume)" in page and "value='it&#39;s &quot;x&quot;'" in page, page)

        def post(path, data, headers=None):
            status, _, body = http_get(base + path, method="POST", data=data, headers=headers)
            return status, body.decode()

        t.check("changes", post("/interactive", b"volume=0.5&on=false&name=a+%26+b")[0] == 200)
        t.check("take effect", post("/telnet", b"state") == (200, "0.5 false a & b\n"), post("/telnet", b"state"))
        t.check("nonsense is refused", post("/interactive", b"volume=loud")[0] == 400 and post("/interactive", b"other=1")[0] == 400)
        t.check("a console", "<input id='line'" in http_get(base + "/telnet")[2].decode())
        t.check("commands", post("/telnet", b"nothing") == (200, 'ERROR: unknown command, type "help" to get a list of commands.\n'))
        other = {"Origin": "http://evil.example"}
        t.check("no commands from another site's page", post("/telnet", b"shutdown", other)[0] == 403 and post("/interactive", b"on=true", other)[0] == 403)
        t.check("from its own", post("/telnet", b"state", {"Origin": base})[0] == 200)


@suite.test
def over_tls(t):
    port = free_port()
    certificate, key = make_certificate(t.folder)
    script = f"""
transport = http.transport.ssl(certificate="{certificate}", key="{key}")
server.harbor(transport=transport, port={port})
harbor.http.static(transport=transport, port={port}, path="/files", "{t.folder}")
output.dummy(blank())
"""
    import ssl
    import urllib.request
    context = ssl.create_default_context(cafile=certificate)
    with Castile(t.binary, script, t.folder) as radio:
        t.check("says where", radio.wait_log(f"https://localhost:{port}/telnet", 10), radio.text)

        def get(path, data=None):
            with urllib.request.urlopen(f"https://localhost:{port}{path}", data=data, context=context, timeout=5) as answer:
                return answer.read()

        t.check("commands", get("/telnet", b"version").startswith(b"Liquidsoap "))
        t.check("files", b"BEGIN CERTIFICATE" in get("/files/cert.pem"))


suite.main()
