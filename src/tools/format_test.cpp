#include "tools/format.h"

#include <gtest/gtest.h>

#include <string>

#include "lang/diag.h"

namespace castile::tools {

namespace {

/// Formats, and holds that the result is its own format (format_script itself compares tree and comments).
std::string formatted(const std::string& script) {
    const std::string once = format_script("<test>", script);
    EXPECT_EQ(format_script("<test>", once), once);
    return once;
}

}  // namespace

TEST(Format, KeepsWhatIsWellLaid) {
    const std::string script =
        "#!/usr/bin/env castile\n"
        "# About f.\n"
        "# @param ~x What it is.\n"
        "def f(~x=3, y) =\n"
        "  # inside\n"
        "  z = x + y # why\n"
        "\n"
        "  z\n"
        "  # last\n"
        "end # of f\n"
        "\n"
        "if true then\n"
        "  f(1)\n"
        "# otherwise\n"
        "else\n"
        "  f(2)\n"
        "end\n"
        "# the end\n";
    EXPECT_EQ(formatted(script), script);
}

TEST(Format, SpacesAndBlankLines) {
    EXPECT_EQ(formatted("\n\n\nx=1+2*3\n\n\n\ny   =  f( a ,b=2,...%argsof( g ) )"), "x = 1 + 2 * 3\n\ny = f(a, b=2, ...%argsof(g))\n");
    EXPECT_EQ(formatted("def f(x)=\n\n\nx\n\n\nend"), "def f(x) =\n  x\nend\n");
    EXPECT_EQ(formatted("a;b ;; c"), "a\nb\nc\n");
    EXPECT_EQ(formatted("def f;(x) end"), "def f\n  (x)\nend\n");
    EXPECT_EQ(formatted("%mp3; (x)"), "%mp3;\n(x)\n");
    formatted("def # a\nf(#< b\n >#) = 1 end");
    EXPECT_EQ(formatted(""), "");
    EXPECT_EQ(formatted("  \n\n"), "");
    EXPECT_EQ(formatted("x = 1\r\ny = 2 # c\r\n"), "x = 1\ny = 2 # c\n");
}

TEST(Format, LiteralsAsWritten) {
    const std::string script =
        "a = 1_000 + 0xFF + 0o17 + 0b1 + 1.e3 + .5\n"
        "b = 'single \"quoted\"'\n"
        "c = \"a#{ f( x ) }b\\u00e9\"\n"
        "d = {raw|not \"escaped\" #{}|raw}\n"
        "e = r/a\\/b/gi\n"
        "g = {10h30-12h}\n"
        "h = \"one \\\n"
        "      two\"\n"
        "%include \"x.liq\"\n"
        "%include <y.liq>\n";
    EXPECT_EQ(formatted(script), script);
}

TEST(Format, BothSpellings) {
    EXPECT_EQ(formatted("x=!r\nr:=ref 3\nnull()\nx=null.get( y )"), "x = !r\nr := ref 3\nnull()\nx = null.get(y)\n");
    EXPECT_EQ(formatted("try f() catch e:[a] do g() end"), "try f() catch e : [a] do g() end\n");
    EXPECT_EQ(formatted("def f(~x=_) = 1 end"), "def f(~x=_) = 1 end\n");
}

TEST(Format, BreaksLongLines) {
    EXPECT_EQ(formatted("radio = crossfade(duration=3., fade_out=2., fade_in=2., a_source_with_quite_a_long_name, another_long_name)"),
              "radio = crossfade(\n  duration=3.,\n  fade_out=2.,\n  fade_in=2.,\n  a_source_with_quite_a_long_name,\n  another_long_name\n)\n");
    // A minus at the start of a line would be a statement of its own.
    const std::string sum = formatted("total = aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa - bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb - ccccccccccccccccccccc");
    EXPECT_EQ(sum, "total =\n  aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa -\n  bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb -\n  ccccccccccccccccccccc\n");
    // What is short stays on its line unless the author broke it after the bracket.
    EXPECT_EQ(formatted("f(a,\n  b)"), "f(a, b)\n");
    EXPECT_EQ(formatted("f(\n  a, b)"), "f(\n  a,\n  b\n)\n");
    EXPECT_EQ(formatted("s.on_track(fun (m) -> begin\nprint(m)\nprint(m) end)"), "s.on_track(fun (m) -> begin\n  print(m)\n  print(m)\nend)\n");
}

TEST(Format, Comments) {
    EXPECT_EQ(formatted("f(a, # first\n  # own line\n  b) # after"), "f(\n  a, # first\n  # own line\n  b\n) # after\n");
    EXPECT_EQ(formatted("x = # why\n  3"), "x = # why\n  3\n");
    EXPECT_EQ(formatted("l = [ # open\n1,\n2 # two\n# end\n]"), "l = [ # open\n  1,\n  2 # two\n  # end\n]\n");
    EXPECT_EQ(formatted("f(#< in ># x)"), "f(#< in ># x)\n");
    EXPECT_EQ(formatted("#< a\n   b >#\nx"), "#< a\n   b >#\nx\n");
    EXPECT_EQ(formatted("def f() =\n# nothing yet\nend"), "def f() =\n  # nothing yet\nend\n");
    EXPECT_EQ(formatted("# alone"), "# alone\n");
    EXPECT_EQ(formatted("#< alone >#"), "#< alone >#\n");
    EXPECT_EQ(formatted("; # after nothing"), "# after nothing\n");
    EXPECT_EQ(formatted("a = b\n  # on the way\n  .c() # end"), "a = b\n  # on the way\n  .c() # end\n");
    EXPECT_EQ(formatted("x = \"#{ f( #< kept >#\n y) }\""), "x = \"#{ f( #< kept >#\n y) }\"\n");
}

TEST(Format, TypesAndPatterns) {
    EXPECT_EQ(formatted("x=(y:{a:int,b?:[ string*int ]?})"), "x = (y : {a : int, b? : [string * int]?})\n");
    EXPECT_EQ(formatted("def f((s:source(audio=pcm( 'a),video=none)),~g:(h:(?int,x:string)->unit)) = s end"),
              "def f((s : source(audio=pcm('a), video=none)), ~g:(h : (?int, x : string) -> unit)) = s end\n");
    EXPECT_EQ(formatted("let json.parse ( x:[(string*int)]as json.object)=s\nlet {a,b=( c,_ ),d?}=r\nlet [x,...y]=l\n_=1"),
              "let json.parse (x : [(string * int)] as json.object) = s\nlet {a, b = (c, _), d?} = r\nlet [x, ...y] = l\n_ = 1\n");
}

TEST(Format, Refusals) {
    EXPECT_THROW(format_script("<test>", "def f( ="), lang::ScriptError);
    EXPECT_THROW(format_script("<test>", "\xff"), lang::ScriptError);
    std::string deep = "x";
    for (int i = 0; i < 100'000; ++i) deep += " + x";
    EXPECT_ANY_THROW(format_script("<test>", "y = " + std::string(100'000, '(')));
    // Long is not deep: either is fine, as long as it comes back.
    try {
        format_script("<test>", deep);
    } catch (const std::exception&) {
    }
}

}  // namespace castile::tools
