"""SIGTERM: whatever the program waits for at that moment, it ends within two seconds, with exit code 0."""

import os
import signal
import socket
import time

from support import Castile, Suite, decode_errors, free_port

suite = Suite()


def ends(t, name, script, said=None, before=lambda radio: None, limit=2.0):
    """Runs `script` until it `said` so, then ends it."""
    with Castile(t.binary, script + '\nprint("READY")\n' * (said is None), t.folder) as radio:
        t.check(f"{name}: runs", radio.wait_log(said or "READY", 15), radio.text)
        time.sleep(0.3)
        held = before(radio)
        start = time.monotonic()
        code = radio.stop()
        took = time.monotonic() - start
        t.check(f"{name}: exit code 0", code == 0, f"{code} {radio.text[-600:]}")
        t.check(f"{name}: within {limit} s", took < limit, f"{took:.2f} {radio.text[-600:]}")
        return held


def silent_server():
    """Accepts connections (the kernel does) and never says a word."""
    server = socket.create_server(("127.0.0.1", 0))
    return server, server.getsockname()[1]


@suite.test
def icecast_in_every_state(t):
    server, port = silent_server()
    with server:
        ends(t, "down", f'output.icecast(%mp3, port={free_port()}, mount="x", sine())', said="refused")
        ends(t, "silent", f'output.icecast(%mp3, host="127.0.0.1", port={port}, mount="x", sine())')
        ends(t, "silent TLS", f'output.icecast(%mp3, host="127.0.0.1", port={port}, transport=http.transport.ssl(), mount="x", sine())')


@suite.test
def what_a_script_waits_for(t):
    server, port = silent_server()
    with server:
        ends(t, "a command", 'thread.run(fun () -> ignore(process.run("sleep 30"))) output.dummy(sine())')
        ends(t, "a loop", "thread.run(fun () -> while true do () end) output.dummy(sine())")
        ends(t, "a download", f'q = request.queue() q.push.uri("http://127.0.0.1:{port}/x.mp3") output.dummy(mksafe(q))')
        ends(t, "loading", 'print("LOADING") ignore(process.run("sleep 30")) output.dummy(sine())', said="LOADING", limit=2.5)


@suite.test
def a_reader_that_is_not_there(t):
    os.mkfifo(t.folder / "fifo")
    ends(t, "a pipe nobody reads", f'output.file(%mp3, "{t.folder}/fifo", sine())')


@suite.test
def recording(t):
    script = f'output.file(%flac, "{t.folder}/out.flac", sine()) output.file(%mp3, "{t.folder}/out.mp3", sine())'
    ends(t, "recording", script, before=lambda radio: time.sleep(1))
    for name in ("out.flac", "out.mp3"):
        complaint = decode_errors(t.folder / name)
        t.check(f"{name} is whole", complaint == "", complaint)


@suite.test
def after_a_pause(t):
    def pause(radio):
        os.kill(radio.pid, signal.SIGSTOP)
        time.sleep(2)
        os.kill(radio.pid, signal.SIGCONT)
    ends(t, "paused", "output.dummy(sine())", before=pause)


@suite.test
def listeners_of_all_kinds(t):
    port = free_port()

    def crowd(_):
        held = []
        for request in [b"GET /live HTTP/1.0\r\n\r\n"] * 30 + [b"GET / HT"] * 10 + [b"GET /api/events HTTP/1.1\r\nHost: x\r\n\r\n"] * 5 + [b""] * 5:
            s = socket.create_connection(("127.0.0.1", port), timeout=10)
            s.sendall(request)
            held.append(s)
        time.sleep(1)
        return held

    script = f'settings.harbor.bind_addrs := ["127.0.0.1"]\noutput.harbor(%wav, format="audio/wav", port={port}, mount="live", sine())'
    ends(t, "listeners that do not read", script, before=crowd)
    ends(t, "and again on the same port", script)


if __name__ == "__main__":
    suite.main()
