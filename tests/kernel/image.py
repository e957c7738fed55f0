"""The kernel and the initial file system of the test machine."""
import gzip
import os
import pathlib
import re
import shutil
import subprocess

PACKAGES = "qemu-system-x86 busybox-static clang-16 llvm-16 libelf-dev zlib1g-dev libfmt-dev cmake ninja-build pkg-config g++"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


class Missing(Exception):
    """What is not to be had here, as half a sentence."""


def run(*command, **keywords):
    """Its output; Missing when it fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **keywords)
    if done.returncode != 0:
        raise Missing(f"{command[0]} failed: {(done.stderr or done.stdout).strip()[-600:]}")
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
        return run(*command, env=self.environment, timeout=300, **keywords)

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
            raise Missing(f"no {tool} ({package}); it takes: {PACKAGES}")
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
        except (subprocess.TimeoutExpired, OSError) as error:
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
    run("ninja", "-C", folder, "castile-kernel")
    if not (folder / "castile-isod").exists():
        raise Missing(f"castile-isod cannot be built here; it takes: {PACKAGES}")
    test = folder / "isotest"
    guest = here / "guest" / "isotest.cpp"
    if not test.exists() or test.stat().st_mtime < guest.stat().st_mtime:
        run("g++", "-std=c++20", "-O2", "-Wall", "-static", "-pthread", guest, "-o", test)
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


def benchmark(work, here, archive):
    """Python and bench/jack_test3; returns programs and libraries that it needs."""
    root, python = here.parent.parent, pathlib.Path("/usr/bin/python3").resolve()  # the system's, whose library is where it looks
    library = pathlib.Path("/usr/lib") / python.name
    if not shutil.which("jackd") or not library.exists():
        raise Missing("no jackd or no Python of this system (jackd2, python3)")
    binary = work / "jack_test3"
    run("g++", "-std=c++20", "-O2", "-pthread", root / "bench" / "jack_test3.cpp", "-o", binary, "-ljack")
    archive.file("castile/build/release/bench/jack_test3", binary.read_bytes())
    for name in ("jack_test3", "jack_test3.cpp", "benchlib"):
        path = root / "bench" / name
        if path.is_dir():
            archive.tree(path, f"castile/bench/{name}", ("__pycache__",))
        else:
            archive.file(f"castile/bench/{name}", path.read_bytes())
    archive.tree(library, str(library)[1:], ("test", "tests", "idlelib", "lib2to3", "ensurepip", "tkinter", "pydoc_data", "distutils", "asyncio"))
    archive.file("usr/bin/python3", python.read_bytes())
    shared = set(libraries(python)) | set(libraries(binary))
    for extension in library.glob("lib-dynload/*.so"):
        shared.update(libraries(extension))
    return shared


def initrd(work, here, with_benchmark=False):
    """busybox, what was built, what it is linked to, the batteries."""
    programs = build(work, here)
    archive = Archive()
    for folder in ("proc", "sys", "dev", "etc", "run"):
        archive.folder(folder)
    archive.folder("tmp", 0o1777)
    archive.entry("dev/console", 0o020600, device=(5, 1))
    archive.file("bin/busybox", pathlib.Path(shutil.which("busybox")).read_bytes())
    archive.file("etc/passwd", b"root:x:0:0::/:/bin/sh\nuser:x:1000:1000::/tmp:/bin/sh\n", 0o644)
    archive.file("etc/group", b"root:x:0:\nuser:x:1000:\n", 0o644)
    shared = benchmark(work, here, archive) if with_benchmark else set()
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
    for library in sorted(shared):
        archive.file(library[1:], pathlib.Path(library).resolve().read_bytes())
    archive.file("init", (here / "guest" / "init.sh").read_bytes())
    for script in sorted((here / "guest").glob("*.sh")):
        archive.file(f"batteries/{script.name}", script.read_bytes())
    path = work / ("bench.gz" if with_benchmark else "initrd.gz")
    path.write_bytes(gzip.compress(archive.finish(), 1, mtime=0))
    return path
