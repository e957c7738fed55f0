"""The kernel and the initial file system of the test machine."""
import gzip
import os
import pathlib
import re
import shutil
import subprocess
import sys

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


class Missing(Exception):
    """What is not to be had here, as half a sentence: the tests are skipped."""


class Broken(Exception):
    """What does not build though its tools are here: the tests have failed."""


def run(*command, problem=Missing, **keywords):
    """Its output; raises `problem` when it fails."""
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, stdin=subprocess.DEVNULL, **keywords)
    except subprocess.TimeoutExpired:
        raise Missing(f"{command[0]} took more than {keywords['timeout']} s") from None
    except OSError as error:
        raise Missing(f"{command[0]} cannot be run: {error.strerror}") from error
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise problem(f"{command[0]} failed: {(lines or ['it says nothing'])[-1][:300] if problem is Missing else chr(10).join(lines[-30:])}")
    return done.stdout


def mirror():
    """The archive that this machine uses already."""
    for path in sorted(pathlib.Path("/etc/apt/sources.list.d").glob("*.sources")):
        for line in path.read_text().splitlines():
            if line.startswith("URIs:") and "/debian" in line and "security" not in line:
                return line.split()[1]
    for path in [pathlib.Path("/etc/apt/sources.list"), *sorted(pathlib.Path("/etc/apt/sources.list.d").glob("*.list"))]:
        if path.exists():
            for line in path.read_text().splitlines():
                found = re.match(r"deb\s+(?:\[[^]]*\]\s+)?(\S+/debian/?)\s", line)
                if found:
                    return found[1]
    raise Missing("no Debian archive in /etc/apt")


class Apt:
    """apt with a state of its own, so that this machine's stays as it is."""

    def __init__(self, work):
        self.root = work / "apt"
        for folder in ("state/lists/partial", "cache/archives/partial"):
            (self.root / folder).mkdir(parents=True, exist_ok=True)
        (self.root / "status").touch()
        uri = mirror()
        (self.root / "sources.list").write_text("".join(f"deb [signed-by={KEYRING}] {uri} {suite} main\n" for suite in ("bookworm-backports", "trixie-backports")))
        (self.root / "apt.conf").write_text(
            f'Dir::State "{self.root}/state"; Dir::State::status "{self.root}/status"; Dir::Cache "{self.root}/cache";\n'
            f'Dir::Etc::sourcelist "{self.root}/sources.list"; Dir::Etc::sourceparts "-"; APT::Sandbox::User "{"root" if os.getuid() == 0 else ""}";\n'
            'Acquire::http::Timeout "20"; Acquire::Retries "2";\n')
        self.environment = {**os.environ, "APT_CONFIG": str(self.root / "apt.conf")}

    def __call__(self, *command, **keywords):
        return run(*command, env=self.environment, timeout=90, **keywords)

    def unpack(self, to, *packages):
        """Downloads and unpacks packages into a folder."""
        folder = self.root / "debs"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        self("apt-get", "download", "-qq", *packages, cwd=folder)
        for package in folder.glob("*.deb"):
            run("dpkg-deb", "-x", package, to)
        shutil.rmtree(folder)


def newest(apt, wanted):
    """The version of the newest cloud kernel (6.19 and newer, or older ones, which are packed differently)."""
    names = apt("apt-cache", "pkgnames", "linux-").split()
    versions = {}
    for name in names:
        found = re.fullmatch(r"linux-(binary|image)-((\d+)\.(\d+)\.(\d+)\S*-cloud-amd64)(?:-unsigned)?", name)
        if found and (not wanted or found[2].startswith(wanted)) and (int(found[3]), int(found[4])) >= (6, 16) and not name.endswith("unsigned"):
            key = (int(found[3]), int(found[4]), int(found[5]), found[2])
            if key not in versions or found[1] == "binary":
                versions[key] = name
    if not versions:
        raise Missing(f"trixie-backports has no kernel {wanted or 'from 6.16 on'}")
    key = max(versions)
    return key[3], versions[key]


def kernel(work, wanted):
    """(vmlinuz, its version); downloaded once."""
    if os.uname().machine != "x86_64":
        raise Missing("the test machine is an x86-64 one")
    for tool, package in (("qemu-system-x86_64", "qemu-system-x86"), ("busybox", "busybox-static"), ("dpkg-deb", "dpkg")):
        if not shutil.which(tool):
            raise Missing(f"no {tool} ({package}); tools/packages-kernel.txt has what it takes")
    kept = work / "kernels"
    kept.mkdir(exist_ok=True)
    have = sorted(kept.glob(f"{wanted or ''}*/vmlinuz"), key=lambda path: [int(n) for n in re.findall(r"\d+", path.parent.name)])
    if not have:
        try:
            apt = Apt(work)
            apt("apt-get", "update", "-qq")
            version, package = newest(apt, wanted)
            unpacked = kept / f".{version}"
            apt.unpack(unpacked, package)
            found = [*unpacked.glob("usr/lib/modules/*/vmlinuz"), *unpacked.glob("boot/vmlinuz-*")]
            if not found:
                raise Missing(f"{package} holds no kernel")
            (kept / version).mkdir(exist_ok=True)
            shutil.move(found[0], kept / version / "vmlinuz")
            shutil.rmtree(unpacked)
            have = [kept / version / "vmlinuz"]
        except OSError as error:
            raise Missing(f"the kernel cannot be fetched: {error}") from error
    return have[-1], have[-1].parent.name


def libbpf(work):
    """Where libbpf 1.4 or newer is; None: installed."""
    if subprocess.run(["pkg-config", "--atleast-version=1.4", "libbpf"], check=False).returncode == 0:
        return None
    root = work / "libbpf"
    if not root.exists():
        apt = Apt(work)
        apt("apt-get", "update", "-qq")
        apt.unpack(root, "libbpf-dev/bookworm-backports")
    return root


def build(work, here):
    """Builds the scheduler, the launcher and the test program; returns their paths."""
    source = here.parent.parent / "kernel"
    folder = work / "build"
    root = libbpf(work)
    if not (folder / "build.ninja").exists():
        run("cmake", "-G", "Ninja", "-S", source, "-B", folder, f"-DCASTILE_LIBBPF_ROOT={root or ''}")
    run("ninja", "-C", folder, "castile-kernel", problem=Broken)
    if not (folder / "castile-isod").exists():
        raise Missing("castile-isod cannot be built here (tools/packages-kernel.txt)")
    test = folder / "isotest"
    guest = here / "guest" / "isotest.cpp"
    if not test.exists() or test.stat().st_mtime < guest.stat().st_mtime:
        run("g++", "-std=c++20", "-O2", "-Wall", "-static", "-pthread", guest, "-o", test, problem=Broken)
    return [folder / "castile-isod", folder / "castile-iso", test]


def libraries(program):
    """The shared libraries of a program, its loader among them."""
    done = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=False)
    return sorted(set(re.findall(r"(/\S+)", done.stdout))) if done.returncode == 0 else []


class Archive:
    """A cpio archive (newc), as the kernel unpacks it."""

    def __init__(self):
        self.data = bytearray()
        self.folders = set()
        self.count = 0

    def entry(self, name, mode, content=b"", device=(0, 0), time=0):
        self.count += 1
        fields = (self.count, mode, 0, 0, 1, time, len(content), 0, 0, *device, len(name) + 1, 0)
        self.data += b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
        self.data += b"\0" * (-len(self.data) % 4) + content
        self.data += b"\0" * (-len(self.data) % 4)

    def folder(self, name, mode=0o755):
        if name and name not in self.folders:
            self.folder(name.rpartition("/")[0])
            self.folders.add(name)
            self.entry(name, 0o040000 | mode)

    def file(self, name, content, mode=0o755, time=0):
        self.folder(name.rpartition("/")[0])
        self.entry(name, 0o100000 | mode, content, time=time)

    def tree(self, folder, name, leave_out=()):
        """A folder with all in it."""
        for path in sorted(folder.rglob("*")):
            inside = path.relative_to(folder)
            if path.is_file() and not set(inside.parts) & set(leave_out):
                self.file(f"{name}/{inside}", path.read_bytes(), time=int(path.stat().st_mtime))

    def finish(self):
        self.entry("TRAILER!!!", 0)
        return bytes(self.data)


LEFT_OUT = ("test", "tests", "idlelib", "lib2to3", "ensurepip", "tkinter", "pydoc_data", "distutils", "turtledemo", "__pycache__")


def python(root, archive, *programs):
    """Python and programs of bench/; returns libraries that it needs."""
    interpreter = pathlib.Path("/usr/bin/python3").resolve()  # the system's, whose library is where it looks
    library = pathlib.Path("/usr/lib") / interpreter.name
    if not library.exists():
        raise Missing("no Python of this system (python3)")
    archive.tree(root / "bench" / "benchlib", "castile/bench/benchlib", LEFT_OUT)
    for name in programs:
        archive.file(f"castile/bench/{name}", (root / "bench" / name).read_bytes())
    archive.tree(library, str(library)[1:], LEFT_OUT)
    archive.file("usr/bin/python3", interpreter.read_bytes())
    shared = set(libraries(interpreter))
    for extension in library.glob("lib-dynload/*.so"):
        shared.update(libraries(extension))
    return shared


def jack(work, root, archive):
    """bench/jack_test3; returns libraries that it needs."""
    if not shutil.which("jackd"):
        raise Missing("no jackd (jackd2)")
    binary = work / "jack_test3"
    run("g++", "-std=c++20", "-O2", "-pthread", root / "bench" / "jack_test3.cpp", "-o", binary, "-ljack", problem=Broken)
    shared = python(root, archive, "jack_test3", "jack_test3.cpp")
    archive.file("castile/build/release/bench/jack_test3", binary.read_bytes())  # newer than its source
    return shared | set(libraries(binary))


def engine(work, root, archive):
    """The engine, bench/iso, an Icecast server and music; returns libraries that they need."""
    binary, icecast, music = root / "build" / "release" / "castile", shutil.which("icecast2"), work / "music.mp3"
    if not binary.exists():
        raise Missing("no build/release/castile")
    if not icecast:
        raise Missing("no icecast2")
    if not music.exists():
        sys.path.insert(0, str(root / "bench"))
        from benchlib.music import make_music
        try:
            make_music(music, seconds=40)
        except (OSError, subprocess.CalledProcessError) as error:
            raise Missing("no ffmpeg that makes music") from error
    stripped = work / "castile"
    run("strip", "-o", stripped, binary)
    archive.file("castile/build/release/castile", stripped.read_bytes())
    archive.tree(root / "stdlib", "castile/build/release/stdlib")
    archive.file("castile/music.mp3", music.read_bytes(), 0o644)
    archive.file("bin/icecast2", pathlib.Path(icecast).read_bytes())
    archive.tree(pathlib.Path("/usr/share/icecast2"), "usr/share/icecast2")
    # libav is loaded when it is first called, so the engine is not linked to it.
    known = re.findall(r"^\s*lib(?:avutil|swresample|avcodec|avformat)\.so\.\d+ .*=> (\S+)$", run("/sbin/ldconfig", "-p"), re.M)
    shared = python(root, archive, "iso", "ladder.liq") | set(known)
    for program in (binary, icecast, *known):
        shared.update(libraries(program))
    return shared


def initrd(work, here, part=None):
    """busybox, what was built, what it is linked to, the batteries; and a part (jack, engine)."""
    programs = build(work, here)
    archive = Archive()
    for folder in ("proc", "sys", "dev", "etc", "run"):
        archive.folder(folder)
    archive.folder("tmp", 0o1777)
    archive.entry("dev/console", 0o020600, device=(5, 1))
    archive.file("bin/busybox", pathlib.Path(shutil.which("busybox")).read_bytes())
    archive.file("etc/passwd", b"root:x:0:0::/:/bin/sh\nuser:x:1000:1000::/tmp:/bin/sh\n", 0o644)
    archive.file("etc/group", b"root:x:0:\nuser:x:1000:\n", 0o644)
    archive.file("etc/hosts", b"127.0.0.1 localhost\n", 0o644)
    shared = part(work, here.parent.parent, archive) if part else set()
    jackd = pathlib.Path("/usr/bin/jackd")
    if jackd.exists():
        programs = [*programs, jackd]
        plugins = sorted(pathlib.Path("/usr/lib").glob("*/jack/jack_dummy.so"))
        for plugin in plugins:
            shared.update(libraries(plugin))
            archive.file(str(plugin)[1:], plugin.read_bytes())
    for program in programs:
        archive.file(f"bin/{program.name}", program.read_bytes())
        shared.update(libraries(program))
    # All in one folder, where the loader looks without being told.
    for name, path in sorted({pathlib.Path(library).name: library for library in shared}.items()):
        archive.file(path[1:] if name.startswith("ld-") else f"lib/{name}", pathlib.Path(path).resolve().read_bytes())
    archive.file("init", (here / "guest" / "init.sh").read_bytes())
    for script in sorted((here / "guest").glob("*.sh")):
        archive.file(f"batteries/{script.name}", script.read_bytes())
    # What is large is not packed: to unpack it would take the test machine longer.
    path = work / (f"{part.__name__}.cpio" if part else "initrd.gz")
    path.write_bytes(archive.finish() if part else gzip.compress(archive.finish(), 1, mtime=0))
    return path
