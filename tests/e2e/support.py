"""Helpers of the end-to-end tests (standard library only): start castile and icecast2, free ports, waiting, counting.

A test is a script: `python3 NAME.py BINARY`. It prints what fails, ends with "N passed, N failed" and exits non-zero on failure.

    from support import Castile, Icecast, Suite, free_port, make_audio, wait_until

    suite = Suite()

    @suite.test
    def plays(t):
        with Icecast(t.folder) as icecast, Castile(t.binary, script, folder=t.folder) as radio:
            radio.wait_log("Connection setup was successful", 10)
            t.check("title", icecast.mount("/x") is not None)

    suite.main()
"""

import base64
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import urllib.error
import urllib.request

ICECAST_SHARE = pathlib.Path("/usr/share/icecast2")


def free_port():
    """A TCP port that was free on loopback a moment ago."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_until(condition, timeout, interval=0.05):
    """Polls until condition() is true; returns its value, or the last (false) one after `timeout` seconds."""
    end = time.monotonic() + timeout
    while True:
        value = condition()
        if value or time.monotonic() > end:
            return value
        time.sleep(interval)


def make_audio(path, seconds=5, frequency=440, codec=None, title=None, artist=None):
    """A sine tone in any format ffmpeg knows by its extension."""
    command = ["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", f"sine=frequency={frequency}:duration={seconds}:sample_rate=44100",
               "-ac", "2"]
    if codec:
        command += ["-c:a", codec]
    for key, value in (("title", title), ("artist", artist)):
        if value:
            command += ["-metadata", f"{key}={value}"]
    subprocess.run(command + [str(path)], check=True, stdin=subprocess.DEVNULL)
    return str(path)


def make_certificate(folder):
    """A self-signed certificate for localhost: (certificate, key) paths."""
    certificate, key = pathlib.Path(folder) / "cert.pem", pathlib.Path(folder) / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return str(certificate), str(key)


def ffprobe(url_or_path, timeout=20):
    """Streams of a file or URL as ffprobe sees them ([] when it cannot)."""
    run = subprocess.run(["ffprobe", "-v", "error", "-show_streams", "-of", "json", str(url_or_path)], capture_output=True,
                         timeout=timeout)
    return json.loads(run.stdout or b"{}").get("streams", []) if run.returncode == 0 else []


def decode_errors(url_or_path, seconds=None, timeout=60):
    """What ffmpeg complains about when it decodes everything: "" when all is well."""
    limit = ["-t", str(seconds)] if seconds else []
    run = subprocess.run(["ffmpeg", "-v", "warning", "-nostdin", "-xerror", *limit, "-i", str(url_or_path), "-f", "null", "-"],
                         capture_output=True, timeout=timeout)
    # A stream's MP3 has no header that says how long it is: not a fault.
    lines = [line for line in run.stderr.decode(errors="replace").splitlines() if "Estimating duration from bitrate" not in line]
    text = "\n".join(lines).strip()
    return text or ("" if run.returncode == 0 else f"exit {run.returncode}")


def http_get(url, headers=None, timeout=5, limit=1 << 20, method="GET", data=None):
    """(status, headers, body): at most `limit` bytes; an HTTP error is a status like any other; status 0: no connection."""
    request = urllib.request.Request(url, headers=headers or {}, method=method, data=data)
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return answer.status, answer.headers, answer.read(limit)
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read(limit)
    except (urllib.error.URLError, OSError) as error:
        return 0, {}, str(error).encode()


class Process:
    """A child whose output (both streams) is kept as lines. Ends by its own pid only."""

    def __init__(self, command, cwd=None, env=None, stdin=subprocess.DEVNULL):
        self.lines = []
        self._changed = threading.Condition()
        self.process = subprocess.Popen([str(c) for c in command], cwd=cwd, env=env, stdin=stdin, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT)
        self.pid = self.process.pid
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            with self._changed:
                self.lines.append(line.decode(errors="replace").rstrip("\n"))
                self._changed.notify_all()
        with self._changed:
            self._changed.notify_all()

    @property
    def text(self):
        return "\n".join(self.lines)

    def count(self, pattern):
        return sum(1 for line in list(self.lines) if re.search(pattern, line))

    def wait_log(self, pattern, timeout=10, times=1):
        """True as soon as `times` lines match; False after `timeout`."""
        end = time.monotonic() + timeout
        with self._changed:
            while self.count(pattern) < times:
                left = end - time.monotonic()
                if left <= 0 or (self.process.poll() is not None and not self._reader.is_alive()):
                    return self.count(pattern) >= times
                self._changed.wait(min(left, 0.2))
        return True

    def wait_exit(self, timeout=10):
        """Exit code, or None when it still runs."""
        try:
            code = self.process.wait(timeout)
            self._reader.join(2)
            return code
        except subprocess.TimeoutExpired:
            return None

    def stop(self, timeout=10):
        """SIGTERM, then SIGKILL after `timeout`; returns the exit code (negative: a signal)."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            if self.wait_exit(timeout) is None:
                self.process.kill()
        return self.wait_exit(5)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        return self.wait_exit(5)

    def rss(self):
        """Resident bytes."""
        for line in pathlib.Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) * 1024
        return 0

    def fds(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def threads(self):
        return len(os.listdir(f"/proc/{self.pid}/task"))

    def voluntary_switches(self):
        total = 0
        for task in pathlib.Path(f"/proc/{self.pid}/task").iterdir():
            with contextlib.suppress(OSError):
                total += int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", (task / "status").read_text(), re.M).group(1))
        return total

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


class Castile(Process):
    """castile running a script given as text (written to `folder`/script.liq) or as a pathlib.Path."""

    def __init__(self, binary, script, folder, arguments=(), env=None, name="script.liq"):
        if isinstance(script, pathlib.Path):
            path = script
        else:
            path = pathlib.Path(folder) / name
            path.write_text(script)
        super().__init__([binary, path, *arguments], cwd=folder, env={**os.environ, **(env or {})})


class Icecast(Process):
    """A real icecast2 on a free loopback port, as nobody when we are root."""

    def __init__(self, folder, port=None, password="hackme", admin="adminpass", certificate=None, extra="", sources=100,
                 clients=1000, burst=65535, queue=524288):
        self.port, self.password, self.admin = port or free_port(), password, admin
        self.tls_port = free_port() if certificate else None
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="icecast", dir=str(folder)))
        tls = f"<ssl-certificate>{self.folder}/bundle.pem</ssl-certificate>" if certificate else ""
        socket_tls = (f"<listen-socket><port>{self.tls_port}</port><bind-address>127.0.0.1</bind-address><ssl>1</ssl>"
                      "</listen-socket>" if certificate else "")
        if certificate:
            bundle = self.folder / "bundle.pem"
            bundle.write_text("".join(pathlib.Path(p).read_text() for p in certificate))
        config = self.folder / "icecast.xml"
        config.write_text(f"""<icecast>
  <location>test</location><admin>test@localhost</admin><hostname>localhost</hostname>
  <limits><clients>{clients}</clients><sources>{sources}</sources><queue-size>{queue}</queue-size><client-timeout>10</client-timeout>
    <header-timeout>5</header-timeout><source-timeout>10</source-timeout><burst-on-connect>1</burst-on-connect>
    <burst-size>{burst}</burst-size></limits>
  <authentication><source-password>{password}</source-password><relay-password>{password}</relay-password>
    <admin-user>admin</admin-user><admin-password>{admin}</admin-password></authentication>
  <listen-socket><port>{self.port}</port><bind-address>127.0.0.1</bind-address></listen-socket>{socket_tls}
  {extra}
  <fileserve>0</fileserve>
  <paths><basedir>{ICECAST_SHARE}</basedir><logdir>{self.folder}</logdir><webroot>{ICECAST_SHARE}/web</webroot>
    <adminroot>{ICECAST_SHARE}/admin</adminroot>{tls}</paths>
  <logging><accesslog>access.log</accesslog><errorlog>error.log</errorlog><loglevel>3</loglevel></logging>
  <security><chroot>0</chroot></security>
</icecast>
""")
        command = [shutil.which("icecast2") or "/usr/bin/icecast2", "-c", config]
        if os.geteuid() == 0:
            for path in [self.folder, *self.folder.iterdir()]:
                shutil.chown(path, "nobody", "nogroup")
            for parent in self.folder.parents:  # a temporary folder of root's is 0700
                if str(parent).startswith(tempfile.gettempdir() + "/"):
                    parent.chmod(0o755)
            command = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", *command]
        super().__init__(command, cwd=self.folder)
        if not wait_until(self.listening, 10):
            raise RuntimeError("icecast2 did not start:\n" + self.text)

    def listening(self):
        with socket.socket() as s:
            s.settimeout(1)
            return s.connect_ex(("127.0.0.1", self.port)) == 0

    def url(self, path):
        return f"http://127.0.0.1:{self.port}/{path.lstrip('/')}"

    def sources(self):
        """Mounts by path: what /status-json.xsl says of each."""
        status, _, body = http_get(self.url("/status-json.xsl"))
        if status != 200:
            return {}
        try:
            found = json.loads(body)["icestats"].get("source", [])
        except ValueError:
            return {}
        found = found if isinstance(found, list) else [found]
        return {"/" + s["listenurl"].split("/", 3)[3]: s for s in found if "listenurl" in s}

    def mount(self, path):
        return self.sources().get("/" + path.lstrip("/"))

    def admin_get(self, path):
        token = base64.b64encode(f"admin:{self.admin}".encode()).decode()
        return http_get(self.url(path), headers={"Authorization": "Basic " + token})


class Test:
    """What a test function gets: binary, an empty folder of its own, and check()."""

    def __init__(self, binary, folder):
        self.binary, self.folder, self.failures, self.passed = binary, folder, [], 0

    def check(self, what, condition, detail=""):
        if condition:
            self.passed += 1
        else:
            self.failures.append(f"{what}{': ' if detail != '' else ''}{detail}")
        return bool(condition)


class Suite:
    def __init__(self):
        self.tests = []

    def test(self, function):
        self.tests.append(function)
        return function

    def main(self):
        if len(sys.argv) < 2:
            sys.exit(f"usage: python3 {sys.argv[0]} BINARY [TEST...]")
        binary, wanted = str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2:]
        passed = failed = 0
        for function in self.tests:
            if wanted and function.__name__ not in wanted:
                continue
            started = time.monotonic()
            with tempfile.TemporaryDirectory(prefix="castile-e2e-", ignore_cleanup_errors=True) as folder:
                test = Test(binary, pathlib.Path(folder))
                try:
                    function(test)
                except Exception:  # noqa: BLE001: a test that dies is a failure, the others go on
                    test.failures.append(traceback.format_exc())
            if test.failures:
                failed += 1
                print(f"FAIL {function.__name__}", flush=True)
                for failure in test.failures:
                    print("     " + failure.replace("\n", "\n     "), flush=True)
            else:
                passed += 1
                print(f"ok   {function.__name__} ({test.passed} checks, {time.monotonic() - started:.1f} s)", flush=True)
        print(f"{passed} passed, {failed} failed")
        sys.exit(1 if failed else 0)
