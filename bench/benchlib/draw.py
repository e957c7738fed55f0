"""Four panels of lines in a PNG, by matplotlib or gnuplot."""
import shutil
import subprocess


def plot(path, panels, series, xlabel):
    """`panels`: (key, title) of at most four; `series`: name -> key -> [(x, y)]. False when nothing here can draw."""
    try:
        import matplotlib
    except ImportError:
        return _gnuplot(path, panels, series, xlabel)
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(2, 2, figsize=(12, 8))
    for axis, (key, title) in zip(axes.flat, panels):
        for name, found in series.items():
            if points := found.get(key):
                axis.plot(*zip(*points), marker="o" if len(points) < 40 else None, label=name)
        axis.set(title=title, xlabel=xlabel, ylim=(0, None))
        axis.grid(True)
        if axis.lines:
            axis.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=100)
    pyplot.close(figure)
    return True


def _gnuplot(path, panels, series, xlabel):
    if not shutil.which("gnuplot"):
        return False
    script = [f"set terminal pngcairo size 1200,800\nset output '{path}'\nset multiplot layout 2,2\n"
              f"set grid\nset key top left\nset xlabel '{xlabel}'\nset yrange [0:*]\nset offsets 0.5,0.5,0,0"]
    for key, title in panels:
        drawn = {name: found[key] for name, found in series.items() if found.get(key)}
        if not drawn:
            continue
        parts = ", ".join(f"'-' using 1:2 with linespoints lw 2 pt 7 title '{name}' noenhanced" for name in drawn)
        data = "".join("\n".join(f"{x} {y}" for x, y in points) + "\ne\n" for points in drawn.values())
        script.append(f"set title '{title}'\nplot {parts}\n{data}")
    done = subprocess.run(["gnuplot"], input="\n".join(script) + "\nunset multiplot\n", text=True, check=False)
    return done.returncode == 0
