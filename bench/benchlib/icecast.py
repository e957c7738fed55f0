"""An icecast of our own on a free loopback port."""
import base64
import json
import os
import pathlib
import pwd
import secrets
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request

CONFIG = """<icecast>
  <limits><clients>{clients}</clients><sources>{sources}</sources><queue-size>524288</queue-size><burst-size>65535</burst-size></limits>
  <authentication><source-password>{password}</source-password><relay-password>{password}</relay-password>
    <admin-user>admin</admin-user><admin-password>{password}</admin-password></authentication>
  <hostname>localhost</hostname>
  <listen-socket><port>{port}</port><bind-address>127.0.0.1</bind-address></listen-socket>
  <fileserve>1</fileserve>
  <paths><basedir>{data}</basedir><logdir>{folder}</logdir><webroot>{data}/web</webroot><adminroot>{data}/admin</adminroot></paths>
  <logging><accesslog>access.log</accesslog><errorlog>error.log</errorlog><loglevel>2</loglevel></logging>
</icecast>
"""


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def _unprivileged():
    """Icecast refuses to run as root: the user to give it, if we are."""
    if os.geteuid() != 0:
        return None
    for name in ("icecast2", "icecast", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise RuntimeError("no user to run icecast as")


class Icecast:
    """`with Icecast(folder) as server`: started and answering; stopped at the end. `folder` gets its logs."""

    def __init__(self, folder, sources=400, port=None, password=None):
        self.folder = pathlib.Path(folder)
        self.sources, self.port = sources, port or free_port()
        self.password = password or secrets.token_hex(8)
        self.process = None

    def start(self):
        binary = shutil.which("icecast2") or shutil.which("icecast") or "/usr/bin/icecast2"
        if not os.path.exists(binary):
            raise RuntimeError("icecast2 is not installed (Debian package icecast2)")
        data = "/usr/share/icecast2" if os.path.isdir("/usr/share/icecast2") else "/usr/share/icecast"
        self.folder.mkdir(parents=True, exist_ok=True)
        user, extra = _unprivileged(), {}
        config = self.folder / "icecast.xml"
        config.write_text(CONFIG.format(clients=self.sources + 300, sources=self.sources, password=self.password,
                                        port=self.port, data=data, folder=self.folder), encoding="utf-8")
        if user:
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            os.chown(config, user.pw_uid, user.pw_gid)
            extra = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        self.process = subprocess.Popen([binary, "-c", str(config)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, cwd="/", **extra)
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return self
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.05)
        self.stop()
        raise RuntimeError(f"icecast did not start; see {self.folder}/error.log")

    def stop(self):
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process = None

    __enter__ = start

    def __exit__(self, *_):
        self.stop()

    @property
    def pid(self):
        return self.process.pid

    def url(self, mount):
        return f"http://127.0.0.1:{self.port}/{mount.lstrip('/')}"

    def mounts(self):
        """The mounts that have a source now: path -> the fields of status-json.xsl."""
        request = urllib.request.Request(self.url("status-json.xsl"))
        request.add_header("Authorization", "Basic " + base64.b64encode(f"admin:{self.password}".encode()).decode())
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                # Icecast writes a bare "-" for an empty title.
                text = answer.read().decode("utf-8", "replace").replace('" - "', '"-"').replace(': - ,', ': "-",')
                found = json.loads(text)["icestats"].get("source", [])
        except (OSError, ValueError, urllib.error.URLError):
            return {}
        found = found if isinstance(found, list) else [found]
        return {"/" + source["listenurl"].split("/", 3)[3]: source for source in found if "listenurl" in source}
