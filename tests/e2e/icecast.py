"""output.icecast against a real icecast2: logging in, refusal, a server that is not there, goes and comes back, TLS, titles."""

import socket
import threading
import time

from support import (Castile, Icecast, Suite, decode_errors, ffprobe, free_port, make_audio, make_certificate, wait_until)

suite = Suite()


def script(icecast_port, music, password="hackme", mount="/x", extra="", format="%mp3(bitrate=128)", more=""):
    return f"""
settings.log.level := 4
s = mksafe(single("{music}"))
output.icecast({format}, host="localhost", port={icecast_port}, password="{password}", mount="{mount}", {extra} s)
{more}
"""


def music_of(t, **options):
    return make_audio(t.folder / "music.mp3", **{"seconds": 20, "title": "Tone", "artist": "Généré", **options})


@suite.test
def connects_and_streams(t):
    music = music_of(t)
    with Icecast(t.folder) as icecast:
        text = script(icecast.port, music, mount="live.mp3", extra='name="Test radio", genre="tones", description="A tone", url="http://example.org/",')
        with Castile(t.binary, text, t.folder) as radio:
            t.check("says it connects", radio.wait_log(r"Connecting mount /live.mp3 for source@localhost\.\.\.", 10), radio.text)
            t.check("says it is connected", radio.wait_log(r"Connection setup was successful\.", 5), radio.text)
            source = wait_until(lambda: icecast.mount("/live.mp3"), 5)
            t.check("the mount is there", source, icecast.text)
            t.check("name", source and source.get("server_name") == "Test radio", source)
            t.check("genre", source and source.get("genre") == "tones", source)
            t.check("type", source and source.get("server_type") == "audio/mpeg", source)
            titled = wait_until(lambda: (icecast.mount("/live.mp3") or {}).get("title"), 5)
            t.check("title", titled == "Généré - Tone", titled)
            streams = ffprobe(icecast.url("/live.mp3"))
            t.check("probes as mp3", streams and streams[0]["codec_name"] == "mp3", streams)
            complaint = decode_errors(icecast.url("/live.mp3"), seconds=4)
            t.check("decodes", complaint == "", complaint)
            before = time.monotonic()
            code = radio.stop()
            t.check("exit 0", code == 0, code)
            t.check("stops within 2 s", time.monotonic() - before < 2.5)
            t.check("closes", radio.count("Closing connection"), radio.text)
            t.check("mount gone at once", wait_until(lambda: icecast.mount("/live.mp3") is None, 3))


@suite.test
def put_and_chunked(t):
    music = music_of(t)
    with Icecast(t.folder) as icecast:
        more = f"""output.icecast(%mp3, method="put", host="127.0.0.1", port={icecast.port}, mount="/put", s)
output.icecast(%vorbis, method="put", host="127.0.0.1", port={icecast.port}, mount="/ogg", s)
"""
        with Castile(t.binary, script(icecast.port, music, more=more), t.folder) as radio:
            for path in ("/x", "/put", "/ogg"):
                t.check(path, wait_until(lambda: icecast.mount(path), 10), radio.text)
                complaint = decode_errors(icecast.url(path), seconds=3)
                t.check(f"{path} decodes", complaint == "", complaint)
            titled = wait_until(lambda: (icecast.mount("/ogg") or {}).get("title"), 5)
            t.check("the title is in the Ogg stream", titled and "Tone" in titled, icecast.mount("/ogg"))


@suite.test
def wrong_password(t):
    music = music_of(t)
    with Icecast(t.folder) as icecast:
        more = f'output.icecast(%mp3, port={icecast.port}, mount="/good", password="hackme", s)'
        with Castile(t.binary, script(icecast.port, music, password="wrong", more=more, extra="restart_delay=0.5,"), t.folder) as radio:
            t.check("says why", radio.wait_log(r"Connection failed: 401 .*authentication failed", 10), radio.text)
            t.check("tries again", radio.wait_log(r"Will try to reconnect in 0\.50 seconds\.", 5), radio.text)
            t.check("and again", radio.wait_log("Connection failed: 401", 5, times=3), radio.text)
            t.check("the other output is on air", icecast.mount("/good"), radio.text)
            t.check("the password is not told", "wrong" not in radio.text, radio.text)
            descriptors = radio.fds()
            radio.wait_log("Connection failed: 401", 10, times=8)
            t.check("no descriptor is lost", radio.fds() <= descriptors + 2, (descriptors, radio.fds()))


@suite.test
def mount_in_use(t):
    music = music_of(t)
    with Icecast(t.folder) as icecast:
        with Castile(t.binary, script(icecast.port, music), t.folder, name="first.liq") as first:
            t.check("first", first.wait_log("Connection setup was successful", 10), first.text)
            with Castile(t.binary, script(icecast.port, music, extra="restart_delay=0.3,"), t.folder, name="second.liq") as second:
                t.check("says why", second.wait_log(r"Connection failed: 403 .*in use", 10), second.text)
                first.stop()
                t.check("takes over", second.wait_log("Connection setup was successful", 10), second.text)


@suite.test
def icecast_down_at_start_and_back(t):
    music = music_of(t)
    port = free_port()
    with Castile(t.binary, script(port, music, extra="restart_delay=0.5,"), t.folder) as radio:
        t.check("says why", radio.wait_log(r"Connection failed: .*refused", 10), radio.text)
        with Icecast(t.folder, port=port) as icecast:
            t.check("connects", radio.wait_log("Connection setup was successful", 10), radio.text)
            t.check("title", wait_until(lambda: (icecast.mount("/x") or {}).get("title"), 5) == "Généré - Tone", icecast.sources())
            complaint = decode_errors(icecast.url("/x"), seconds=3)
            t.check("decodes", complaint == "", complaint)


@suite.test
def icecast_killed_and_back(t):
    music = music_of(t)
    with Icecast(t.folder) as other:
        port = free_port()
        icecast = Icecast(t.folder, port=port)
        more = f"""output.icecast(%mp3, port={other.port}, mount="/other", s)
output.icecast(%vorbis, port={port}, mount="/ogg", restart_delay=0.5, s)"""
        with Castile(t.binary, script(port, music, extra="restart_delay=0.5,", more=more), t.folder) as radio:
            t.check("connects", radio.wait_log("Connection setup was successful", 10, times=3), radio.text)
            icecast.kill()
            t.check("notices", radio.wait_log("Error while sending data", 10), radio.text)
            t.check("announces", radio.wait_log(r"Will try to reconnect in 0\.50 seconds", 5), radio.text)
            time.sleep(1.5)
            complaint = decode_errors(other.url("/other"), seconds=3)
            t.check("the other mount goes on", complaint == "", complaint)
            with Icecast(t.folder, port=port) as again:
                t.check("connects again", radio.wait_log("Connection setup was successful", 10, times=5), radio.text)
                t.check("last title is sent again", wait_until(lambda: (again.mount("/x") or {}).get("title"), 5) == "Généré - Tone", again.sources())
                for path in ("/x", "/ogg"):
                    complaint = decode_errors(again.url(path), seconds=3)
                    t.check(f"{path} decodes from its new beginning", complaint == "", complaint)
                t.check("the other never reconnected", radio.count("Connecting mount /other") == 1, radio.text)
            t.check("no catch-up", not radio.count("catchup|We must catch up"), radio.text)
        icecast.kill()


@suite.test
def server_that_takes_nothing(t):
    """A peer that logs us in and then never reads costs its own output only."""
    music = music_of(t)
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    held = []

    def serve():
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            peer.recv(4096)
            peer.sendall(b"HTTP/1.0 200 OK\r\n\r\n")
            held.append(peer)

    threading.Thread(target=serve, daemon=True).start()
    with Icecast(t.folder) as icecast:
        more = f'output.icecast(%wav, port={listener.getsockname()[1]}, mount="/stuck", timeout=1.5, restart_delay=0.5, format="audio/wav", s)'
        with Castile(t.binary, script(icecast.port, music, more=more), t.folder) as radio:
            t.check("connects", radio.wait_log("Connection setup was successful", 10, times=2), radio.text)
            t.check("gives the stuck one up", radio.wait_log(r"Error while sending data: .*(took no data|timed out)", 30), radio.text)
            complaint = decode_errors(icecast.url("/x"), seconds=3)
            t.check("the other is untouched", complaint == "", complaint)
            t.check("no catch-up", not radio.count("We must catch up"), radio.text)
    listener.close()


@suite.test
def tls(t):
    music = music_of(t)
    certificate = make_certificate(t.folder)
    with Icecast(t.folder, certificate=certificate) as icecast:
        good = f'transport=http.transport.ssl(certificate="{certificate[0]}"),'
        more = f'output.icecast(%mp3, host="localhost", port={icecast.tls_port}, transport=http.transport.ssl(), mount="/untrusted", restart_delay=0.5, s)'
        with Castile(t.binary, script(icecast.tls_port, music, extra=good, more=more), t.folder) as radio:
            t.check("connects", radio.wait_log("Connection setup was successful", 10), radio.text)
            t.check("title over TLS", wait_until(lambda: (icecast.mount("/x") or {}).get("title"), 5) == "Généré - Tone", radio.text)
            complaint = decode_errors(icecast.url("/x"), seconds=3)
            t.check("decodes", complaint == "", complaint)
            t.check("an unknown certificate is refused", radio.wait_log("Connection failed: .*certificate", 5), radio.text)
            t.check("and nothing is sent there", icecast.mount("/untrusted") is None)


@suite.test
def callbacks_decide(t):
    music = music_of(t)
    port = free_port()
    more = f"""
o = output.icecast(%mp3, port={port}, mount="/y", s)
o.on_connect(fun () -> print("CONNECTED"))
o.on_disconnect(fun () -> print("DISCONNECTED"))
o.on_error(fun (~restart_in, e) -> begin print("FAILED #{{e.message}}") restart_in(0.2) end)
output.icecast(%mp3, port={port}, mount="/never", on_error=fun (~restart_in, _) -> restart_in(null), s)
"""
    with Castile(t.binary, script(port, music, extra="restart_delay=60.,", more=more), t.folder) as radio:
        t.check("on_error", radio.wait_log("FAILED .*refused", 10), radio.text)
        t.check("its delay", radio.wait_log(r"Will try to reconnect in 0\.20 seconds", 5), radio.text)
        t.check("gives up when told", radio.wait_log("Will not try to reconnect", 5), radio.text)
        with Icecast(t.folder, port=port) as icecast:
            t.check("on_connect", radio.wait_log("^CONNECTED", 10), radio.text)
            t.check("/y", wait_until(lambda: icecast.mount("/y"), 5), radio.text)
            t.check("/never", icecast.mount("/never") is None)
            icecast.kill()
        t.check("on_disconnect", radio.wait_log("^DISCONNECTED", 10), radio.text)


@suite.test
def cheap(t):
    """Memory that stays; and what a stream of its own clock, encoder and mount adds in wake-ups. A loaded machine wakes workers
    more often, for one stream as for five: both run side by side, and the difference is what counts."""
    music = music_of(t, seconds=60)
    streams = lambda count, port: "settings.log.level := 4\n" + "".join(
        f'output.icecast(%mp3, host="localhost", port={port}, mount="/m{count}-{i}", mksafe(single("{music}")))\n' for i in range(count))
    with Icecast(t.folder) as icecast:
        with Castile(t.binary, streams(1, icecast.port), t.folder, name="one.liq") as one, \
                Castile(t.binary, streams(5, icecast.port), t.folder, name="five.liq") as five:
            t.check("one connects", one.wait_log("Connection setup was successful", 20), one.text)
            t.check("five connect", five.wait_log("Connection setup was successful", 20, times=5), five.text)
            time.sleep(3)
            before, rss, at = (one.voluntary_switches(), five.voluntary_switches()), five.rss(), time.monotonic()
            time.sleep(8)
            took = time.monotonic() - at
            rates = [(radio.voluntary_switches() - start) / took for radio, start in zip((one, five), before)]
            added = (rates[1] - rates[0]) / 4
            t.check("voluntary switches of an added stream: at most 10 a second", added <= 10, f"{added:.1f} ({rates})")
            t.check("memory stays", five.rss() - rss < 2 << 20, five.rss() - rss)
            print(f"     {rates[0]:.1f} voluntary switches a second, {added:.1f} for each stream more, {five.rss() >> 20} MiB, {five.threads()} threads")


@suite.test
def bad_arguments(t):
    for extra, expected in (("port=99999,", "is not a port"), ('method="get",', "Valid values"), ('encoding="nonsense-1",', "is no charset")):
        text = f'output.icecast(%mp3, {extra} mount="/x", sine())'
        with Castile(t.binary, text, t.folder) as radio:
            code = radio.wait_exit(10)
            t.check(f"{extra} exit 1", code == 1, code)
            t.check(f"{extra} says what", expected in radio.text, radio.text)


if __name__ == "__main__":
    suite.main()
