"""What users get wrong: a clear message, the right exit code, nothing else disturbed."""

import pathlib
import subprocess

from support import Castile, Suite, decode_errors, ffprobe, make_audio, wait_until

suite = Suite()


def run(t, script, arguments=(), timeout=20):
    """Exit code and all output of a script that ends by itself."""
    path = t.folder / "bad.liq"
    path.write_text(script)
    done = subprocess.run([t.binary, *arguments, str(path)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=timeout, check=False, cwd=t.folder)
    return done.returncode, done.stdout.decode(errors="replace")


def refused(t, what, script, *wanted, modes=((), ("--check",))):
    for arguments in modes:
        code, text = run(t, script, arguments)
        name = f"{what}{' (--check)' if arguments else ''}"
        t.check(f"{name}: exit code 1", code == 1, f"{code}: {text}")
        for piece in wanted:
            t.check(f"{name}: says {piece!r}", piece in text, text)
        t.check(f"{name}: is short", len(text.splitlines()) <= 15, text)


@suite.test
def scripts_that_are_wrong(t):
    refused(t, "unknown variable", "x = 1\nprint(undefined_thing)\n", "undefined_thing", "line 2", "^")
    refused(t, "type error", 'x = 1 + "a"\n', "rror 5", "line 1", "^")
    refused(t, "syntax error", "x = (1 + \n", "line", "rror")
    refused(t, "unknown argument", "s = sine(no_such_argument=3)\noutput.dummy(s)\n", "no_such_argument")
    refused(t, "fallible source", 'output.dummy(playlist("/nowhere"))\n', "fallible", "line 1", modes=((),))


@suite.test
def encoder_options_that_do_not_exist(t):
    for form, wanted in (
        ('%ffmpeg(format="mp3", %audio(codec="libmp3lame", no_such_option=3))', "no_such_option"),
        ('%ffmpeg(format="mp3", %audio(codec="no_such_codec"))', "no_such_codec"),
        ('%ffmpeg(format="no_such_format", %audio(codec="aac"))', "no_such_format"),
        ('%mp3(no_such_option=1)', "no_such_option"),
    ):
        code, text = run(t, f"output.file({form}, \"out\", sine())\n")
        t.check(f"{form}: exit code 1", code == 1, f"{code}: {text}")
        t.check(f"{form}: names it", wanted in text, text)


@suite.test
def scripts_that_cannot_be_read(t):
    done = subprocess.run([t.binary, "/nowhere/radio.liq"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=10, check=False)
    text = done.stdout.decode()
    t.check("missing script: exit code 1", done.returncode == 1, done.returncode)
    t.check("missing script: one line", len(text.splitlines()) == 1 and "/nowhere/radio.liq" in text, text)
    done = subprocess.run([t.binary, "--no-such-option"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=10, check=False)
    t.check("unknown option: exit code 2", done.returncode == 2, done.returncode)


@suite.test
def a_single_that_is_no_music_is_refused_by_name(t):
    text_file = t.folder / "text.mp3"
    text_file.write_text("This is no music at all.\n" * 50)
    for path in ("/nowhere/missing.mp3", str(text_file)):
        script = f'output.file(%mp3, "{t.folder}/out.mp3", mksafe(single("{path}")))\n'
        with Castile(t.binary, script, t.folder) as radio:
            t.check(f"{path}: it is named", radio.wait_log(pathlib.Path(path).name, 10), radio.text[-500:])
            radio.stop()
            t.check(f"{path}: no crash", radio.process.returncode in (0, 1), radio.process.returncode)


@suite.test
def bad_files_in_a_playlist_are_passed_over(t):
    good = make_audio(t.folder / "good.mp3", 3, title="Good")
    whole = pathlib.Path(make_audio(t.folder / "whole.mp3", 6)).read_bytes()
    (t.folder / "truncated.mp3").write_bytes(whole[:len(whole) // 3 + 77])
    (t.folder / "text.mp3").write_text("This is no music at all.\n" * 50)
    (t.folder / "empty.mp3").write_bytes(b"")
    listing = t.folder / "list.m3u"
    listing.write_text("\n".join([str(t.folder / "missing.mp3"), str(t.folder / "text.mp3"), str(t.folder / "empty.mp3"),
                                  str(t.folder / "truncated.mp3"), good]) + "\n")
    script = f'''
    s = playlist(mode="normal", loop=true, "{listing}")
    source.on_track(s, fun (m) -> print("TRACK #{{m["filename"]}}"))
    output.file(%mp3(bitrate=128), "{t.folder}/out.mp3", mksafe(s))
    '''
    with Castile(t.binary, script, t.folder) as radio:
        t.check("the truncated one plays as far as it goes", radio.wait_log("TRACK .*truncated.mp3", 15), radio.text[-800:])
        t.check("the good one plays after it", radio.wait_log("TRACK .*good.mp3", 15), radio.text[-800:])
        t.check("the others do not", radio.count("TRACK .*(missing|text|empty).mp3") == 0)
        t.check("the log names them", all(radio.count(f"{name}.mp3") for name in ("missing", "text", "empty")), radio.text[-800:])
        t.check("exit code 0", radio.stop() == 0, radio.text[-500:])
    t.check("the output is sound", ffprobe(t.folder / "out.mp3") != [] and decode_errors(t.folder / "out.mp3") == "",
            decode_errors(t.folder / "out.mp3"))


@suite.test
def the_log_stays_small_with_only_bad_files(t):
    (t.folder / "text.mp3").write_text("This is no music at all.\n" * 50)
    listing = t.folder / "list.m3u"
    listing.write_text(str(t.folder / "text.mp3") + "\n")
    with Castile(t.binary, f'output.dummy(mksafe(playlist("{listing}")))\n', t.folder) as radio:
        t.check("it runs", wait_until(lambda: radio.count("text.mp3"), 10), radio.text[-500:])
        wait_until(lambda: False, 2)
        before = len(radio.lines)
        wait_until(lambda: False, 3)
        t.check("it does not spin", len(radio.lines) - before < 30, radio.text[-2000:])
        t.check("exit code 0", radio.stop() == 0)


suite.main()
