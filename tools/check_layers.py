#!/usr/bin/env python3
"""Holds every #include of src/ against the layers of CMakeLists.txt (castile_layer(NAME USES ...)), keeps heavy headers out
of headers and libav inside ffmpeg/, and refuses files that have grown too long."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LEAVES = {"builtins", "operators", "sources", "outputs", "formats", "protocols", "devices"}
HEAVY = re.compile(r"#\s*include\s*<(regex|iostream|filesystem|boost/asio[^>]*|boost/beast[^>]*)>")
LIBAV = re.compile(r'#\s*include\s*[<"]lib(av|sw)')
LONGEST = 800


def layers():
    """Layer -> the set of layers it may include, itself among them."""
    text = (ROOT / "CMakeLists.txt").read_text()
    table = {}
    for call in re.findall(r"castile_layer\(([^)]*)\)", text, re.S):
        words = call.split()
        names = sorted(LEAVES) if words[0] == "${leaf}" else [words[0]]
        uses, taking = set(), False
        for word in words[1:]:
            if word in ("USES", "LIBRARIES"):
                taking = word == "USES"
            elif taking:
                uses.add(word)
        for name in names:
            table[name] = uses | {name}
    return table


def main():
    table = layers()
    problems = []
    for path in sorted((ROOT / "src").rglob("*")):
        if path.suffix not in (".h", ".cpp"):
            continue
        layer = path.relative_to(ROOT / "src").parts[0]
        where = path.relative_to(ROOT)
        lines = path.read_text().splitlines()
        if layer not in table:
            problems.append(f"{where}: {layer}/ is not a layer of CMakeLists.txt")
            continue
        if len(lines) > LONGEST:
            problems.append(f"{where}: {len(lines)} lines; split it (at most {LONGEST})")
        if path.suffix == ".h" and "#pragma once" not in lines[:3]:
            problems.append(f"{where}: no #pragma once at the top")
        for number, line in enumerate(lines, 1):
            found = re.match(r'#\s*include\s*"([^"/]+)/', line)
            if found and found[1] in table and found[1] not in table[layer]:
                problems.append(f"{where}:{number}: {layer}/ must not include {found[1]}/")
            # x_impl.h and test_x.h are included by few .cpp files of their own folder.
            private = path.name.endswith("_impl.h") or path.name.startswith("test_")
            if path.suffix == ".h" and not private and HEAVY.match(line):
                problems.append(f"{where}:{number}: a heavy header in a header")
            if LIBAV.match(line) and layer != "ffmpeg":
                problems.append(f"{where}:{number}: only ffmpeg/ includes libav")
    for problem in problems:
        print(problem)
    print(f"layers: {len(table)} layers, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
