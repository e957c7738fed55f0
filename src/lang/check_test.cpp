// Expressions and the types they get, or the error that refuses them.
#include "lang/check.h"

#include <gtest/gtest.h>

#include <ctime>

#include "lang/parse.h"
#include "lang/type.h"

namespace castile::lang {
namespace {

void declare_basics(TypeEnvironment& e) {
    const char* table[][2] = {
        {"+", "('a, 'a) -> 'a where 'a is a number type"},
        {"-", "('a, 'a) -> 'a where 'a is a number type"},
        {"*", "('a, 'a) -> 'a where 'a is a number type"},
        {"~-", "('a) -> 'a where 'a is a number type"},
        {"==", "('a, 'a) -> bool where 'a is an orderable type"},
        {"^", "(string, string) -> string"},
        {"not", "(bool) -> bool"},
        {"_[_]", "([string * string], string) -> string"},
        {"string", "(?fields : bool, ?print_binary : bool, 'a) -> string"},
        {"string.concat", "(?separator : string, [string]) -> string"},
        {"string.length", "(string) -> int"},
        {"ref", "('a) -> (() -> 'a).{set : ('a) -> unit}"},
        {"ref.incr", "((() -> int).{set : (int) -> unit}) -> unit"},
        {"ignore", "('a) -> unit"},
        {"print", "(?newline : bool, 'a) -> unit"},
        {"getter.get", "({'a}) -> 'a"},
        {"getter", "({'a}) -> {'a}"},
        {"sin", "(float) -> float"},
        {"list.hd", "(?default : 'a?, ['a]) -> 'a"},
        {"list.map", "((('a) -> 'b), ['a]) -> ['b]"},
        {"list.iter", "((('a) -> unit), ['a]) -> unit"},
        {"list.append", "(['a], ['a]) -> ['a]"},
        {"list.iterator", "(['a]) -> () -> 'a?"},
        {"null", "(?'a) -> 'a?"},
        {"null.get", "(?default : 'a?, 'a?) -> 'a"},
        {"null.defined", "('a?) -> bool"},
        {"null.case", "('a?, (() -> 'b), (('a) -> 'b)) -> 'b"},
        {"error.raise", "(error, ?string) -> 'a"},
        {"error.register", "(string) -> error"},
        {"fst", "('a * 'b) -> 'a"},
        {"snd", "('a * 'b) -> 'b"},
        {"file.extension", "(?dir_sep : string, ?leading_dot : bool, string) -> string"},
        {"sine", "(?id : string?, ?float) -> source(audio=pcm('a), 'b)"},
        {"blank", "(?id : string?) -> source('a)"},
        {"single", "(string) -> source('a)"},
        {"mean", "(source(audio=pcm('a), 'b)) -> source(audio=pcm(mono), 'b)"},
        {"amplify", "({float}, source(audio=pcm('a), 'b)) -> source(audio=pcm('a), 'b)"},
        {"mksafe", "(source('a)) -> source('a) where 'a is a set of internal tracks"},
        {"source.tracks", "(source('a)) -> 'a.{metadata : metadata, track_marks : track_marks}"},
        {"video.add", "(source(video=canvas('a), 'b)) -> source(video=canvas('a), 'b)"},
        {"output.file", "(?fallible : bool, format('a), string, source('a)) -> unit.{id : () -> string}"},
        {"output.dummy", "(?fallible : bool, source('a)) -> unit"},
        {"harbor.http.register",
         "(string, (({path : string}, (() -> string).{json : (?compact : bool, 'a) -> unit}) -> unit)) -> unit"},
        {"order.less", "('a, 'a) -> bool where 'a is an orderable type"},
        {"order.more", "('a, 'a) -> bool where 'a is an orderable type"},
        {"settings.log.level", "(() -> int).{set : (int) -> unit}"},
        {"settings.init", "{force : (() -> bool).{set : (bool) -> unit}}"},
        {"settings.codecs._4xm", "(() -> int).{set : (int) -> unit}"},
    };
    for (const auto& [name, type] : table) e.declare(name, type);
    e.declare_method("source", "skip", "() -> unit");
    e.declare_method("source", "id", "() -> string");
    e.declare_method("source", "on_track", "(synchronous : bool, (([string * string]) -> unit)) -> unit");
    e.declare_method("error", "message", "string");
    e.declare_method("error", "kind", "string");
    e.set_encoder_typer([](const term::Encoder& encoder, Span) -> std::string {
        for (const term::EncoderParam& p : encoder.params)
            if (p.word == Name("mono")) return "format(audio=pcm(mono))";
        return "format(audio=pcm(stereo))";
    });
    e.end_library();
}

struct Outcome {
    std::string text;                     ///< the type, or "error N"
    std::vector<Diagnostic> warnings;
    Diagnostic error;
};

Outcome type_of(TypeEnvironment& environment, const std::string& script) {
    static std::vector<std::unique_ptr<Arena>> arenas;
    Arena& arena = *arenas.emplace_back(std::make_unique<Arena>());
    Outcome outcome;
    try {
        ParseContext context;
        context.defined = [](std::string_view) { return false; };
        std::vector<Diagnostic> parse_warnings;
        Term* term = parse_script(arena, source_map().add("test.liq", script), context, parse_warnings);
        CheckResult result = check(arena, environment, term);
        outcome.text = print_type(result.type);
        outcome.warnings = std::move(result.warnings);
    } catch (const ScriptError& error) {
        outcome.error = error.diagnostic();
        outcome.text = "error " + std::to_string(outcome.error.code);
    }
    return outcome;
}

Outcome type_of(const std::string& script) {
    TypeEnvironment environment;
    declare_basics(environment);
    return type_of(environment, script);
}

struct Case { const char *script, *type; };

void expect_all(std::initializer_list<Case> cases) {
    for (const Case& c : cases) {
        const Outcome outcome = type_of(c.script);
        EXPECT_EQ(outcome.text, c.type) << c.script << "\n" << outcome.error.message;
    }
}

TEST(Check, Constants) {
    expect_all({
        {"1", "int"},
        {"1.5", "float"},
        {"\"a\"", "string"},
        {"true", "bool"},
        {"()", "unit"},
        {"null", "'A?"},
        {"(1, \"a\", true)", "int * string * bool"},
        {"[1, 2]", "[int]"},
        {"[]", "['A]"},
        {"{a = 1, b = \"x\"}", "{a : int, b : string}"},
        {"1.{a = 2}", "int.{a : int}"},
        {"fun (x) -> x", "('A) -> 'A"},
        {"fun (x, ~y, ~z=1) -> x", "('A, y : 'B, ?z : int) -> 'A"},
        {"x = 1", "unit"},
    });
}

TEST(Check, Polymorphism) {
    expect_all({
        {"def id(x) = x end\n(id(1), id(\"a\"))", "int * string"},
        {"id = fun (x) -> x\nid2 = id\n(id2(1), id2(\"a\"))", "int * string"},
        {"def rec f(x) = x end\n(f(3), f(\"a\"))", "int * string"},
        {"def f(x) = y = x ; y end\nf((1, 2))", "int * int"},
        {"def id'(x) = def f2(y) = x end f2(x) end\n(id'(1), id'(\"a\"))", "int * string"},
        {"x = list.map\nx(fun (y) -> y + 1, [1])", "[int]"},
        {"r = ref([])\nr := [1]\nr := [\"a\"]", "error 5"},
        {"def f() = fun (x) -> x end\ng = f()\n(g(1), g(\"a\"))", "int * string"},
        {"def f(x=null) = ref(x) end r = f() r.set(1) r.set(\"aabb\")", "error 5"},
        {"def id(x) = x end\ndef incr(n) = n + 1 end\nr = ref(id)\nr := incr\nf = r()\nf(\"a\")", "error 5"},
        {"m = {}\ndef m.id(x) = x end\n(m.id(1), m.id(\"a\"))", "int * string"},
        {"fun (x) -> x(x)", "error 5"},
        {"def f(f) = f(\"bla\") end\nf(0)", "error 5"},
    });
}

TEST(Check, Calls) {
    expect_all({
        {"def f(~a, b) = a + b end\nf(1, a=2)", "int"},
        {"def f(~a=1, b) = a + b end\nf(1)", "int"},
        {"def f(x, y) = y end\nf(2)", "error 15"},
        {"def f(x) = x end\nf(y=2)", "error 6"},
        {"def f(~l, ~l) = l end", "error 6"},
        {"def f(x) = x end\nf(1, 2)", "error 6"},
        {"f(1)", "error 4"},
        {"x = 1\nx(2)", "error 5"},
        {"g = fun (f) -> f(x=3)\nf = fun (~x=3) -> x + 5\ng(f)", "int"},
        {"f1 = fun () -> 3\nf2 = fun (a=1) -> a\n[f1, f2]", "[() -> int]"},
        {"f1 = fun () -> 3\nf2 = fun (a=1) -> a\n[f2, f1]", "error 5"},
        {"def g(f) = f(\"a\".{l = 3}) end\ndef f(x) = 0 end\ng(f)", "int"},
        {"x = fun (f) -> f(3)\nx(fun (f, ~u=1) -> u)", "int"},
        {"\"bl\" + \"a\"", "error 5"},
        {"1 + \"1\"", "error 5"},
        {"(fun (a, b) -> a + b) == (fun (a, b) -> a + b)", "error 5"},
        {"print(newline=false, 1)", "unit"},
    });
}

TEST(Check, Subtyping) {
    expect_all({
        {"(1 : unit)", "error 5"},
        {"[null, 3]", "[int?]"},
        {"[3, null]", "[int?]"},
        {"if true then 1 else null end", "int?"},
        {"if true then null else 1 end", "int?"},
        {"[4, \"x\"]", "error 5"},
        {"[{a = 4, b = 5}, {a = \"a\", b = 2, d = \"d\"}]", "[{b : int, d? : string}]"},
        {"if true then {a = 4} else {a = 4, b = 5} end", "{a : int, b? : int}"},
        {"{a = 5, b = 3} == {a = 6}", "bool"},
        {"[1] == [\"1\"]", "error 5"},
        {"({foo = 123} : {foo? : int})", "{foo? : int}"},
        {"({} : {foo? : int})", "{foo? : int}"},
        {"({foo = null} : {foo? : int})", "{foo? : int}"},
        {"(({} : {foo? : int}) : {foo : int?})", "error 5"},
        {"(({} : {foo? : int}) : {foo? : int?})", "{foo? : int?}"},
        {"(123.{foo = \"aabb\"} : int?.{foo : string})", "int?.{foo : string}"},
        {"([] : [(string * int)] as json.object)", "[string * int] as json.object"},
        {"1 ?? 2", "int"},
        {"(null : int?) ?? 2", "int"},
        {"null ?? \"bla\"", "string"},
    });
}

TEST(Check, Numbers) {
    expect_all({
        {"sin(0)", "float"},
        {"1 + 2", "int"},
        {"1. + 2.", "float"},
        {"[1., 2, 3.]", "error 5"},
        {"if false then 1. else 2 end", "error 5"},
        {"if false then 1 else 2. end", "error 5"},
        {"if false then (1., 2.) else (1, 2) end", "error 5"},
        {"def f(x) = x + 1.5 end\nf(2)", "float"},
        {"def f(~(x:float)=5) = x * 2. end\nf(x=3)", "float"},
        {"def f(~x, ~y=2.) = x + y + 0. end\nf(x=3, y=4)", "float"},
        {"-3", "int"},
        {"def f(l) = let [x] = l ignore(x + 1) ignore(x + 2.) end", "error 5"},
        {"fun (a, b) -> a + b == a", "('A, 'A) -> bool where 'A is a number type and an orderable type"},
    });
}

TEST(Check, IntegersWhereFloatsAreWantedAreCast) {
    TypeEnvironment environment;
    declare_basics(environment);
    Arena arena;
    std::vector<Diagnostic> warnings;
    Term* term = parse_script(arena, source_map().add("test.liq", "sin(1)"), {}, warnings);
    check(arena, environment, term);
    while (auto* sequence = std::get_if<term::Sequence>(&term->node)) term = sequence->second;
    auto* apply = std::get_if<term::Apply>(&term->node);
    ASSERT_TRUE(apply);
    EXPECT_TRUE(std::holds_alternative<term::ToFloat>(apply->arguments[0].value->node));
}

TEST(Check, Methods) {
    expect_all({
        {"x = {a = 1}\nx.a", "int"},
        {"x = {a = 1}\nx.b = 2\nx.b", "int"},
        {"x = {a = {b = 1}}\nx.a.c = \"s\"\n(x.a.b, x.a.c)", "int * string"},
        {"def f(x) = x.foo end\n(f({foo = 1}), f(3.{foo = \"a\"}))", "int * string"},
        {"fun (x) -> x?.foo", "('A.{foo? : 'B}) -> 'B?"},
        {"def f(x) = (x?.foo ?? 2) + 1 end\n(f({}), f(()), f({foo = 1}), f({foo = null}))", "int * int * int * int"},
        {"def f(x) = x?.foo end\n(f({}), f(({foo = null} : {foo : int?})), f(true))", "'A? * int? * 'B?"},
        {"fun (x) -> x?.foo.gni.gna + 1", "error 5"},
        {"def f(x) = x?.foo.gni.gna ?? 1 end\n(f({}), f({foo = {gni = {gna = 2}}}))", "int * int"},
        {"()\n().f", "error 5"},
        {"list.bla(3)", "error 5"},
        {"(3.{a = 1}) + 2", "int.{a? : int}"},
        {"x = {foo = 123, gni = \"aabb\"}\nlet {foo, ...y} = x\n(foo, y)", "int * {gni : string}"},
        {"def f(x) = let y.{foo} = x\ny.foo + 1\nend", "error 5"},
        {"let {foo = {gni = gno}, foo = gna} = {foo = {gni = \"a\"}}\n(gno, gna)", "string * {gni : string}"},
        {"let {x?} = ()\nx", "'A?"},
        {"let {x?} = {x = 123}\nx", "int?"},
        {"def f(x) = let {foo?} = x\nfoo end\nf(()) + 123", "error 5"},
        {"r = {a = 1}\nlet replaces r.a = \"x\"\nr.a", "string"},
        {"tab = ref([])\ndef add(id) = ignore(list.map(fun (x) -> x.id == id, tab()))\ntab := [...tab(), {id = id, f = 1}] end\n"
         "list.map(fun ({id, f}) -> id ^ \"\", tab())", "[string]"},
        {"r = ()\nlet r.a = ()\nlet r.a.b = 5\nlet replaces r.a = 2\nr.a.b", "int"},
        {"def c() = 1 end\ndef c.reset() = () end\n(c(), c.reset())", "int * unit"},
        {"{a = 1, ...{b = 2}}", "{a : int, b : int}"},
        {"y = {bla = 3.14, ...1.{foo = 2}}\ny", "{bla : float, foo : int}"},
        {"open {a = 1, b = 2}\na + b", "int"},
        {"open list\nhd([1])", "int"},
        {"def list.second(l) = hd = list.hd(l)\n[hd] end\nlist.second([1])", "[int]"},
        {"harbor.http.register(\"x\", fun (req, resp) -> resp.json({a = req.path}))", "unit"},
        {"settings.log.level := 3", "unit"},
        {"settings.init.force := true", "unit"},
        {"settings.init.force := 1", "error 5"},
        {"settings.init.forse", "error 5"},
        {"settings.codecs._4xm()", "int"},
        {"order", "{less : 'a.('a, 'a) -> bool, more : 'a.('a, 'a) -> bool} where 'a is an orderable type"},
        {"_4xm = 1", "error 2"},
    });
}

TEST(Check, AlternativesOfMethods) {
    expect_all({
        {"fun (c, d) -> (c : {u : string?}).u ?? d.u", "({u : string?}, 'A.{u : string?}) -> string?"},
        {"fun (c, d) -> (c : {u? : string}).u ?? d.u", "({u? : string}, 'A.{u : string}) -> string"},
        {"fun (c, d) -> c.u ?? d.u", "('A.{u? : 'B}, 'C.{u : 'B}) -> 'B"},
        {"fun (x) -> ({a = (null : string?)}.a ?? x)", "(string?) -> string?"},
        {"({a = (null : string?)}.a ?? \"x\") ^ \"y\"", "string"},
    });
}

TEST(Check, SelfCalls) {
    expect_all({
        {"def rec g(~r, l) = r = (r : {p : int}) if l == [] then l else g(r=(if true then {p = 1} end), l) end end\ng", "(r : {p : int}, ['A]) -> ['A] where 'A is an orderable type"},
        {"def rec g(r) = r = (r : {p : int}) if r.p == 1 then 2 else g({p = \"a\"}) end end", "error 5"},
        {"def rec g(r) = r = (r : int) if r == 1 then 2 else g(\"a\") end end", "error 5"},
        {"def rec g(r) = r = (r : {p : int}) r.p end\ng(({} : {p? : int}))", "error 5"},
        {"def rec f(x) = if x == 0. then 1. else f(x - 1.) end end\nf(3)", "float"},
        {"def rec f(~a=1, x) = if x == 0 then a else f(x - 1) end end\nf", "(?a : int, int) -> int"},
    });
}

TEST(Check, Patterns) {
    expect_all({
        {"let (a, b) = (1, \"x\")\n(b, a)", "string * int"},
        {"let [x, y, ...z] = [1, 2]\n(x, z)", "int * [int]"},
        {"let (x, _) = 1", "error 5"},
        {"let [x] = 1", "error 5"},
        {"let (id, f) = (fun (x) -> x, 1)\n(id(1), id(\"a\"), f)", "int * string * int"},
        {"let [{foo}, ..._, {bla}] = [{foo = 1, bla = \"x\"}]\n(foo, bla)", "int * string"},
        {"let ([x] : [int]) = [123]\nx", "int"},
        {"def f((a, b)) = a + b end\nf((1, 2))", "int"},
        {"let json.parse (x : {a : int, b? : [string]}) = \"{}\"\nx", "{a : int, b? : [string]}"},
        {"let json.parse {a, b} = \"{}\"\na + 1", "int"},
    });
}

TEST(Check, Control) {
    expect_all({
        {"for i = 1 to 3 do ignore(i + 1) end", "unit"},
        {"for i = 1 to 3 do i end", "error 5"},
        {"for x = list.iterator([\"a\"]) do print(x ^ \"b\") end", "unit"},
        {"while true do () end", "unit"},
        {"try 1 catch e do string.length(e.message) end", "int"},
        {"try 1 catch e do e.message end", "error 5"},
        {"x = ref(1)\nx := x() + 1\nx", "(() -> int).{set : (int) -> unit}"},
        {"x = ref(1)\nx := \"a\"", "error 5"},
        {"true and 1", "error 5"},
        {"getter.get({1}) + getter.get(2) + getter.get(ref(3))", "int"},
        {"def f(%argsof(file.extension[leading_dot]), x) = if leading_dot then x else 0 end end\nf", "error 3"},
    });
}

TEST(Check, ArgsofOfScriptFunctions) {
    expect_all({
        {"def base(~a=1, ~b=2) = a + b end\ndef w(%argsof(base)) = base(%argsof(base)) end\nw", "(?a : int, ?b : int) -> int"},
        {"def base(~a=1, ~b=2) = a + b end\ndef w(%argsof(base[!b])) = base(%argsof(base[a])) end\nw(a=3)", "int"},
        {"def base(~a=1) = a end\ndef w(%argsof(base[c])) = 1 end", "error 3"},
    });
}

TEST(Check, Sources) {
    expect_all({
        {"sine()", "source(audio=pcm('A), 'B)"},
        {"sine().skip()", "unit"},
        {"sine().skipp()", "error 5"},
        {"s = sine()\noutput.file(%mp3(mono), \"x\", s)\ns", "source(audio=pcm(mono))"},
        {"s = sine()\noutput.file(%mp3(mono), \"x\", s)\noutput.file(%mp3, \"x\", s)", "error 5"},
        {"output.file(%mp3, \"foo\", mean(blank()))", "error 5"},
        {"(sine() : source(audio=pcm(mono)))", "source(audio=pcm(mono))"},
        {"(sine() : source(audio=pcm(5.1)))", "source(audio=pcm(5.1))"},
        {"(sine() : source(video=none, ...))", "source(audio=pcm('A), 'B)"},
        {"(sine() : source(_))", "source(_)"},
        {"output.dummy((sine() : source(_)))", "error 5"},
        {"(source.tracks(blank()).audio : pcm)", "pcm('A)"},
        {"(single(\"\") : source(audio=ffmpeg.copy, video=ffmpeg.copy, midi=midi))",
         "source(audio=ffmpeg.copy('A), midi=midi('B), video=ffmpeg.copy('C))"},
        {"mksafe((blank() : source(audio=ffmpeg.copy)))", "error 5"},
        {"fun (s) -> amplify(1, s)", "(source(audio=pcm('A), 'B)) -> source(audio=pcm('A), 'B)"},
        {"(blank().{a = 1} : source(audio=pcm).{a : int})", "source(audio=pcm('A)).{a : int}"},
        {"def f(s) = s.skip() end\nf(sine())", "unit"},
        {"[sine(), blank()]", "[source(audio=pcm('A), 'B)]"},
        {"s = sine().{skip = fun (~now=false) -> ignore(now)}\n[sine(), s, sine()]", "[source(audio=pcm('A), 'B)]"},
        {"(1 : nonsense)", "error 3"},
        {"(1 : pcm(quadro))", "error 3"},
    });
}

TEST(Check, MessagesNameWhatDiffers) {
    const auto message = [](const char* script) { return type_of(script).error.message; };
    EXPECT_EQ(message("1 + \"one\""), "this value has type\n  string\nbut it should be a subtype of\n  int");
    EXPECT_EQ(message("undefined_variable"), "Undefined variable undefined_variable");
    EXPECT_EQ(message("q"), "Undefined variable q");
    EXPECT_EQ(message("pint(1)"), "Undefined variable pint. Did you mean `print`?");
    EXPECT_EQ(message("list.hdd([1])"), "this value has no method `hdd`. Did you mean `hd`?");
    EXPECT_EQ(message("x = {foo = 1}\nx.fooo"),
              "this value has no method `fooo`. Did you mean `foo`?\n  Its type is {foo : int}.");
    EXPECT_EQ(message("[(1, \"a\"), (1, 2)]"), "this value has type\n  _ * int\nbut it should be a subtype of\n  _ * string");
    EXPECT_EQ(message("l = [1, 2]\nl(3)"), "this value has type\n  [_]\nbut it should be a subtype of\n  (_) -> _");
    EXPECT_EQ(message("list.hd(3)"), "this value has type\n  int\nbut it should be a subtype of\n  [_]");
    EXPECT_EQ(message("output.file(%mp3, \"a\")"), "Missing arguments in function application: source(audio=pcm(stereo)).");
    EXPECT_EQ(message("print(newlin=false, 1)"),
              "Cannot apply that parameter because the function has no argument labeled \"newlin\"! Did you mean `newline`?");
}

TEST(Check, MessagesSayWhatHelps) {
    const auto notes = [](const char* script) {
        std::string all;
        for (const auto& note : type_of(script).error.notes) all += note.message + " ";
        return all;
    };
    EXPECT_EQ(notes("list.hd(3)"), "It is the unlabeled argument number 1 of `list.hd`. A list is wanted: it is written between brackets, as in `[x, y]`. ");
    EXPECT_EQ(notes("print(newline=1, 2)"), "It is the argument `newline` of `print`. ");
    EXPECT_EQ(notes("x = ref(1)\nx + 1"), "It is on the left of `+`. It is a function, or a reference: its value is got by calling it, as in `x()`. `x` comes from here. ");
    EXPECT_EQ(notes("string.length((null : string?))"), "It is the unlabeled argument number 1 of `string.length`. It may be null: say what to use then, as in `x ?? otherwise`. ");
    EXPECT_EQ(notes("def f(x) = x(1) + string.length(x) end"), "It is the unlabeled argument number 1 of `string.length`. `x` comes from here. ");
    EXPECT_EQ(notes("if 1 then 2 else 3 end"), "");
    EXPECT_EQ(notes("f = fun (x) -> x + 1\nf(\"a\")"), "It is the unlabeled argument number 1 of `f`. `int_of_string(x)` reads an integer. `f` is defined here. ");
    EXPECT_EQ(notes("(true : () -> bool)"), "A function is wanted: a value between braces is one, as in `{true}`. ");
    EXPECT_EQ(notes("output.file(%mp3, \"foo\", mean(blank()))"), "It is the unlabeled argument number 3 of `output.file`. The operator `stereo` makes the audio of a source stereo. ");
    EXPECT_EQ(type_of("(1 : strin)").error.message, "Unknown type constructor: strin. Did you mean `string`?");
}

TEST(Check, ErrorsStandAtTheSubterm) {
    const Outcome outcome = type_of("x = 1\nprint(x + \"a\")");
    ASSERT_EQ(outcome.error.code, 5);
    EXPECT_EQ(source_map().text(outcome.error.span.file).substr(outcome.error.span.begin, outcome.error.span.end - outcome.error.span.begin),
              "\"a\"");
}

std::string warnings_of(const char* script) {
    std::string result;
    const Outcome outcome = type_of(script);
    EXPECT_EQ(outcome.text.substr(0, 5) == "error", false) << script << outcome.error.message;
    for (const Diagnostic& d : outcome.warnings) result += std::to_string(d.code) + " ";
    return result;
}

TEST(Check, Warnings) {
    EXPECT_EQ(warnings_of("1\n2"), "3 ");
    EXPECT_EQ(warnings_of("print\n2"), "1 ");
    EXPECT_EQ(warnings_of("sine()\n2"), "2 ");
    EXPECT_EQ(warnings_of("()\nprint(1)\n2"), "");
    EXPECT_EQ(warnings_of("x = 1"), "4 ");
    EXPECT_EQ(warnings_of("x = 1\nprint(x)"), "");
    EXPECT_EQ(warnings_of("x = 1\nx = x + 1\nprint(x)"), "");
    EXPECT_EQ(warnings_of("x = 1\nx = 2\nprint(x)"), "4 ");
    EXPECT_EQ(warnings_of("_ = 1"), "");
    EXPECT_EQ(warnings_of("def f(x) = 1 end"), "4 ");
    EXPECT_EQ(warnings_of("def f(_) = 1 end"), "");
    EXPECT_EQ(warnings_of("def f() = y = 2\n1 end"), "4 ");
    EXPECT_EQ(warnings_of("list = 1\nprint(list)"), "6 ");
    EXPECT_EQ(warnings_of("def f(list) = print(list) end"), "6 ");
    EXPECT_EQ(warnings_of("def f(~a:list) = print(list) end"), "6 ");
    EXPECT_EQ(warnings_of("def f() = list = 1 list = list + 1 print(list) end"), "6 ");
    EXPECT_EQ(warnings_of("def f(list) = def g(list) = print(list) end\ng(list) end"), "6 ");
    EXPECT_EQ(warnings_of("for list = 1 to 3 do print(list) end"), "6 ");
    EXPECT_EQ(warnings_of("try () catch list do print(list) end"), "6 ");
    EXPECT_EQ(warnings_of("def replaces print(x) = ignore(x) end\nprint(1)"), "6 ");
    EXPECT_EQ(warnings_of("open {list = 1}\nprint(list)"), "6 ");
    EXPECT_EQ(warnings_of("try 1 catch e do 2 end"), "4 ");
    EXPECT_EQ(warnings_of("try 1 catch _ do 2 end"), "");
    EXPECT_EQ(warnings_of("def f(_x) = 1 end"), "4 ");
    EXPECT_EQ(warnings_of("def f((x : unit)) = 1 end"), "4 ");
    EXPECT_EQ(warnings_of("def f() = x = () 1 end"), "");
    EXPECT_EQ(warnings_of("let (list, _) = (1, 2)\nprint(list)"), "6 ");
    EXPECT_EQ(warnings_of("def list.foo() = 1 end\nprint(list.foo())"), "");
    EXPECT_EQ(warnings_of("def c() = 1 end\ndef c.reset() = () end\nprint(c())"), "");
}

TEST(Check, WarningsBeforeAnErrorAreTold) {
    const char* script = "1\n2 + \"a\"";
    TypeEnvironment environment;
    declare_basics(environment);
    Arena arena;
    std::vector<Diagnostic> warnings, parse_warnings;
    Term* term = parse_script(arena, source_map().add("test.liq", script), {}, parse_warnings);
    EXPECT_THROW(check(arena, environment, term, warnings), ScriptError);
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_EQ(warnings[0].code, 3);
}

TEST(Check, DeprecatedNamesAreToldOnce) {
    TypeEnvironment environment;
    declare_basics(environment);
    environment.deprecate("list.hd", "Use `list.head` instead.");
    const Outcome outcome = type_of(environment, "print(list.hd([1]))\nprint(list.hd([1]))");
    ASSERT_EQ(outcome.warnings.size(), 1u);
    EXPECT_EQ(outcome.warnings[0].code, 5);
    EXPECT_EQ(outcome.warnings[0].message, "Deprecated: Use `list.head` instead.");
}

TEST(Check, LibrariesAreNotWarnedAboutButTheirNamesAre) {
    TypeEnvironment environment;
    declare_basics(environment);
    environment.deprecate("list.hd", "Use `list.head` instead.");
    static Arena arena;
    std::vector<Diagnostic> warnings;
    Term* term = parse_script(arena, source_map().add("lib.liq", "def twice(x) = [list.hd(x)] end\nlist = 1\nunused = 2"), {}, warnings);
    EXPECT_TRUE(check(arena, environment, term, CheckRole::library).warnings.empty());
    const Outcome outcome = type_of(environment, "def twice(x) = [x] end\nprint(twice(1))");
    ASSERT_EQ(outcome.warnings.size(), 1u);
    EXPECT_EQ(outcome.warnings[0].code, 6);
}

TEST(Check, DefinitionsExtendTheEnvironmentUnlessTheScriptIsRefused) {
    TypeEnvironment environment;
    declare_basics(environment);
    EXPECT_EQ(type_of(environment, "x = 1\ndef list.twice(l) = [l, l] end").text, "unit");
    EXPECT_EQ(type_of(environment, "list.twice([x])").text, "[[int]]");
    EXPECT_EQ(type_of(environment, "y = 1\nx = \"a\"\ndef list.hd() = 1 end\nz").text, "error 4");
    EXPECT_EQ(type_of(environment, "y").text, "error 4");
    EXPECT_EQ(type_of(environment, "(x, list.hd([true]))").text, "int * bool");
    EXPECT_TRUE(environment.defined("list.twice"));
    EXPECT_FALSE(environment.defined("list.thrice"));
    EXPECT_TRUE(environment.defined("settings.init.force"));
    EXPECT_EQ(environment.type_of("list.map"), "((('a) -> 'b), ['a]) -> ['b]");
    EXPECT_EQ(environment.type_of("nothing"), "");
}

TEST(Check, LongScriptsAndDeepTermsAndLargeTypes) {
    TypeEnvironment environment;
    declare_basics(environment);
    std::string script;
    for (int i = 0; i < 20000; ++i) script += "x" + std::to_string(i) + " = " + std::to_string(i) + "\nprint(x" + std::to_string(i) + ")\n";
    EXPECT_EQ(type_of(environment, script).text, "unit");

    std::string doubling = "x0 = fun (x) -> x\n";
    for (int i = 1; i < 60; ++i) doubling += "x" + std::to_string(i) + " = (x" + std::to_string(i - 1) + ", x" + std::to_string(i - 1) + ")\n";
    const std::clock_t before = std::clock();
    EXPECT_EQ(type_of(environment, doubling).text, "error 5");
    std::string applied = "def d0(x) = (x, x) end\n";
    for (int i = 1; i < 12; ++i) applied += "d" + std::to_string(i) + " = fun (x) -> d" + std::to_string(i - 1) + "(d" + std::to_string(i - 1) + "(x))\n";
    type_of(environment, applied + "d11(1)");
    std::string nested = "x0 = 1\n";
    for (int i = 1; i < 20000; ++i) nested += "x" + std::to_string(i) + " = [x" + std::to_string(i - 1) + "]\n";
    type_of(environment, nested + "list.append(x19999, x19999)");
    EXPECT_LT(std::clock() - before, 4 * CLOCKS_PER_SEC);  // processor time
}

}  // namespace
}  // namespace castile::lang
