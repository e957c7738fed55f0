"""Frames of raw MP3 and ADTS streams: a listener joins in the middle of one, where a decoder may take data for a header."""

MP3_BITRATES = (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)
MP3_RATES = (44100, 48000, 32000)


def _length(data, at):
    """Length of the frame whose header is at `at`; 0 when there is none."""
    if at + 6 > len(data) or data[at] != 0xFF or data[at + 1] & 0xE0 != 0xE0:
        return 0
    if data[at + 1] & 0xF6 == 0xF0:  # ADTS
        return (data[at + 3] & 3) << 11 | data[at + 4] << 3 | data[at + 5] >> 5
    if data[at + 1] & 0xFE == 0xFA:  # MPEG-1, layer 3
        bitrate, rate = data[at + 2] >> 4, data[at + 2] >> 2 & 3
        if bitrate in (0, 15) or rate == 3:
            return 0
        return 144000 * MP3_BITRATES[bitrate] // MP3_RATES[rate] + (data[at + 2] >> 1 & 1)
    return 0


def whole_frames(data, chain=6):
    """(first, last): where whole frames begin (several must follow each other) and end; None when there are none."""
    for first in range(min(len(data), 8192)):
        at, count = first, 0
        while (size := _length(data, at)) and at + size <= len(data):
            at, count = at + size, count + 1
        if count >= chain:
            return first, at
    return None
