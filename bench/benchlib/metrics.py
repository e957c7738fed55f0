"""A page of Prometheus metrics, as far as the benches need it."""
import re
import urllib.request

SAMPLE = re.compile(r'^([A-Za-z_:][\w:]*)(\{.*\})? (\S+)$')


def parse(text):
    """name -> {labels as written: value}"""
    found = {}
    for line in text.splitlines():
        if (match := SAMPLE.match(line)) and not line.startswith("#"):
            found.setdefault(match[1], {})[match[2] or ""] = float(match[3])
    return found


def value(found, name):
    """Of a metric without labels; None when it is not there."""
    return found.get(name, {}).get("")


def total(found, name):
    """The sum over all labels; None when there are none."""
    values = found.get(name)
    return sum(values.values()) if values else None


def fetch(port, path="/metrics", timeout=10):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=timeout) as answer:
        return parse(answer.read().decode())


BOUND = re.compile(r'(?:^|[,{])le="([^"]+)"')


def quantile(before, after, name, share, scale=1):
    """The least bound of a histogram (all labels together) that `share` of what came between two pages is below; None without samples."""
    counts = {}
    for labels, count in after.get(name + "_bucket", {}).items():
        bound = float(BOUND.search(labels)[1])
        counts[bound] = counts.get(bound, 0) + count - before.get(name + "_bucket", {}).get(labels, 0)
    if not counts or not counts.get(float("inf")):
        return None
    return next(bound * scale for bound, count in sorted(counts.items()) if count >= share * counts[float("inf")])
