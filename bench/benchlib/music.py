"""Music-like material, made with ffmpeg: nothing has to be downloaded and every machine measures the same file."""
import pathlib
import subprocess

# A chord a two-second bar (A minor, F, C, G), voices slightly detuned between left and right.
CHORDS = ((220.0, 261.63, 329.63), (174.61, 220.0, 261.63), (261.63, 329.63, 392.0), (196.0, 246.94, 293.66))
PERIOD = 32  # seconds until the tones repeat; the noise never does


def _channel(detune):
    """One channel's tones as an expression of t. Harmonics come later, from clipping."""
    parts = ["st(0,mod(floor(t/2),4))*0"]
    for index, level in enumerate((0.30, 0.24, 0.20)):
        frequency = "+".join(f"{chord[index] * detune:.3f}*eq(ld(0),{i})" for i, chord in enumerate(CHORDS))
        parts.append(f"{level}*(0.7+0.3*sin({0.39 * (index + 1):.2f}*t))*sin(2*PI*({frequency})*t)")
    melody = "880*pow(2,mod(floor(t*4)*7,12)/12)"
    parts.append(f"0.30*exp(-6*mod(t,0.25))*sin(2*PI*{melody}*t)")
    parts.append("0.60*exp(-9*mod(t,0.5))*sin(2*PI*55*t)")
    return "+".join(parts)


def make_music(path, seconds=210, bitrate="160k"):
    """Writes a 44.1 kHz stereo MP3: chords, a melody, a kick, cymbals and a noise bed up to 16 kHz."""
    path = pathlib.Path(path)
    noise = "anoisesrc=c={}:r=44100:a={}:seed={}:d=" + str(seconds) + ",aformat=channel_layouts=mono"
    graph = (
        f"aevalsrc='{_channel(1.0)}|{_channel(1.003)}':s=44100:d={PERIOD},asoftclip=type=tanh:threshold=0.5,"
        f"aloop=loop=-1:size={PERIOD * 44100},atrim=end={seconds}[tones];"
        f"{noise.format('white', 0.5, 7)},highpass=f=6000,volume='0.03+0.30*exp(-18*mod(t,0.25))':eval=frame,"
        "pan=stereo|c0=0.7*c0|c1=c0[hat];"
        f"{noise.format('pink', 0.4, 9)}[left];{noise.format('pink', 0.4, 11)}[right];"
        "[left][right]join=inputs=2:channel_layout=stereo,volume='0.10+0.06*sin(0.9*t)':eval=frame[bed];"
        "[tones][hat][bed]amix=inputs=3:normalize=0,alimiter=limit=0.95[out]"
    )
    subprocess.run(
        ["ffmpeg", "-v", "error", "-y", "-filter_complex", graph, "-map", "[out]", "-ac", "2", "-ar", "44100",
         "-c:a", "libmp3lame", "-b:a", bitrate, "-metadata", "title=Bench", "-metadata", "artist=Castile", str(path)],
        check=True)
    return path


# Containers and codecs that a real library mixes.
KINDS = (("mp3", ("-c:a", "libmp3lame", "-b:a", "128k")), ("ogg", ("-c:a", "libvorbis", "-b:a", "128k")), ("flac", ("-c:a", "flac")),
         ("m4a", ("-c:a", "aac", "-b:a", "128k")), ("wav", ("-c:a", "pcm_s16le")))


def make_playlists(folder, playlists, files, seconds):
    """`folder`/files with tones of about `seconds`, tagged, of all kinds; `folder`/playlists/NN.m3u, each naming them in an order of its own."""
    music, lists = folder / "files", folder / "playlists"
    music.mkdir()
    lists.mkdir()
    names = []
    for number in range(files):
        extension, codec = KINDS[number % len(KINDS)]
        length = seconds * (0.5 + number / max(1, files - 1))
        path = music / f"track-{number:03}.{extension}"
        subprocess.run(["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", f"sine=frequency={220 + 20 * number}:sample_rate=44100:duration={length:.3f}",
                        "-ac", "2", *codec, "-metadata", f"title=Track {number}", "-metadata", "artist=Castile", str(path)],
                       check=True, stdin=subprocess.DEVNULL)
        names.append(str(path))
    for number in range(playlists):
        step = number % files
        (lists / f"{number:02}.m3u").write_text("\n".join(names[step:] + names[:step]) + "\n", encoding="utf-8")
