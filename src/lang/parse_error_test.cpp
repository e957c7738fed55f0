// What a script must not be, and types.
#include <chrono>

#include <gtest/gtest.h>

#include "lang/literal.h"
#include "lang/parse.h"
#include "lang/preprocess.h"
#include "lang/type_text_test.h"

namespace castile::lang {
namespace {

Diagnostic refused(const std::string& script) {
    Arena arena;
    std::vector<Diagnostic> warnings;
    const auto start = std::chrono::steady_clock::now();
    try {
        parse_script(arena, source_map().add("<bad>", script), {}, warnings);
    } catch (const ScriptError& e) {
        EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
        EXPECT_TRUE(source_map().known(e.diagnostic().span));
        EXPECT_LE(e.diagnostic().span.end, script.size());
        return e.diagnostic();
    }
    ADD_FAILURE() << "accepted: " << script.substr(0, 100);
    return {};
}

/// The place and the message of the error, as "code begin-end message".
std::string error(const std::string& script) {
    const Diagnostic d = refused(script);
    return std::to_string(d.code) + " " + std::to_string(d.span.begin) + "-" + std::to_string(d.span.end) + " " + d.message;
}

TEST(ParseError, SaysWhatIsExpectedAndFound) {
    EXPECT_EQ(error("def f( =\n"), "2 7-8 Parse error: expected a variable or a pattern, found `=`.");
    EXPECT_EQ(error("f(1, 2"), "2 6-6 Parse error: expected `)`, found the end of the script.");
    EXPECT_EQ(error("x = [1, 2\ny = 3"), "2 10-11 Parse error: expected `]`, found `y`.");
    EXPECT_EQ(error("1 +"), "2 3-3 Parse error: expected an expression, found the end of the script.");
    EXPECT_EQ(error("if true do 1 end"), "2 8-10 Parse error: expected `then` after the condition, found `do`.");
    EXPECT_EQ(error("x = 1 end"), "2 6-9 Parse error: expected an expression or a definition, found `end`.");
    EXPECT_EQ(error("f(1) = 2").substr(0, 22), "3 0-4 Invalid binding:");
    EXPECT_EQ(error("f = { x = 1; x }").substr(0, 27), "2 11-12 Parse error: expect");
    EXPECT_EQ(error("_0_eval = 1").substr(0, 5), "2 0-1");
    EXPECT_EQ(error("(1 : blah(").substr(0, 7), "2 10-10");
    EXPECT_EQ(error("let json.parse (m : [(string * int)] as json.nope) = s"), "3 40-49 Expected `json.object` after `as`, found `json.nope`.");
    EXPECT_EQ(error("1w-10h").substr(0, 5), "3 0-6");
    EXPECT_EQ(error("99999999999999999999").substr(0, 6), "3 0-20");
    const Diagnostic unclosed = refused("def f() =\n  1\n");
    ASSERT_EQ(unclosed.notes.size(), 1U);
    EXPECT_EQ(unclosed.notes[0].span.begin, 0U);
}

TEST(ParseError, CharactersOutsideTheLanguage) {
    EXPECT_EQ(error("a && b"), "1 2-3 Unexpected character `&`. A logical conjunction is written `and`.");
    EXPECT_EQ(error("x = “a”").substr(0, 5), "1 4-7");
    EXPECT_EQ(refused(std::string("a\0b", 3)).code, 1);
    EXPECT_EQ(refused("x = \"\xff\xfe\"").code, 1);
    EXPECT_EQ(refused("\x7f" "ELF\x02\x01\x01").code, 1);
}

TEST(ParseError, WhatIsNotTerminated) {
    EXPECT_EQ(error("x = \"abc").substr(0, 5), "3 4-5");
    EXPECT_EQ(error("x = \"a#{b").substr(0, 5), "3 4-5");
    EXPECT_EQ(error("x = \"a#{b}").substr(0, 5), "3 4-5");
    EXPECT_EQ(error("x = 1 #< abc").substr(0, 5), "3 6-8");
    EXPECT_EQ(error("x = {a|b}").substr(0, 5), "3 4-7");
    EXPECT_EQ(error("x = r/abc").substr(0, 5), "3 4-6");
    EXPECT_EQ(refused("%ifdef x\n1").code, 2);
    EXPECT_EQ(refused("%include \"x").code, 3);
    EXPECT_EQ(refused("%include \"/nonexistent.liq\"").code, 3);
}

TEST(ParseError, NestingIsBounded) {
    const auto repeat = [](const std::string& text, int times) {
        std::string out;
        for (int i = 0; i < times; ++i) out += text;
        return out;
    };
    const int many = 100'000;
    for (const char* opening : {"(", "[", "{", "f(", "x.{a=", "begin ", "if a then ", "-", "!", "not ", "fun () -> ", "\"#{", "%a(", "x ? ", "1 ? 2 : ",
                                "while a do ", "try ", "def f() ", "a := ", "a::", "(x : [", "(x : {a:", "(x : (", "x[",
                                "%ifdef a\n", "try a catch e : ["}) {
        const Diagnostic d = refused(repeat(opening, many));
        EXPECT_EQ(d.code, 3) << opening << ": " << d.message;
    }
    EXPECT_EQ(refused("let " + repeat("[", many)).code, 3);
    EXPECT_EQ(refused("let " + repeat("{a=(", many)).code, 3);
    EXPECT_EQ(refused("(x : int" + repeat(".{a : b}", many)).code, 3);
    EXPECT_EQ(refused("x" + repeat(" + x", many)).code, 3);
    EXPECT_EQ(refused("x" + repeat(".y", many)).code, 3);
    EXPECT_EQ(refused("x" + repeat(".y()", many)).code, 3);
    EXPECT_EQ(refused("x" + repeat("?.y", many)).code, 3);
    EXPECT_EQ(refused("x" + repeat(".{y=1}", many)).code, 3);
    EXPECT_EQ(refused("{" + repeat("...x,", many) + "}").code, 3);
    EXPECT_EQ(refused("if a then b " + repeat("elsif a then b ", many) + "end").code, 3);
    EXPECT_EQ(refused("(x : int" + repeat("?", many)).code, 3);
}

TEST(ParseError, LongInputIsFast) {
    EXPECT_EQ(refused(std::string(10'000'000, 'a') + ")").code, 2);
    EXPECT_EQ(refused(std::string(10'000'000, '(')).code, 3);
    EXPECT_EQ(refused("\"" + std::string(10'000'000, '#')).code, 3);
    std::string statements;
    while (statements.size() < 1'000'000) statements += "x = 1;";
    EXPECT_EQ(refused(statements + ")").code, 2);
}

std::string type(const std::string& text) {
    Arena arena;
    const TypeExpr* t = parse_type(arena, text);
    std::string out = type_text(t);
    for (const auto& w : t->where) out += " " + w.variable.str() + ":" + w.kind;
    return out;
}

TEST(ParseType, DeclarationsOfBuiltins) {
    EXPECT_EQ(type("(?id : string?, {float}, source(audio=pcm('a), 'b)) -> source(audio=pcm('a), 'b)"),
              "(?id:string?,getter(float),source(audio=pcm('a),'b))->source(audio=pcm('a),'b)");
    EXPECT_EQ(type("(~a:int, ?b:t) -> u"), "(a:int,?b:t)->u");
    EXPECT_EQ(type("(?[int], ?'a?) -> () -> int?"), "(?[int],?'a?)->()->int?");
    EXPECT_EQ(type("(() -> int)?"), "()->int?");
    EXPECT_EQ(type("'g .{ m : t, n? : u }"), "'g.{m:t,n?:u}");
    EXPECT_EQ(type("string?.{a : [string * int]}"), "string?.{a:[(string*int)]}");
    EXPECT_EQ(type("(int * 'a) "), "(int*'a)");
    EXPECT_EQ(type("{int?}"), "getter(int?)");
    EXPECT_EQ(type("{}"), "{}");
    EXPECT_EQ(type("()"), "()");
    EXPECT_EQ(type("source(audio=pcm(5.1), video=none, ...)"), "source(audio=pcm(5.1),video=none,...)");
    EXPECT_EQ(type("source(?audio=ffmpeg.audio.raw('a), ...'b)"), "source(?audio=ffmpeg.audio.raw('a),...'b)");
    EXPECT_EQ(type("[(string * int)] as json.object"), "[(string*int)]object");
    EXPECT_EQ(type("('a, 'b) -> unit where 'a, 'b is a number type, 'c is an orderable type"), "('a,'b)->unit a:number b:number c:orderable");
    EXPECT_EQ(type("'a where 'a is a track of type: pcm or metadata"), "'a a:track of type: pcm or metadata");
    EXPECT_THROW(type("(int, string)"), ScriptError);
    EXPECT_THROW(type("int int"), ScriptError);
    EXPECT_THROW(type(""), ScriptError);
}

TEST(ParseType, AnnotationsKnowVariablesAndStringsApart) {
    Arena arena;
    std::vector<Diagnostic> warnings;
    const auto file = source_map().add("<t>", "((s : source(audio=pcm('a), video=none)), 'a, b')");
    const Term* t = parse_script(arena, file, {}, warnings);
    const auto& elements = std::get<term::Tuple>(t->node).elements;
    ASSERT_EQ(elements.size(), 2U);
    EXPECT_EQ(type_text(std::get<term::Ascribe>(elements[0]->node).type), "source(audio=pcm('a),video=none)");
    EXPECT_EQ(std::get<term::String>(elements[1]->node).value, "a, b");
}

TEST(Preprocess, VersionsAreOrdered) {
    EXPECT_EQ(compare_versions("2.5.0", "2.5"), 0);
    EXPECT_EQ(compare_versions("2.10.0", "2.9.9"), 1);
    EXPECT_EQ(compare_versions("2.5.0-rc1", "2.5.0"), -1);
    EXPECT_EQ(compare_versions("2.5.0+git@abc", "2.5.0"), 0);
    EXPECT_EQ(compare_versions("2.5.0", "5145"), -1);
}

TEST(Ast, JsonIsStable) {
    const auto json = [](const std::string& script) { return ast_json(source_map().add("<json>", script), false); };
    EXPECT_EQ(json("x = (1)\nf(a=\"b\", -2.5)"),
              "[\n{\"type\":\"binding\",\"pattern\":{\"type\":\"variable\",\"name\":\"x\"},\"value\":{\"type\":\"parenthesis\",\"value\":"
              "{\"type\":\"int\",\"value\":1}}},\n{\"type\":\"call\",\"function\":{\"type\":\"variable\",\"name\":\"f\"},\"arguments\":[{\"label\":"
              "\"a\",\"value\":{\"type\":\"string\",\"value\":\"b\"}},{\"value\":{\"type\":\"unary\",\"operator\":\"-\",\"operand\":{\"type\":\"float\","
              "\"value\":2.5}}}]}\n]");
    EXPECT_EQ(json("%ifdef a\n1\n%endif"),
              "[\n{\"type\":\"ifdef\",\"name\":\"a\",\"then\":[{\"type\":\"int\",\"value\":1}]}\n]");
    EXPECT_EQ(ast_json(source_map().add("<json>", "  x"), true), "[\n{\"type\":\"variable\",\"span\":[2,3],\"name\":\"x\"}\n]");
}

}  // namespace
}  // namespace castile::lang
