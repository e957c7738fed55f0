#!/usr/bin/env python3
"""Nothing is kept of a listener, an HTTP request, a scrape or a reconnection, and one station takes little memory."""

import socket
import statistics
import threading
import time
import urllib.request

from support import Castile, Suite, free_port, http_get, make_audio, wait_until

suite = Suite()


def figures(port):
    """The metrics without labels: name -> value."""
    found = {}
    for line in http_get(f"http://127.0.0.1:{port}/metrics")[2].decode().splitlines():
        name, _, value = line.rpartition(" ")
        if name and not line.startswith("#") and "{" not in name:
            found[name] = float(value)
    return found


def settled(port):
    """Allocated bytes and descriptors, once they stand still: the least of some readings."""
    readings = []
    for _ in range(5):
        readings.append(figures(port))
        time.sleep(0.1)
    return {name: min(reading.get(name, 0) for reading in readings) for name in readings[0]}


def in_parallel(count, job, at_once=8):
    """Runs job(i) `count` times, some at a time."""
    numbers = iter(range(count))
    lock = threading.Lock()

    def work():
        while True:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            job(number)

    threads = [threading.Thread(target=work) for _ in range(at_once)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def keeps_nothing(t, name, port, cycles, count=100, bytes_each=400):
    """`cycles(n)` goes through n of something. What is kept grows in every round; pools that fill, and what is open just now, do not."""
    for _ in range(3):
        cycles(count)
    readings = [settled(port)]
    for _ in range(4):
        cycles(count)
        readings.append(settled(port))
    grown = statistics.median(after["castile_memory_allocated_bytes"] - before["castile_memory_allocated_bytes"] for before, after in zip(readings, readings[1:]))
    t.check(f"{name}: {grown:.0f} bytes for {count}", grown < bytes_each * count)
    fds = [reading["process_open_fds"] for reading in readings[1:]]
    t.check(f"{name}: descriptors {fds}", min(fds) <= fds[0] and fds[-1] <= fds[0] + 2)
    t.check(f"{name}: sources", readings[-1]["castile_sources"] == readings[0]["castile_sources"])


@suite.test
def kept(t):
    port = free_port()
    script = f"""
radio = mksafe(blank())
output.harbor(port={port}, mount="live.mp3", buffer=20000, burst_seconds=1., %mp3, radio)
harbor.http.register.simple(port={port}, "/hello", fun (request) -> http.response(data="hello " ^ request.path))
"""
    with Castile(t.binary, script, folder=t.folder) as radio:
        base = f"http://127.0.0.1:{port}"
        t.check("on the air", wait_until(lambda: b"castile_mount_on_air{" in http_get(base + "/metrics")[2], 10))

        def requests(count):
            in_parallel(count, lambda i: http_get(f"{base}/{('hello', 'api/status', 'nothing/here', 'status-json.xsl')[i % 4]}"))

        def scrapes(count):
            in_parallel(count, lambda i: http_get(base + "/metrics"), at_once=2)

        def listeners(count):
            def listen(number):
                request = urllib.request.Request(base + "/live.mp3", headers={"Icy-MetaData": str(number % 2)})
                with urllib.request.urlopen(request, timeout=10) as answer:
                    answer.read(2000)
            in_parallel(count, listen)
            wait_until(lambda: b'castile_mount_listeners{mount="/live.mp3",' in (page := http_get(base + "/metrics")[2])
                       and page.partition(b'castile_mount_listeners{mount="/live.mp3",')[2].split(b" ")[1].split(b"\n")[0] == b"0", 10)

        def half_requests(count):
            def half(number):
                with socket.create_connection(("127.0.0.1", port), 5) as peer:
                    peer.sendall(b"GET /hello HTTP/1.1\r\nHost: x\r\n"[:number % 30 + 1])
            in_parallel(count, half)
            time.sleep(0.3)

        keeps_nothing(t, "a request", port, requests)
        keeps_nothing(t, "a scrape", port, scrapes, count=30)
        keeps_nothing(t, "a listener", port, listeners)
        keeps_nothing(t, "half a request", port, half_requests)
        t.check("ends", radio.stop() == 0)


@suite.test
def reconnections(t):
    """A server that takes the connection, answers, and closes it. While memory is read it refuses, so that no encoder is open just then."""
    port = free_port()
    with socket.create_server(("127.0.0.1", 0)) as server:
        accepted = [0]
        willing = threading.Event()

        def serve():
            while True:
                try:
                    peer, _ = server.accept()
                except OSError:
                    return
                with peer:
                    if not willing.is_set():
                        continue
                    peer.settimeout(2)
                    try:
                        peer.recv(4096)
                        peer.sendall(b"HTTP/1.0 200 OK\r\n\r\n")
                        peer.recv(4096)
                    except OSError:
                        pass
                accepted[0] += 1

        threading.Thread(target=serve, daemon=True).start()
        script = f"""
settings.prometheus.server := true
settings.prometheus.server.port := {port}
settings.log.level := 1
output.icecast(port={server.getsockname()[1]}, mount="x", restart_delay=0.02, %mp3, mksafe(blank()))
"""
        with Castile(t.binary, script, folder=t.folder) as radio:
            t.check("its page", wait_until(lambda: http_get(f"http://127.0.0.1:{port}/metrics")[0] == 200, 10))

            def cycles(count):
                end = accepted[0] + count
                willing.set()
                t.check("reconnects", wait_until(lambda: accepted[0] >= end, 60))
                willing.clear()

            keeps_nothing(t, "a reconnection", port, cycles, count=15, bytes_each=1500)
            server.close()
            t.check("ends", radio.stop() == 0)


@suite.test
def one_station(t):
    """Three encoders, listeners' mounts, a playlist: in real time, after the first tracks."""
    port = free_port()
    folder = t.folder / "music"
    folder.mkdir()
    for number in range(4):
        make_audio(folder / f"{number}.mp3", seconds=3, frequency=300 + 50 * number, title=f"Track {number}")
    script = f"""
radio = mksafe(playlist("{folder}"))
output.harbor(port={port}, mount="a.mp3", %mp3, radio)
output.harbor(port={port}, mount="a.ogg", %ffmpeg(format="ogg", %audio(codec="libvorbis", b="128k")), radio)
output.harbor(port={port}, mount="a.opus", %ffmpeg(format="ogg", %audio(codec="libopus", b="96k", samplerate=48000)), radio)
"""
    with Castile(t.binary, script, folder=t.folder) as radio:
        t.check("plays on", radio.wait_log("Prepared", 30, times=5))
        rss = radio.rss() / (1 << 20)
        t.check(f"{rss:.1f} MiB resident, at most 40", rss <= 40)


suite.main()
