"""Tables, CSV, ratios and the plot."""
import csv
import dataclasses
import statistics

from . import draw, engines

COLUMNS = (
    ("engine", "{participant}"), ("streams", "{streams}"), ("CPU %", "{cpu:.1f}"), ("CPU %/stream", "{cpu_per_stream:.2f}"),
    ("budget", "{budget:.3f}"), ("vol/s", "{voluntary:.0f}"), ("invol/s", "{involuntary:.0f}"), ("RSS MiB", "{rss:.1f}"),
    ("threads", "{threads}"), ("catch-up s", "{catchup:.2f}"), ("icecast CPU %", "{icecast_cpu:.1f}"),
    ("icecast vol/s", "{icecast_voluntary:.0f}"), ("held", "{yes}"), ("note", "{note}"),
)


def cells(row):
    values = dataclasses.asdict(row) | {"rss": row.rss_kib / 1024, "yes": "yes" if row.held else "NO"}
    return [form.format(**values) for _, form in COLUMNS]


def table(rows):
    lines = [[title for title, _ in COLUMNS]] + [cells(row) for row in rows]
    return engines.columns(lines)


def write_csv(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=[field.name for field in dataclasses.fields(rows[0])])
        writer.writeheader()
        for row in rows:
            writer.writerow({k: f"{v:.4f}" if isinstance(v, float) else v for k, v in dataclasses.asdict(row).items()})


def median(rows, name, key):
    """streams -> median of a column over the repeats, for the rungs that held."""
    values = {}
    for row in rows:
        if row.participant == name and row.held:
            values.setdefault(row.streams, []).append(getattr(row, key))
    return {streams: statistics.median(found) for streams, found in sorted(values.items())}


def slope(points):
    """Least squares: how much one more stream adds."""
    if len(points) < 2:
        return None
    return statistics.linear_regression(list(points), list(points.values())).slope


def _per_stream(value, unit):
    return "-" if value is None else f"{value:.2f} {unit}"


def summary(rows, participants, floor=None):
    lines = []
    for one in participants:
        added = slope(median(rows, one.name, "voluntary"))
        memory = slope(median(rows, one.name, "rss_kib"))
        bound = f"failed at {one.failed}" if one.failed else "never failed"
        lines.append(f"{one.name}: held {one.held} streams ({bound}); an added stream costs "
                     f"{_per_stream(added, 'voluntary context switches/s')}, "
                     f"{_per_stream(None if memory is None else memory / 1024, 'MiB RSS')}")
        if floor is None or one is floor:
            continue
        ours, theirs = median(rows, one.name, "cpu_per_stream"), median(rows, floor.name, "cpu_per_stream")
        common = [streams for streams in ours if streams in theirs]
        if floor.held:
            lines.append(f"  streams against the floor: {one.held} / {floor.held} = {one.held / floor.held:.3f}")
        if common:
            ratios = {streams: ours[streams] / theirs[streams] for streams in common}
            shown = ", ".join(f"{streams}: {ratio:.3f}" for streams, ratio in ratios.items())
            lines.append(f"  CPU per stream against the floor: {shown} (median {statistics.median(ratios.values()):.3f})")
        extra = slope(median(rows, floor.name, "rss_kib"))
        if memory is not None and extra is not None:
            lines.append(f"  RSS per added stream above the floor's: {(memory - extra) / 1024:.2f} MiB")
    return "\n".join(lines)


PANELS = (("cpu", "CPU, % of a core"), ("cpu_per_stream", "CPU per stream, % of a core"),
          ("voluntary", "voluntary context switches/s"), ("rss_kib", "RSS, KiB"))


def plot(path, rows, names):
    """A PNG by matplotlib or gnuplot; False when neither is here."""
    series = {name: {} for name in names}
    for name in names:
        for key, _ in PANELS:
            points = {}
            for row in rows:
                if row.participant == name and row.note != "late":  # a floor that gave up measured its own end only
                    points.setdefault(row.streams, []).append(getattr(row, key))
            series[name][key] = sorted((streams, statistics.median(values)) for streams, values in points.items())
    return draw.plot(path, PANELS, series, "streams")
