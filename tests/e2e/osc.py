"""osc.*: messages in and out, of every type; bytes that are no messages."""

import socket
import struct

from support import Castile, Suite, free_port

suite = Suite()


def padded(data):
    return data + b"\0" * (4 - len(data) % 4)


def message(path, types, *values):
    """An OSC 1.0 message."""
    out = padded(path.encode()) + padded(("," + types).encode())
    for kind, value in zip(types, values):
        out += {"f": lambda v: struct.pack(">f", v), "d": lambda v: struct.pack(">d", v), "i": lambda v: struct.pack(">i", v),
                "h": lambda v: struct.pack(">q", v), "s": lambda v: padded(v.encode()), "T": lambda v: b"", "F": lambda v: b""}[kind](value)
    return out


SCRIPT = """
settings.init.force_start := true
settings.osc.port := {port}
osc.on_float("/f", fun (x) -> print("float #{{x}}"))
osc.on_int("/i", fun (x) -> print("int #{{x}}"))
osc.on_bool("/b", fun (x) -> print("bool #{{x}}"))
osc.on_string("/s", fun (x) -> print("string #{{x}}"))
osc.on_float_pair("/f", fun (p) -> print("floats #{{p}}"))
osc.on_int_pair("/i", fun (p) -> print("ints #{{p}}"))
osc.on_string_pair("/s", fun (p) -> print("strings #{{p}}"))
osc.on_int("/bad", fun (x) -> ignore(1 / x))
followed = osc.float("/volume", 0.5)
osc.on_bool("/show", fun (_) -> print("volume #{{followed()}}"))
osc.on_bool("/send", fun (_) -> begin
  osc.send_float(host="127.0.0.1", port={peer}, "/o", 1.5)
  osc.send_int(host="127.0.0.1", port={peer}, "/o", -3)
  osc.send_int(host="127.0.0.1", port={peer}, "/o", 10000000000)
  osc.send_bool(host="127.0.0.1", port={peer}, "/o", true)
  osc.send_string(host="127.0.0.1", port={peer}, "/o", "héé")
  osc.send_int_pair(host="127.0.0.1", port={peer}, "/o", (1, 2))
  osc.send_string_pair(host="127.0.0.1", port={peer}, "/o", ("a", "b"))
end)
on_start({{print("started")}})
"""


@suite.test
def both_ways(t):
    port = free_port()
    peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    peer.bind(("127.0.0.1", 0))
    peer.settimeout(5)
    with peer, Castile(t.binary, SCRIPT.format(port=port, peer=peer.getsockname()[1]), folder=t.folder) as radio:
        t.check("started", radio.wait_log("started", 10))

        def send(data, expected):
            """Sends until it is heard: the server may not listen yet."""
            for _ in range(20):
                peer.sendto(data, ("127.0.0.1", port))
                if radio.wait_log(expected, 0.5):
                    return t.check(expected, True)
            t.check(expected, False)

        send(message("/f", "f", 1.5), "^float 1.5$")
        send(message("/f", "d", 2.5), "^float 2.5$")
        send(message("/i", "i", -7), "^int -7$")
        send(message("/i", "h", 1 << 40), "^int 1099511627776$")
        send(message("/b", "T", True), "^bool true$")
        send(message("/b", "F", False), "^bool false$")
        send(message("/s", "s", "some text"), "^string some text$")
        send(message("/f", "ff", 1, 2), r"^floats \(1.0, 2.0\)$")
        send(message("/i", "ii", 1, 2), r"^ints \(1, 2\)$")
        send(message("/s", "ss", "a", "b"), r'^strings \("a", "b"\)$')
        send(message("/show", "T", True), "^volume 0.5$")
        peer.sendto(message("/volume", "f", 0.25), ("127.0.0.1", port))
        send(message("/show", "T", True), "^volume 0.25$")

        # An error of a callback, wrong types and noise leave it running.
        for noise in (message("/bad", "i", 0), message("/f", "s", "x"), message("/nobody", "i", 1), b"", b"/f", b"/f\0\0,f\0\0", b"\xff" * 1000,
                      message("/f", "")[:-3], b"#bundle\0" + b"\xff" * 20, message("/" + "x" * 3000, "i", 1)):
            peer.sendto(noise, ("127.0.0.1", port))
        send(message("/i", "i", 99), "^int 99$")

        peer.sendto(message("/send", "T", True), ("127.0.0.1", port))
        wanted = [message("/o", "f", 1.5), message("/o", "i", -3), message("/o", "h", 10000000000), message("/o", "T", True),
                  message("/o", "s", "héé"), message("/o", "ii", 1, 2), message("/o", "ss", "a", "b")]
        got = []
        try:
            got = [peer.recv(4096) for _ in wanted]
        except TimeoutError:
            pass
        t.check("what is sent", got == wanted, got)
        t.check("ends at once", radio.stop(5) == 0)


suite.main()
