"""Where things are: the tree, built programs, scratch folders."""
import os
import pathlib
import shutil
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def floor_binary(build=None):
    return program("floor", build)


def program(name, build=None):
    """A built program of bench/; built with cmake (preset release) when it is missing or older than its source."""
    build = pathlib.Path(build) if build else ROOT / "build" / "release"
    binary, source = build / "bench" / name, ROOT / "bench" / f"{name}.cpp"
    if not binary.exists() or binary.stat().st_mtime < source.stat().st_mtime:
        if not (build / "build.ninja").exists():
            subprocess.run(["cmake", "--preset", "release"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["cmake", "--build", str(build), "--target", name], check=True, stdout=subprocess.DEVNULL)
    return binary


class Scratch:
    """A folder in memory when there is one, removed at the end."""

    def __init__(self, prefix):
        base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.path = pathlib.Path(tempfile.mkdtemp(prefix=prefix, dir=base))
        self.path.chmod(0o755)

    def __enter__(self):
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)
