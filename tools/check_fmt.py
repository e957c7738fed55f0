#!/usr/bin/env python3
"""Formats every script of a checkout into a scratch folder and holds the result against the original:

    tools/check_fmt.py CHECKOUT [BINARY]

The same tree (`--print-json-term`, positions aside), the same comments, and formatting again changes nothing. Scripts that do not
parse are counted and left out. Nothing of the checkout is written to. The time is that of one `castile fmt` process a script."""
import concurrent.futures
import json
import pathlib
import subprocess
import sys
import tempfile
import time


def run(binary, *arguments, stdin=None):
    done = subprocess.run([binary, *arguments], input=stdin, capture_output=True, timeout=120)
    return done.returncode, done.stdout, done.stderr.decode(errors="replace")


def without_spans(node):
    if isinstance(node, dict):
        return {key: without_spans(value) for key, value in node.items() if key != "span"}
    if isinstance(node, list):
        return [without_spans(item) for item in node]
    return node


def tree(binary, path):
    code, out, _ = run(binary, "--print-json-term", str(path))
    if code != 0:
        return None
    return without_spans(json.loads(out.decode(errors="replace")))


def comments(text):
    """A reading of its own: strings are skipped, the rest is looked through for # and #< >#."""
    found, i, size = [], 0, len(text)
    depth = []  # of open #{ in strings: their quotes
    in_string = None
    while i < size:
        c = text[i]
        if in_string is not None:
            if c == "\\":
                i += 2
            elif text.startswith("#{", i):
                depth.append([in_string, 0])
                in_string = None
                i += 2
            elif c == in_string:
                in_string = None
                i += 1
            else:
                i += 1
            continue
        if c == "#":
            if text.startswith("#<", i):
                begin, level = i, 0
                while i < size:
                    if text.startswith("#<", i):
                        level += 1
                        i += 2
                    elif text.startswith(">#", i):
                        level -= 1
                        i += 2
                        if level == 0:
                            break
                    else:
                        i += 1
                found.append("\n".join(line.rstrip() for line in text[begin:i].split("\n")))
            else:
                end = text.find("\n", i)
                end = size if end < 0 else end
                found.append(text[i:end].rstrip())
                i = end
            continue
        if c == '"' or (c == "'" and not (i > 0 and (text[i - 1].isalnum() or text[i - 1] in "_'")) and not type_variable(text, i)):
            in_string = c
            i += 1
            continue
        if c == "r" and text.startswith("r/", i) and not (i > 0 and (text[i - 1].isalnum() or text[i - 1] in "_.")):
            i += 2
            while i < size and text[i] != "/":
                i += 2 if text[i] == "\\" else 1
            i += 1
            continue
        if c == "{":
            end = i + 1
            while end < size and (text[end].islower() and text[end].isascii() or text[end] == "_"):
                end += 1
            if end < size and text[end] == "|":
                close = text.find("|" + text[i + 1:end] + "}", end + 1)
                i = size if close < 0 else close + end - i + 1
                continue
            if depth:
                depth[-1][1] += 1
        if c == "}" and depth:
            if depth[-1][1] == 0:
                in_string = depth.pop()[0]
            else:
                depth[-1][1] -= 1
        i += 1
    return sorted(found)


def type_variable(text, i):
    """'a in a type: a quote, a word, no quote after it."""
    end = i + 1
    while end < len(text) and (text[end].isalnum() or text[end] == "_"):
        end += 1
    return i + 1 < end <= i + 3 and not text.startswith("'", end) and text[i - 1:i] in ("(", " ", "[", "{", ".", "*", ",", "=", "")


def check(binary, path, scratch):
    text = path.read_bytes()
    before = tree(binary, path)
    if before is None:
        return "does not parse", "", 0, 0
    begin = time.monotonic()
    code, out, err = run(binary, "fmt", "--stdout", str(path))
    took = time.monotonic() - begin
    lines = text.count(b"\n")
    if code != 0:
        return "refused", err, lines, took
    copy = scratch / f"{abs(hash(path))}.liq"
    copy.write_bytes(out)
    if tree(binary, copy) != before:
        return "another tree", "", lines, took
    if comments(out.decode()) != comments(text.decode()):
        return "other comments", "", lines, took
    code, again, err = run(binary, "fmt", "-", stdin=out)
    if code != 0 or again != out:
        return "not idempotent", err, lines, took
    return ("unchanged" if out == text else "formatted"), "", lines, took


def main():
    checkout = pathlib.Path(sys.argv[1])
    binary = str(pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else "build/release/castile").resolve())
    scripts = sorted(p for p in checkout.rglob("*.liq") if p.is_file())
    counts, lines, took, problems = {}, 0, 0.0, 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = pool.map(lambda p: (p, check(binary, p, pathlib.Path(folder))), scripts)
        for path, (verdict, message, count, seconds) in results:
            counts[verdict] = counts.get(verdict, 0) + 1
            lines += count
            took += seconds
            if verdict not in ("formatted", "unchanged", "does not parse"):
                problems += 1
            if verdict not in ("formatted", "unchanged"):
                print(f"{path.relative_to(checkout)}: {verdict} {message.strip()}")
    good = counts.get("formatted", 0) + counts.get("unchanged", 0)
    print(f"{len(scripts)} scripts, {lines} lines: " + ", ".join(f"{n} {verdict}" for verdict, n in sorted(counts.items())))
    print(f"{good} with the same tree and comments, and idempotent; {took / max(1, lines) * 1e6:.0f} ms per 1,000 lines, processes' starts and checks included")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
