"""Where a recording lies in its source, to the sample: is one lost, doubled or shifted? (Standard library only.)"""

import array
import itertools
import operator
import subprocess

RATE = 44100
COARSE = 525  # a rate that divides RATE


def decode(path, rate=RATE, start=0.0, seconds=None):
    """Mono samples as an array of 16-bit integers."""
    command = ["ffmpeg", "-v", "error", "-nostdin", "-i", str(path)]
    if start:
        command += ["-ss", str(start)]
    if seconds:
        command += ["-t", str(seconds)]
    done = subprocess.run([*command, "-ac", "1", "-ar", str(rate), "-f", "s16le", "-"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    samples = array.array("h")
    samples.frombytes(done.stdout[:len(done.stdout) // 2 * 2])
    return samples


def make_noise(path, seconds, codec=("-c:a", "libmp3lame", "-b:a", "192k")):
    """Material that is like itself nowhere else, with much of it below 500 Hz."""
    subprocess.run(["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", f"anoisesrc=c=brown:r={RATE}:a=0.8:seed=3:d={seconds}",
                    "-ac", "2", *codec, str(path)], check=True, stdin=subprocess.DEVNULL)
    return str(path)


def _best(window, within, first, last):
    """The lag in [first, last) at which the window is most like the material, and how alike (1: the same)."""
    size = len(window)
    first, last = max(first, 0), min(last, len(within) - size)
    part = within[first:max(last, first) + size]
    energies = list(itertools.accumulate(map(operator.mul, part, part), initial=0))
    norm = sum(map(operator.mul, window, window)) or 1
    best, found = 0.0, first
    for lag in range(last - first):
        product = sum(map(operator.mul, window, part[lag:lag + size]))
        likeness = product * product / (norm * ((energies[lag + size] - energies[lag]) or 1)) if product > 0 else 0.0
        if likeness > best:
            best, found = likeness, first + lag
    return found, best ** 0.5


def offsets(source, recording, step=0.5, window=1024, reach=40, skip=1.0):
    """(time in the recording, sample offset of the recording in the source, likeness) every `step` seconds."""
    coarse_source, coarse_recording = decode(source, COARSE), decode(recording, COARSE)
    begin = int(skip * COARSE)
    template = coarse_recording[begin:begin + COARSE]
    place, _ = _best(template, coarse_source, 0, len(coarse_source))
    expected = round((place - begin) * RATE / COARSE)
    fine_source, fine_recording = decode(source), decode(recording)
    found, wide = [], RATE // COARSE * 3
    position = int(skip * RATE)
    while position + window < len(fine_recording) and expected + position + window + reach < len(fine_source):
        near = expected + position
        lag, likeness = _best(fine_recording[position:position + window], fine_source, near - wide, near + wide)
        expected, wide = lag - position, reach
        found.append((position / RATE, expected, likeness))
        position += int(step * RATE)
    return found
