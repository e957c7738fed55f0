#!/usr/bin/env python3
"""The metrics page as Prometheus reads it: strictly parsed, both formats, what a script adds, what must not be there."""

import re

from support import Castile, Suite, free_port, http_get, wait_until

suite = Suite()

NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"')
VALUE = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?|[+-]Inf")
SUFFIXES = {"histogram": ("_bucket", "_sum", "_count"), "summary": ("", "_sum", "_count")}


class Page:
    """A page parsed by the rules of the text format (or OpenMetrics): `faults` says what breaks them."""

    def __init__(self, text, open_metrics=False):
        self.samples, self.types, self.faults = {}, {}, []
        self.open_metrics = open_metrics
        family, helped, ended = None, set(), False
        if not text.endswith("\n"):
            self.faults.append("no newline at the end")
        for line in text.split("\n")[:-1]:
            if ended:
                self.faults.append(f"something after # EOF: {line}")
            elif line == "# EOF" and open_metrics:
                ended = True
            elif line.startswith("# "):
                family = self._comment(line, family, helped)
            elif not line:
                self.faults.append("an empty line")
            else:
                self._sample(line, family)
        if open_metrics and not ended:
            self.faults.append("no # EOF")
        self._histograms()

    def _comment(self, line, family, helped):
        words = line.split(" ", 3)
        if len(words) != 4 or words[1] not in ("HELP", "TYPE") or not NAME.fullmatch(words[2]):
            self.faults.append(f"not a HELP or TYPE: {line}")
            return family
        name = words[2]
        if words[1] == "HELP":
            if name in helped:
                self.faults.append(f"HELP twice: {name}")
            if re.search(r'\\(?![\\n"])', words[3]) or (self.open_metrics and re.search(r'(?<!\\)"', words[3])):
                self.faults.append(f"HELP not escaped: {line}")
            helped.add(name)
        else:
            if name in self.types:
                self.faults.append(f"TYPE twice: {name}")
            if words[3] not in ("counter", "gauge", "histogram", "summary", "unknown" if self.open_metrics else "untyped"):
                self.faults.append(f"no such type: {line}")
            self.types[name] = words[3]
        return name

    def _sample(self, line, family):
        match = NAME.match(line)
        if not match:
            return self.faults.append(f"no name: {line}")
        name, rest, labels = match[0], line[match.end():], []
        if rest.startswith("{"):
            at = 1
            while at < len(rest) and rest[at] != "}":
                one = LABEL.match(rest, at)
                if not one:
                    return self.faults.append(f"a label is not well-formed: {line}")
                labels.append((one[1], one[2]))
                at = one.end() + (rest[one.end():one.end() + 1] == ",")
            rest = rest[at + 1:]
        if not rest.startswith(" ") or not VALUE.fullmatch(rest[1:]):
            return self.faults.append(f"not a number: {line}")
        if len({key for key, _ in labels}) != len(labels):
            self.faults.append(f"a label twice: {line}")
        kind = self.types.get(family)
        suffixes = SUFFIXES.get(kind, ("",))
        if kind == "counter" and self.open_metrics:
            suffixes = ("_total",)
        if family is None or name not in [family + suffix for suffix in suffixes]:
            self.faults.append(f"outside its family ({family}, {kind}): {line}")
        key = (name, tuple(sorted(labels)))
        if key in self.samples:
            self.faults.append(f"twice: {line}")
        value = float(rest)
        if kind == "counter" and value < 0:
            self.faults.append(f"a negative counter: {line}")
        self.samples[key] = value

    def _histograms(self):
        for family, kind in self.types.items():
            if kind != "histogram":
                continue
            series = {}
            for (name, labels), value in self.samples.items():
                if name == family + "_bucket":
                    bound = float(dict(labels)["le"])
                    series.setdefault(tuple(p for p in labels if p[0] != "le"), []).append((bound, value))
            for labels, buckets in series.items():
                buckets.sort()
                counts = [count for _, count in buckets]
                if buckets[-1][0] != float("inf") or counts != sorted(counts):
                    self.faults.append(f"buckets of {family}{labels} are not cumulative up to +Inf")
                if counts[-1] != self.samples.get((family + "_count", labels)):
                    self.faults.append(f"{family}_count{labels} is not that of +Inf")

    def value(self, name, **labels):
        return self.samples.get((name, tuple(sorted(labels.items()))))

    def names(self):
        return {name for name, _ in self.samples}


def page(port, open_metrics=False, path="/metrics"):
    accept = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5" if open_metrics else "*/*"
    status, headers, body = http_get(f"http://127.0.0.1:{port}{path}", headers={"Accept": accept})
    return status, headers.get("Content-Type", ""), Page(body.decode(), open_metrics)


SCRIPT = r"""
settings.prometheus.server := true
settings.prometheus.server.port := {prometheus}
radio = mksafe(blank(id="silence"))
output.harbor(port={port}, mount="live.mp3", %mp3, radio)
output.file(id="disk", %mp3, "/dev/null", radio)
output.icecast(id="far", host="localhost", port={closed}, mount="x", %mp3, radio)

played = prometheus.counter(help="Tracks \"played\"\\n and more", namespace="radio", subsystem="main", labels=["list", "kind"], "tracks_total")
one = played(label_values=["a \"quoted\" \\ list\n", "ü"])
one(2.)
one(3.5)
other = played(label_values=["b", ""])
other(1.)

odds = prometheus.counter(help="", labels=[], "odd")
odd = odds(label_values=[])
odd(4.)

level = prometheus.gauge(help="Loudness", labels=["source"], "level_db")
known = level(label_values=["known"])
known(-12.25)
unknown = level(label_values=["unknown"])
unknown(nan)
huge = level(label_values=["huge"])
huge(infinity)

times = prometheus.summary(help="Seconds", labels=[], "took_seconds")
took = times(label_values=[])
took(1.)
took(nan)
took(0.5)

ours = prometheus.gauge(help="In the place of the engine's", labels=[], "castile_sources")
mine = ours(label_values=[])
mine(-7.)

watch = prometheus.latency(labels=["radio"])
watch(label_values=["main"], radio)

def refused(f) =
  try
    f()
    print("not refused")
  catch error do
    print("refused: #{{error.kind}}")
  end
end
refused({{ignore(prometheus.gauge(help="", labels=[], "not a name"))}})
refused({{ignore(prometheus.gauge(help="", labels=["a-b"], "x"))}})
refused({{ignore(prometheus.gauge(help="", labels=["a", "a"], "x"))}})
refused({{ignore(prometheus.gauge(help="", labels=[], "odd"))}})
refused({{ignore(played(label_values=["too few"]))}})
"""


def script(**ports):
    return SCRIPT.format(**ports)


@suite.test
def metrics(t):
    ports = {"port": free_port(), "prometheus": free_port(), "closed": free_port()}
    with Castile(t.binary, script(**ports), folder=t.folder) as radio:
        t.check("starts", wait_until(lambda: any(name == "castile_clock_ticks_total" and v > 20 for (name, _), v in page(ports["prometheus"])[2].samples.items()), 10))
        t.check("refusals", radio.count("^refused: invalid$") == 5 and radio.count("not refused") == 0)
        for where in (ports["prometheus"], ports["port"]):
            for form in (False, True):
                status, kind, seen = page(where, form)
                t.check(f"{where} {form}: answers", status == 200)
                t.check(f"{where} {form}: type", kind.startswith("application/openmetrics-text; version=1.0.0" if form else "text/plain; version=0.0.4"))
                t.check(f"{where} {form}: well-formed {seen.faults[:5]}", not seen.faults)
        seen = page(ports["port"])[2]
        quoted = r'a \"quoted\" \\ list\n'
        t.check("counter", seen.value("radio_main_tracks_total", list=quoted, kind="ü") == 5.5)
        t.check("counter's other labels", seen.value("radio_main_tracks_total", list="b", kind="") == 1)
        t.check("gauge", seen.value("level_db", source="known") == -12.25)
        t.check("infinite gauge", seen.value("level_db", source="huge") == float("inf"))
        t.check("an unknown level is not shown", seen.value("level_db", source="unknown") is None)
        t.check("summary", (seen.value("took_seconds_count"), seen.value("took_seconds_sum")) == (2, 1.5))
        t.check("a script's metric comes first", seen.value("castile_sources") == -7)
        t.check("latencies", all(f"liquidsoap_{kind}_{what}{unit}" in seen.names() for kind in ("input", "output", "overall")
                                 for what in ("latency", "max_latency", "peak_latency") for unit in ("", "_seconds")))
        overall = seen.value("liquidsoap_overall_latency_seconds", radio="main")
        t.check(f"overall latency {overall}", overall is not None and 0 < overall < 2)
        t.check("last data", seen.value("liquidsoap_time_of_last_data_timestamp", radio="main") > 1.6e9)
        for name in ("process_resident_memory_bytes", "process_cpu_seconds_total", "process_open_fds", "process_threads", "process_start_time_seconds"):
            t.check(name, (seen.value(name) or 0) > 0)
        t.check("allocated", 1e5 < (seen.value("castile_memory_allocated_bytes") or 1e6) < 1e9)
        t.check("output to a file", seen.value("castile_output_started", output="disk", kind="output.file") == 1)
        t.check("bytes on disk", wait_until(lambda: page(ports["port"])[2].value("castile_output_bytes_total", output="disk", kind="output.file") > 0, 5))
        t.check("a server that is not there", seen.value("castile_output_connected", output="far", kind="output.icecast") == 0)
        t.check("a mount", seen.value("castile_mount_listeners", mount="/live.mp3", port=str(ports["port"])) == 0)
        t.check("a page that is not there", page(ports["prometheus"], path="/elsewhere")[0] == 404)
        t.check("ends", radio.stop() == 0)


@suite.test
def not_wanted(t):
    """A station that does not want its figures seen."""
    port = free_port()
    text = f'settings.station.metrics := false\noutput.harbor(port={port}, mount="x", %mp3, blank())\n'
    with Castile(t.binary, text, folder=t.folder):
        t.check("the page is there", wait_until(lambda: http_get(f"http://127.0.0.1:{port}/")[0] == 200, 10))
        t.check("the metrics are not", http_get(f"http://127.0.0.1:{port}/metrics")[0] == 404)


@suite.test
def port_taken(t):
    port = free_port()
    text = f'settings.prometheus.server := true\nsettings.prometheus.server.port := {port}\noutput.dummy(blank())\n'
    with Castile(t.binary, text, folder=t.folder) as first:
        t.check("the first serves", wait_until(lambda: http_get(f"http://127.0.0.1:{port}/metrics")[0] == 200, 10))
        with Castile(t.binary, text, folder=t.folder, name="second.liq") as second:
            t.check("the second ends", second.wait_exit(10) == 1)
            t.check("and says why", second.count(rf"{port}.*in use") == 1)
        t.check("the first goes on", first.process.poll() is None)


suite.main()
