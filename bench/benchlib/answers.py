"""How soon an engine answers while it has more to do than the machine can, and a server that does nothing, asked beside it."""
import dataclasses
import socket
import subprocess
import sys
import time

# Wants `milliseconds` of a processor for each frame of 20 ms; `load` (a float, 1. at first) multiplies all of them.
BUSY = """
load = ref(1.)
def busy(milliseconds) =
  def burn() =
    since = time()
    while time() - since < load() * milliseconds / 1000. do () end
  end
  burn
end
def stream(name, milliseconds, priority) =
  s = sine(id="tone_#{name}")
  s.on_frame(synchronous=true, busy(milliseconds))
  output.dummy(id=name, s)
  ignore(clock(priority=priority, s.clock))
end
"""

IDLE_SERVER = """
import socket, sys
with socket.create_server(("127.0.0.1", 0)) as server:
    print(server.getsockname()[1], flush=True)
    while True:
        peer, _ = server.accept()
        with peer:
            try:
                while peer.recv(100):
                    peer.sendall(b"0d 00h 00m 00s\\r\\nEND\\r\\n")
            except OSError:
                pass
"""


class Session:
    """A telnet session that stays."""

    def __init__(self, port, timeout=10):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout)
        self.buffer = b""

    def ask(self, command="uptime"):
        """Seconds that the answer took."""
        begun = time.monotonic()
        self.socket.sendall(command.encode() + b"\n")
        while b"END\r\n" not in self.buffer:
            data = self.socket.recv(4096)
            if not data:
                raise OSError("the session was closed")
            self.buffer += data
        self.buffer = self.buffer.partition(b"END\r\n")[2]
        return time.monotonic() - begun

    def close(self):
        self.socket.close()


def page(port, path="/", timeout=10):
    """Seconds that a page took, on a connection of its own."""
    begun = time.monotonic()
    with socket.create_connection(("127.0.0.1", port), timeout) as peer:
        peer.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        answer = b""
        while data := peer.recv(65536):
            answer += data
    if not answer.startswith(b"HTTP/1.1 200"):
        raise OSError(f"no answer: {answer[:100]!r}")
    return time.monotonic() - begun


class IdleServer:
    """A process that only answers: what it takes is what the machine takes."""

    def __enter__(self):
        self.process = subprocess.Popen([sys.executable, "-c", IDLE_SERVER], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.port = int(self.process.stdout.readline())
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


@dataclasses.dataclass
class Asked:
    telnet: list     # seconds, each answer
    http: list
    idle: list       # of the server that does nothing


def ask(telnet, http, seconds, pause=0.02):
    """Asks for so long (once at least), one after the other: `uptime` in a session, a page (when there is a port), the server that does nothing."""
    asked = Asked([], [], [])
    with IdleServer() as idle:
        ours, its = Session(telnet, timeout=30), Session(idle.port)
        end = time.monotonic() + seconds
        while not asked.idle or time.monotonic() < end:
            asked.telnet.append(ours.ask())
            if http:
                asked.http.append(page(http))
            asked.idle.append(its.ask())
            time.sleep(pause)
        ours.close()
        its.close()
    return asked
