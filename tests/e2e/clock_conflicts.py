"""Sources that cannot be driven by one clock: the error says which, where, and how; the line that it proposes does work."""

import re

from support import Castile, Suite

suite = Suite()

DYNAMIC = "source.dynamic(id=\"{0}\", self_sync=true, {{(sine() : source)}})"

# name, error code, the script: what the error proposes takes the place of the line that it names.
CASES = [
    ("two modes", 10, """
a = sine()
b = sine()
clock.assign_new(sync="cpu", [a])
clock.assign_new(sync="none", [b])
output.dummy(add([a, mksafe(b)]))
"""),
    ("two modes, by name", 10, """
a = sine()
b = sine()
clock.assign_new(sync="cpu", [a])
clock.assign_new(sync="none", [b])
s = fallback([a, b])
output.dummy(fallible=true, s)
"""),
    ("a source and what stretches it", 11, """
a = sine()
t = stretch(ratio=2., a)
s = add([a, t])
output.dummy(fallible=true, s)
"""),
    ("two that are paced by themselves", 17, f"""
a = {DYNAMIC.format("first")}
b = {DYNAMIC.format("second")}
output.dummy(fallible=true, add([a, b]))
"""),
    ("stretching what paces itself", 7, f"""
a = {DYNAMIC.format("first")}
t = stretch(ratio=2., a)
output.dummy(fallible=true, t)
"""),
]


@suite.test
def what_is_proposed_works(t):
    for name, code, script in CASES:
        with Castile(t.binary, script, t.folder, arguments=["--simulate", "2"] if code != 17 else []) as radio:
            radio.wait_exit(15)
            t.check(f"{name}: error {code}", radio.count(rf"^Error {code}: ") == 1, radio.text)
        proposed = re.search(r"^For instance:\n(.*)$", radio.text, re.MULTILINE)
        if not t.check(f"{name}: proposes a line", proposed, radio.text):
            continue
        fix = proposed[1]
        place = re.search(r"^At .*line (\d+), char (\d+)-(\d+)", radio.text, re.MULTILINE)
        lines = script.split("\n")
        number, begin, end = (int(x) for x in place.groups()) if place else (1, 0, 0)
        if lines[number - 1][begin:end].split("(")[0] == fix.split("(")[0] and end > begin:   # the call that failed
            lines[number - 1] = lines[number - 1][:begin] + fix + lines[number - 1][end:]
        else:   # the whole line that makes the source
            made = fix.partition("buffer(")[0]
            lines = [fix if made and line.startswith(made) else line for line in lines]
        mended = "\n".join(lines)
        t.check(f"{name}: it changes the script", mended != script, fix)
        with Castile(t.binary, mended + '\nthread.run(delay=1.5, {print("READY")})\n', t.folder, name="mended.liq") as radio:
            t.check(f"{name}: then it runs", radio.wait_log("READY", 15), mended + "\n" + radio.text)
            t.check(f"{name}: without an error", radio.count(r"^Error |multiple synchronization") == 0, radio.text)


@suite.test
def clocks_that_run_already(t):
    """At run time it is an error of the script, which goes on."""
    script = """
a = sine()
clock.assign_new(id="one", [a])
output.dummy(a)
thread.run(delay=0.5, fun () -> begin
  b = sine()
  clock.assign_new(id="two", [b])
  output.dummy(b)
  thread.run(delay=0.5, fun () -> begin
    try output.dummy(add([a, b])) catch e do print("#{e.kind}: #{e.message}") end
    output.dummy(fallible=true, add([a, buffer(b)]))
    thread.run(delay=0.5, {print("READY #{clock(a.clock).sync()} #{clock(b.clock).sync()}")})
  end)
end)
"""
    with Castile(t.binary, script, t.folder) as radio:
        t.check("goes on", radio.wait_log("READY auto auto", 20), radio.text)
        t.check("says why", radio.count("^eval: A source cannot belong to two clocks: two and one both run already") == 1, radio.text)


@suite.test
def a_source_that_runs_elsewhere(t):
    """What a dynamic source names belongs to a running clock: then its readers join that one."""
    script = """
b = sine(id="b")
output.dummy(id="o1", b)
d = source.dynamic(id="d", {(b : source)})
thread.run(delay=0.5, fun () -> begin
  o = output.dummy(id="o2", fallible=true, d)
  thread.run(delay=1., fun () -> begin
    print("JOINED #{clock(d.clock).id()} #{clock(b.clock).ticks() > 30} #{o.is_started()}")
    o.shutdown()
    thread.run(delay=0.5, {print("LEFT #{d.is_up()} #{b.is_up()}")})
  end)
end)
"""
    with Castile(t.binary, script, t.folder) as radio:
        t.check("it joins", radio.wait_log("JOINED o1 true true", 20), radio.text)
        t.check("and leaves", radio.wait_log("LEFT false true", 20), radio.text)
        t.check("one clock was started", radio.count("Starting top-level clock") == 1, radio.text)


suite.main()
