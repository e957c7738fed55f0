#!/usr/bin/env python3
"""castile lsp as an editor uses it, and castile fmt as a shell does: language_server.py BINARY."""
import json
import os
import pathlib
import select
import subprocess
import sys
import tempfile
import time

BINARY = str(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/release/castile").resolve())
passed, failed = 0, []


def check(name, good, detail=""):
    global passed
    if good:
        passed += 1
    else:
        failed.append(name)
        print(f"FAILED: {name}: {str(detail)[:1500]}")


class Server:
    def __init__(self, initialize=True, encodings=None, environment=None):
        self.process = subprocess.Popen([BINARY, "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
        self.buffer, self.next_id, self.notifications = b"", 1, []
        if initialize:
            capabilities = {"general": {"positionEncodings": encodings}} if encodings else {}
            self.info = self.request("initialize", {"processId": os.getpid(), "rootUri": None, "capabilities": capabilities})["result"]
            self.notify("initialized", {})

    def raw(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message):
        body = json.dumps(message).encode()
        self.raw(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def notify(self, method, params):
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def read(self, seconds=30):
        end = time.monotonic() + seconds
        while True:
            head, found, rest = self.buffer.partition(b"\r\n\r\n")
            if found:
                length = int(head.split(b":")[1])
                if len(rest) >= length:
                    self.buffer = rest[length:]
                    return json.loads(rest[:length])
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise TimeoutError("no message came")
            data = os.read(self.process.stdout.fileno(), 1 << 16)
            if not data:
                raise EOFError(self.process.stderr.read().decode())
            self.buffer += data

    def answer(self, id):
        while True:
            message = self.read()
            if "method" in message:
                self.notifications.append(message)
            elif message.get("id") == id:
                return message

    def request(self, method, params):
        id = self.next_id
        self.next_id += 1
        self.send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        return self.answer(id)

    def diagnostics(self, uri):
        while True:
            message = self.notifications.pop(0) if self.notifications else self.read()
            if message.get("method") == "textDocument/publishDiagnostics" and message["params"]["uri"] == uri:
                return message["params"]

    def open(self, uri, text, version=1):
        self.notify("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "liquidsoap", "version": version, "text": text}})

    def at(self, method, uri, line, character):
        answer = self.request("textDocument/" + method, {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}})
        return answer.get("result", answer)

    def close(self):
        answer = self.request("shutdown", None)
        self.notify("exit", None)
        return answer, self.process.wait(10)


def labels(items):
    return [item["label"] for item in items]


SCRIPT = """\
# Twice the number.
def double(~offset=0, x) =
  2 * x + offset
end

let (first, second) = (double(1), "text")
station = {name = "r\u00e1dio \U0001F3B5", port = 8000}
print(station.name) print(list.length([first]))
s = sine(440.)
output.dummy(s)
print(second)
"""


def editing():
    server, uri = Server(), "file:///tmp/castile%20test/script.liq"
    check("capabilities", server.info["capabilities"]["textDocumentSync"]["change"] == 2 and server.info["serverInfo"]["name"] == "castile", server.info)
    server.open(uri, SCRIPT)
    published = server.diagnostics(uri)
    check("no diagnostics of a good script", published["diagnostics"] == [] and published["version"] == 1, published)

    hover = server.at("hover", uri, 1, 6)
    check("hover of a definition", "(?offset : int, int) -> int" in hover["contents"]["value"] and "Twice the number." in hover["contents"]["value"], hover)
    hover = server.at("hover", uri, 5, 25)
    check("hover of its use", "double : " in hover["contents"]["value"] and "Twice" in hover["contents"]["value"], hover)
    hover = server.at("hover", uri, 2, 6)
    check("hover of a parameter", "x : int" in hover["contents"]["value"], hover)
    hover = server.at("hover", uri, 7, 33)
    check("hover of a builtin", "list.length : (['a]) -> int" in hover["contents"]["value"] and len(hover["contents"]["value"]) > 60, hover)
    hover = server.at("hover", uri, 7, 16)
    check("hover of a method", "name : string" in hover["contents"]["value"], hover)
    hover = server.at("hover", uri, 8, 0)
    check("hover of a source", "source(audio=pcm(" in hover["contents"]["value"], hover)
    check("hover of nothing", server.at("hover", uri, 3, 1) is None)

    place = server.at("definition", uri, 10, 8)
    check("definition of a pattern's name", place["uri"] == uri and place["range"]["start"] == {"line": 5, "character": 12}, place)
    place = server.at("definition", uri, 5, 24)
    check("definition of a function", place["range"]["start"] == {"line": 1, "character": 4}, place)
    place = server.at("definition", uri, 2, 10)
    check("definition of a labelled parameter", place["range"] == {"start": {"line": 1, "character": 12}, "end": {"line": 1, "character": 18}}, place)
    check("a builtin has no definition", server.at("definition", uri, 7, 33) is None)

    symbols = server.request("textDocument/documentSymbol", {"textDocument": {"uri": uri}})["result"]
    check("symbols", [(s["name"], s["kind"]) for s in symbols] == [("double", 12), ("(first, second)", 13), ("station", 13), ("s", 13)], symbols)

    # Changes: columns are UTF-16, so the note is two.
    server.notify("textDocument/didChange", {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [
        {"range": {"start": {"line": 6, "character": 27}, "end": {"line": 6, "character": 27}}, "text": "!"},
        {"range": {"start": {"line": 9, "character": 13}, "end": {"line": 9, "character": 14}}, "text": "secnd"}]})
    published = server.diagnostics(uri)["diagnostics"]
    check("an unknown name", len(published) == 1 and published[0]["code"] == 4 and published[0]["severity"] == 1 and
          published[0]["range"] == {"start": {"line": 9, "character": 13}, "end": {"line": 9, "character": 18}} and "second" in published[0]["message"], published)
    hover = server.at("hover", uri, 5, 25)
    check("hover beside an error", "double : " in hover["contents"]["value"], hover)
    server.notify("textDocument/didChange", {"textDocument": {"uri": uri, "version": 3}, "contentChanges": [{"text": SCRIPT + "def broken( =\n"}]})
    published = server.diagnostics(uri)["diagnostics"]
    check("a script that does not parse", len(published) == 1 and published[0]["code"] in (2, 3) and published[0]["range"]["start"]["line"] == 11, published)
    hover = server.at("hover", uri, 5, 25)
    check("the last good text still answers", "double : " in hover["contents"]["value"], hover)
    symbols = server.request("textDocument/documentSymbol", {"textDocument": {"uri": uri}})["result"]
    check("and has its symbols", len(symbols) == 4, symbols)
    refused = server.request("textDocument/formatting", {"textDocument": {"uri": uri}, "options": {"tabSize": 2, "insertSpaces": True}})
    check("it is not formatted", "error" in refused, refused)
    server.notify("textDocument/didChange", {"textDocument": {"uri": uri, "version": 4}, "contentChanges": [{"text": "x=1 # one\n\n\n\nunused = fun(y)->2\n"}]})
    published = server.diagnostics(uri)["diagnostics"]
    check("warnings", [(d["severity"], d["code"]) for d in published] and all(d["severity"] == 2 for d in published), published)
    edits = server.request("textDocument/formatting", {"textDocument": {"uri": uri}, "options": {}})["result"]
    check("formatting", len(edits) == 1 and edits[0]["newText"] == "x = 1 # one\n\nunused = fun (y) -> 2\n" and edits[0]["range"]["end"] == {"line": 5, "character": 0}, edits)
    server.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    check("closing clears", server.diagnostics(uri)["diagnostics"] == [])
    answer, code = server.close()
    check("shutdown", answer["result"] is None and code == 0, (answer, code))


def completing():
    server, uri = Server(), "untitled:1"

    def complete(text):
        server.open(uri, text)
        lines = text.split("\n")
        answer = server.request("textDocument/completion", {"textDocument": {"uri": uri}, "position": {"line": len(lines) - 1, "character": len(lines[-1])}})
        return answer["result"]

    items = complete("station = {name = \"x\", port = 1}\nfun_fair = 3\nfu")
    check("names of the script", "fun_fair" in labels(items) and all(i["label"].startswith("fu") for i in items), labels(items))
    items = complete("station = {name = \"x\", port = 1}\nprint(station.")
    check("methods of a record", labels(items) == ["name", "port"] or set(labels(items)) == {"name", "port"}, labels(items))
    check("and their types", {i["label"]: i["detail"] for i in items} == {"name": "string", "port": "int"}, items)
    items = complete("def f(s) =\n  if true then\n    s.skip()\n  end\nend\nx = sine()\nif x.is_")
    check("methods of a source, in an open condition", "is_ready" in labels(items) and all(l.startswith("is_") for l in labels(items)), labels(items))
    items = complete("x = list.m")
    check("members of a module", "map" in labels(items) and "length" not in labels(items), labels(items))
    check("with documentation", next(i for i in items if i["label"] == "map")["documentation"]["value"] != "", items)
    items = complete("settings.log.")
    check("settings", "level" in labels(items) and "file" in labels(items), labels(items))
    items = complete("output.file(%wav, \"x.wav\", app")
    check("labels in a call", labels(items)[:1] == ["append="] and items[0]["sortText"] < "1", labels(items))
    items = complete("def f(~first, ~second) = first + second end\nf(first=1, ")
    check("labels not given yet", "second=" in labels(items) and "first=" not in labels(items), labels(items)[:10])
    items = complete("x = [1, 2]\ny = \"a #{list.le")
    check("inside an interpolation", "length" in labels(items), labels(items))
    items = complete("thread.run(fun () -> begin\n  local = 3\n  print(loc")
    check("locals", "local" in labels(items), labels(items))
    check("nothing in a string", complete("x = \"print") == [])
    check("nothing in a comment", complete("# pri") == [])
    check("nothing in a number", complete("x = 12") == [])
    items = complete("x = 1 + \"a\"\ny = string.")
    check("after a type error", "concat" in labels(items), labels(items)[:10])
    items = complete("pr")
    check("names of the library", "print" in labels(items), labels(items))
    help = None
    server.open(uri, "output.file(%wav, ")
    help = server.at("signatureHelp", uri, 0, 18)
    check("signature", help["signatures"][0]["label"].startswith("output.file(") and help["activeParameter"] == 1, help)
    server.close()


def files():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder).resolve()
        (root / "lib.liq").write_text("def helper(x) = x + 1 end\nwrong = 1 + \"a\"\n")
        server, uri = Server(encodings=["utf-8", "utf-16"]), (root / "main.liq").as_uri()
        check("columns as agreed", server.info["capabilities"]["positionEncoding"] == "utf-8", server.info)
        text = "# comment\n%include \"lib.liq\"\n\"\u00e9\" print(helper(1))\n"
        server.open(uri, text)
        published = server.diagnostics(uri)["diagnostics"]
        check("an error in an included file", len(published) == 1 and published[0]["range"]["start"]["line"] == 1 and
              published[0]["relatedInformation"][0]["location"]["uri"].endswith("/lib.liq"), published)
        (root / "lib.liq").write_text("def helper(x) = x + 1 end\n")
        server.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
        published = server.diagnostics(uri)["diagnostics"]
        check("mended and saved", all(d["severity"] == 2 for d in published), published)
        place = server.at("definition", uri, 2, 11)
        check("definition in an included file", place["uri"].endswith("/lib.liq") and place["range"]["start"] == {"line": 0, "character": 4}, place)
        place = server.at("definition", uri, 1, 14)
        check("the included file itself", place["uri"] == (root / "lib.liq").as_uri(), place)
        server.open(uri, "s = blank()\ns = skip_blank(s)\nplaylist.log_of = 3\nx = list.mem_assoc\n")
        place = server.at("definition", uri, 3, 10)
        check("definition in the library", place is None or pathlib.Path(place["uri"][7:]).suffix == ".liq", place)
        server.close()


def hostile():
    server = Server(initialize=False)
    answer = server.request("textDocument/hover", {})
    check("before initialize", answer["error"]["code"] == -32002, answer)
    server.raw(b"Content-Length: 9\r\n\r\n{\"jsonrpc")
    check("broken JSON", server.read()["error"]["code"] == -32700)
    server.raw(b"Content-Length: 2\r\n\r\n[]")
    check("a batch", server.read()["error"]["code"] == -32600)
    server.raw(b"Content-Type: x\r\n\r\n")
    check("no length", server.read()["error"]["code"] == -32700)
    deep = b"[" * 100_000
    server.raw(b"Content-Length: %d\r\n\r\n" % len(deep) + deep)
    check("deep JSON", server.read()["error"]["code"] == -32700)
    size = (32 << 20) + 10
    server.raw(b"Content-Length: %d\r\n\r\n" % size + b" " * size)
    check("a message too large", server.read()["error"]["code"] == -32600)
    server.raw(b"Content-Length: 7\r\n\r\n\"\xff\xfe\x00ab\"")
    check("no UTF-8", server.read()["error"]["code"] == -32700)
    server.request("initialize", {"capabilities": {}})
    check("an unknown method", server.request("textDocument/nonsense", {})["error"]["code"] == -32601)
    check("wrong parameters", server.request("textDocument/hover", {"textDocument": 3})["error"]["code"] == -32602)
    check("parameters that are no object", server.request("textDocument/hover", [1, 2])["error"]["code"] == -32602)
    check("a document that is not open", "error" in server.request("textDocument/hover", {"textDocument": {"uri": "file:///x"}, "position": {"line": 0, "character": 0}}))
    server.notify("textDocument/didChange", {"textDocument": {"uri": "file:///x"}, "contentChanges": [{"text": 3}]})
    server.notify("$/unknown", {})
    uri = "file:///tmp/h.liq"
    for text in ("(" * 100_000, "x" * 1_000_000, "\u0000\u0001", "\"" + "a" * 100_000, "x = " + "1 + " * 20_000 + "1", "def f(x) = (x, x) end\n" + "y = " + "f(" * 60 + "1" + ")" * 60,
                 "%include \"/dev/zero\"\n", "%include \"/tmp/h.liq\"\n"):
        server.open(uri, text)
        published = server.diagnostics(uri)["diagnostics"]
        check(f"a diagnostic of {text[:20]!r}", isinstance(published, list), published)
        server.at("hover", uri, 0, 3)
        server.at("completion", uri, 0, min(len(text), 500))
    for position in ((10**9, 0), (0, 10**9), (10**9, 10**9)):
        server.at("hover", uri, *position)
    bad = server.request("textDocument/hover", {"textDocument": {"uri": uri}, "position": {"line": -1, "character": "x"}})
    check("a position that is none", bad["error"]["code"] == -32602, bad)
    server.open(uri, "x = 1\nprint(x)\n")
    for _ in range(200):
        server.notify("textDocument/didChange", {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [
            {"range": {"start": {"line": 0, "character": 4}, "end": {"line": 0, "character": 5}}, "text": "2"}]})
    hover = server.at("hover", uri, 1, 6)
    check("after a burst of changes", "x : int" in hover["contents"]["value"], hover)
    answer, code = server.close()
    check("alive to the end", answer["result"] is None and code == 0, (answer, code))
    server = Server()
    server.process.stdin.close()
    check("the end of the input ends it", server.process.wait(10) == 1)
    server = Server()
    server.notify("exit", None)
    check("exit without shutdown", server.process.wait(10) == 1)


def broken_library():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "bad.liq").write_text("def in_bad() = 1 + true end\n")
        (root / "worse.liq").write_text("def in_worse( = (((\n")
        (root / "good.liq").write_text("# Half.\ndef half(x) = x / 2 end\n")
        for name, place in (("broken", root), ("missing", root / "none")):
            environment = {**os.environ, "CASTILE_STDLIB": str(place)}
            server = Server(environment=environment)
            told = [m["params"]["message"] for m in server.notifications if m["method"] == "window/logMessage"]
            check(f"{name} library: told", len(told) == (2 if name == "broken" else 0), told)
            uri = "file:///tmp/l.liq"
            server.open(uri, "x = 1\nprint(x + y)\n")
            said = server.diagnostics(uri)["diagnostics"]
            check(f"{name} library: diagnostics", len(said) == 1 and said[0]["code"] == 4, said)
            if name == "broken":
                server.open(uri, "y = half(3)\nprint(y)\n", 2)
                check("broken library: the rest serves", server.diagnostics(uri)["diagnostics"] == [])
            check(f"{name} library: the end", server.close()[1] == 0)
            done = subprocess.run([BINARY, "fmt", "-"], input="f( 1 )", capture_output=True, timeout=60, text=True, env=environment)
            check(f"{name} library: fmt", (done.returncode, done.stdout) == (0, "f(1)\n"), done)


def formatting():
    def run(*arguments, stdin=None):
        done = subprocess.run([BINARY, "fmt", *map(str, arguments)], input=stdin, capture_output=True, timeout=60, text=True)
        return done.returncode, done.stdout, done.stderr

    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        script, good, broken = root / "a.liq", root / "b.liq", root / "c.liq"
        script.write_text("x=1 # c\n")
        script.chmod(0o640)
        good.write_text("y = 2\n")
        broken.write_text("def (\n")
        link = root / "link.liq"
        link.symlink_to(script)
        check("--check names what would change", run("--check", script, good) == (1, f"{script}\n", ""))
        check("and changes nothing", script.read_text() == "x=1 # c\n")
        check("--stdout", run("--stdout", script) == (0, "x = 1 # c\n", "") and script.read_text() == "x=1 # c\n")
        check("standard input", run("-", stdin="f( 1 )") == (0, "f(1)\n", ""))
        code, out, err = run(link, broken, good, root / "none.liq")
        check("in place, past errors", code == 1 and out == "" and script.read_text() == "x = 1 # c\n" and "Error" in err and "none.liq" in err, err)
        check("the link and the permissions stay", link.is_symlink() and script.stat().st_mode & 0o777 == 0o640)
        check("what does not parse stays", broken.read_text() == "def (\n")
        check("no leftovers", sorted(p.name for p in root.iterdir()) == ["a.liq", "b.liq", "c.liq", "link.liq"])
        check("--check is content", run("--check", script, good) == (0, "", ""))
        check("bad calls", run()[0] == 2 and run("--nonsense", script)[0] == 2)


for test in (editing, completing, files, hostile, broken_library, formatting):
    try:
        test()
    except Exception as error:  # the other tests still tell something
        failed.append(test.__name__)
        print(f"FAILED: {test.__name__}: {error!r}")
print(f"{passed} passed, {len(failed)} failed")
sys.exit(1 if failed else 0)
