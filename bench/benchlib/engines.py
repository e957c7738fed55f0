"""NAME=COMMAND on the command line, and tables."""
import os
import shlex
import sys


def named(texts, program="bench"):
    """["a=b", ...] -> {"a": ["b", ...]}, in order; ends the program when one is not NAME=VALUE."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            sys.exit(f"{program}: expected NAME=VALUE, got {text!r}")
        found.setdefault(name.strip(), []).append(value.strip())
    return found


def split_command(text):
    """A command as a list; a path becomes absolute, so that it can be run from anywhere."""
    command = shlex.split(text)
    if os.sep in command[0]:
        command[0] = os.path.abspath(command[0])
    return command


def parse(texts):
    """[(name, command as a list)]"""
    return [(name, split_command(commands[-1])) for name, commands in named(texts).items()]


def columns(lines):
    """Lines of cells as text: the first column to the left, the others to the right."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join("  ".join(cell.rjust(width) if i else cell.ljust(width) for i, (cell, width) in enumerate(zip(line, widths))).rstrip()
                     for line in lines)
