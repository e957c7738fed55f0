"""Many clients that ask over HTTP and telnet, and how long the answers take."""
import asyncio
import dataclasses
import statistics
import time

COMMANDS = ("uptime", "version", "list")


@dataclasses.dataclass
class Answers:
    http: tuple      # median and greatest in milliseconds (None when there is none), how many failed
    telnet: tuple


class Times:
    def __init__(self):
        self.seconds, self.failed = [], 0

    def summary(self):
        if not self.seconds:
            return None, None, self.failed
        return 1000 * statistics.median(self.seconds), 1000 * max(self.seconds), self.failed


async def _http(port, times, end, start):
    """A request a second, each on a connection of its own, as a scraper or a status page does."""
    await asyncio.sleep(start)
    while time.monotonic() < end:
        begun = time.monotonic()
        try:
            reader, writer = await asyncio.wait_for(asyncio.open_connection("127.0.0.1", port), 10)
            writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            answer = await asyncio.wait_for(reader.read(), 10)
            writer.close()
            if not answer.startswith(b"HTTP/1.1 200"):
                raise OSError("no answer")
            times.seconds.append(time.monotonic() - begun)
        except (OSError, asyncio.TimeoutError):
            times.failed += 1
        await asyncio.sleep(max(0.0, begun + 1 - time.monotonic()))


async def _telnet(port, times, end, start):
    """A connection that stays and asks once a second."""
    await asyncio.sleep(start)
    reader = writer = None
    number = 0
    while time.monotonic() < end:
        begun = time.monotonic()
        try:
            if writer is None:
                reader, writer = await asyncio.wait_for(asyncio.open_connection("127.0.0.1", port), 10)
            writer.write((COMMANDS[number % len(COMMANDS)] + "\n").encode())
            while (line := (await asyncio.wait_for(reader.readline(), 10))).rstrip() != b"END":
                if not line:
                    raise OSError("closed")
            times.seconds.append(time.monotonic() - begun)
        except (OSError, asyncio.TimeoutError):
            times.failed += 1
            writer = None
        number += 1
        await asyncio.sleep(max(0.0, begun + 1 - time.monotonic()))
    if writer:
        writer.close()


async def _ask(http_port, telnet_port, count, seconds):
    http, telnet, end = Times(), Times(), time.monotonic() + seconds
    jobs = [_http(http_port, http, end, i / count) for i in range(count)]
    if telnet_port:
        jobs += [_telnet(telnet_port, telnet, end, i / count) for i in range(count)]
    await asyncio.gather(*jobs)
    return Answers(http.summary(), telnet.summary() if telnet_port else (None, None, None))


def ask(http_port, telnet_port, count, seconds):
    """`count` clients of each kind (no telnet when the port is None) for so long."""
    return asyncio.run(_ask(http_port, telnet_port, count, seconds))
