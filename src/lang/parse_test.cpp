// What scripts become: terms as s-expressions.
#include "lang/parse.h"

#include <filesystem>
#include <fstream>

#include <unistd.h>

#include <gtest/gtest.h>

#include "lang/type_text_test.h"

namespace castile::lang {
namespace {

class Text {
public:
    std::string operator()(const Term* t) { return t == nullptr ? "-" : std::visit(*this, t->node); }
    std::string operator()(const Pattern* p) {
        if (p == nullptr) return "-";
        const std::string bare = std::visit(*this, p->node);
        return p->annotation == nullptr ? bare : bare + ":" + type_text(p->annotation);
    }
    std::string operator()(const pat::Variable& p) { return p.name.str(); }
    std::string operator()(const pat::Wildcard&) { return "_"; }
    std::string operator()(const pat::Tuple& p) { return "(" + all(p.elements) + ")"; }
    std::string operator()(const pat::List& p) { return "[" + all(p.before) + " ..." + (*this)(p.rest) + all(p.after) + "]"; }
    std::string operator()(const pat::Record& p) {
        std::string out = (*this)(p.base) + ".{";
        for (const auto& f : p.fields) out += f.name.str() + (f.optional ? "?" : "") + "=" + (*this)(f.pattern) + ";";
        return out + "}";
    }
    std::string operator()(const term::Int& n) { return std::to_string(n.value); }
    std::string operator()(const term::Float& n) { return "f" + std::to_string(n.value); }
    std::string operator()(const term::String& n) { return '"' + n.value + '"'; }
    std::string operator()(const term::Bool& n) { return n.value ? "true" : "false"; }
    std::string operator()(const term::Null&) { return "null"; }
    std::string operator()(const term::Variable& n) { return n.name.str(); }
    std::string operator()(const term::Tuple& n) { return "(tuple" + all(n.elements, " ") + ")"; }
    std::string operator()(const term::List& n) {
        std::string out = "(list";
        for (const auto& i : n.items) out += (i.spread ? " ..." : " ") + (*this)(i.value);
        return out + ")";
    }
    std::string operator()(const term::Function& n) {
        std::string out = "(fun" + (n.name.empty() ? "" : ":" + n.name.str()) + " [";
        for (const auto& p : n.params) {
            out += (p.label.empty() ? "" : "~" + p.label.str() + ":") + (*this)(p.pattern);
            if (p.annotation != nullptr) out += ":" + type_text(p.annotation);
            if (p.optional) out += "=" + (*this)(p.default_value);
            out += ";";
        }
        for (const auto& a : n.argsof) out += "argsof " + a.function.str() + ";";
        return out + "] " + (*this)(n.body) + ")";
    }
    std::string operator()(const term::Apply& n) { return "(" + (*this)(n.function) + arguments(n.arguments) + ")"; }
    std::string operator()(const term::Let& n) {
        std::string kind = n.kind == term::LetKind::plain ? "let" : n.kind == term::LetKind::recursive ? "rec" : "replaces";
        std::string target = (*this)(n.pattern);
        if (!n.path.empty()) {
            target = "";
            for (const Name p : n.path) target += (target.empty() ? "" : ".") + p.str();
        }
        return "(" + kind + " " + target + " " + (*this)(n.value) + " " + (*this)(n.body) + ")";
    }
    std::string operator()(const term::Decode& n) { return "(decode " + n.decoder.str() + arguments(n.options) + " " + (*this)(n.input) + ")"; }
    std::string operator()(const term::Sequence& n) { return "(seq " + (*this)(n.first) + " " + (*this)(n.second) + ")"; }
    std::string operator()(const term::Methods& n) {
        std::string out = "(with " + (*this)(n.base);
        for (const auto& m : n.methods) out += " " + m.name.str() + "=" + (*this)(m.value);
        if (n.spread != nullptr) out += " ..." + (*this)(n.spread);
        return out + ")";
    }
    std::string operator()(const term::Invoke& n) {
        const std::string out = (*this)(n.base) + (n.optional ? "?." : ".") + n.method.str();
        return n.otherwise == nullptr ? out : "(" + out + " else " + (*this)(n.otherwise) + ")";
    }
    std::string operator()(const term::Open& n) { return "(open " + (*this)(n.record) + " " + (*this)(n.body) + ")"; }
    std::string operator()(const term::Coalesce& n) { return two("??", n.value, n.otherwise); }
    std::string operator()(const term::And& n) { return two("and", n.left, n.right); }
    std::string operator()(const term::Or& n) { return two("or", n.left, n.right); }
    std::string operator()(const term::If& n) { return "(if " + (*this)(n.condition) + " " + (*this)(n.then) + " " + (*this)(n.otherwise) + ")"; }
    std::string operator()(const term::While& n) { return two("while", n.condition, n.body); }
    std::string operator()(const term::For& n) {
        return "(for " + (*this)(n.variable) + " " + (*this)(n.from) + " " + (*this)(n.to) + " " + (*this)(n.body) + ")";
    }
    std::string operator()(const term::ForIn& n) { return "(for " + (*this)(n.variable) + " " + (*this)(n.iterator) + " " + (*this)(n.body) + ")"; }
    std::string operator()(const term::Try& n) {
        return "(try " + (*this)(n.body) + " " + (*this)(n.error) + " " + (*this)(n.errors) + " " + (*this)(n.handler) + " " + (*this)(n.finally) + ")";
    }
    std::string operator()(const term::Ascribe& n) { return "(" + (*this)(n.value) + " : " + type_text(n.type) + ")"; }
    std::string operator()(const term::ToFloat& n) { return "(float " + (*this)(n.value) + ")"; }
    std::string operator()(const term::Encoder& n) {
        std::string out = "(%" + n.name.str();
        for (const auto& p : n.params) {
            out += " " + (p.label.empty() ? "" : p.label.str() + "=");
            out += p.encoder != nullptr ? (*this)(p.encoder) : p.value != nullptr ? (*this)(p.value) : p.word.str();
        }
        return out + ")";
    }

private:
    template <class List> std::string all(const List& list, const std::string& before = "") {
        std::string out;
        for (const auto* item : list) out += (before.empty() && !out.empty() ? " " : before) + (*this)(item);
        return out;
    }
    std::string two(const std::string& op, const Term* a, const Term* b) { return "(" + op + " " + (*this)(a) + " " + (*this)(b) + ")"; }
    std::string arguments(const std::vector<term::Argument>& list) {
        std::string out;
        for (const auto& a : list) {
            out += " " + (a.label.empty() ? "" : a.label.str() + "=");
            out += a.value == nullptr ? "argsof " + a.spread_argsof.str() : (*this)(a.value);
        }
        return out;
    }
};

struct Parsed {
    Arena arena;
    std::vector<Diagnostic> warnings;
    Term* term = nullptr;
};

Parsed parse(const std::string& script, const std::string& name = "<test>") {
    ParseContext context;
    context.defined = [](std::string_view n) { return n == "list.length" || n == "liquidsoap.script.path"; };
    context.encoder_available = [](std::string_view n) { return n == "mp3"; };
    Parsed p;
    p.term = parse_script(p.arena, source_map().add(name, script), context, p.warnings);
    return p;
}

std::string terms(const std::string& script) { return Text()(parse(script).term); }

TEST(Parse, Precedence) {
    EXPECT_EQ(terms("1 + 2 * 3 == 7"), "(== (+ 1 (* 2 3)) 7)");
    EXPECT_EQ(terms("a - b - c"), "(- (- a b) c)");
    EXPECT_EQ(terms("a and b or c"), "(and a (or b c))");
    EXPECT_EQ(terms("not a == b and c"), "(and (not (== a b)) c)");
    EXPECT_EQ(terms("x ?? 1 + 2"), "(+ (?? x 1) 2)");
    EXPECT_EQ(terms("a := b := c"), "((a.set ((b.set c) : unit)) : unit)");
    EXPECT_EQ(terms("x := c ? 1 : 2"), "((x.set (if c 1 2)) : unit)");
    EXPECT_EQ(terms("c ? a : d + 1"), "(+ (if c a d) 1)");
    EXPECT_EQ(terms("c ? a : d ? e : f.g(1)"), "(if c a (if d e (f.g 1)))");
    EXPECT_EQ(terms("c ? x := 1 : f()"), "(if c ((x.set 1) : unit) (f))");
    EXPECT_EQ(terms("a::b::[c]"), "(list a ...(list b ...(list c)))");
    EXPECT_EQ(terms("x @ f"), "(f x)");
    EXPECT_EQ(terms("fun (x) -> x mod 2"), "(fun [x;] (mod x 2))");
    EXPECT_EQ(terms("-x.y + -3 - -1."), "(- (+ (~- x.y) -3) f-1.000000)");
}

TEST(Parse, NewlinesSeparateCallsAndNegations) {
    EXPECT_EQ(terms("f (x)"), "(f x)");
    EXPECT_EQ(terms("f\n(x)"), "(seq f x)");
    EXPECT_EQ(terms("x\n-1"), "(seq x -1)");
    EXPECT_EQ(terms("x\n+ 1"), "(+ x 1)");
    EXPECT_EQ(terms("l[1]"), "(_[_] l 1)");
    EXPECT_EQ(terms("l\n[1]"), "(seq l (list 1))");
    EXPECT_EQ(terms("a\n.b().\nc"), "(a.b).c");
    EXPECT_EQ(terms("f(1)(2)"), "(seq (f 1) 2)");
}

TEST(Parse, Definitions) {
    EXPECT_EQ(terms("x = 1 y = x; y"), "(let x 1 (let y x y))");
    EXPECT_EQ(terms("def f(x, ~y, ~z=3, ~(t:int)=4, ~u:v, (w:string)) = x end"),
              "(let f (fun:f [x;~y:y;~z:z=3;~t:t:int=4;~u:v;w:string;] x) -)");
    EXPECT_EQ(terms("def rec f() f() end f()"), "(rec f (fun:f [] (f)) (f))");
    EXPECT_EQ(terms("def replaces a.b(x) x end ()"), "(replaces a.b (fun:b [x;] x) (tuple))");
    EXPECT_EQ(terms("def v = 1 end"), "(let v 1 -)");
    EXPECT_EQ(terms("a.b.c = 1 a"), "(let a.b.c 1 a)");
    EXPECT_EQ(terms("let (x : int) = 1"), "(let x:int 1 -)");
    EXPECT_EQ(terms("(n : int) = 3"), "(let n:int 3 -)");
    EXPECT_EQ(terms("let (a, [b, ...c, d], _) = e"), "(let (a [b ...cd] _) e -)");
    EXPECT_EQ(terms("let {a, b?, c = [x], ...r} = e"), "(let r.{a=a;b?=b;c=[x ...-];} e -)");
    EXPECT_EQ(terms("let s.{a} = e"), "(let s.{a=a;} e -)");
    EXPECT_EQ(terms("[a, b] = e"), "(let [a b ...-] e -)");
    EXPECT_EQ(terms("_ = e"), "(let _ e -)");
    EXPECT_EQ(terms("let json.parse (x : {a : int, \"b c\" as d? : float?}) = s"), "(let x:{a:int,\"b c\" as d?:float?} (decode json.parse s) -)");
    EXPECT_EQ(terms("let json.parse[json5=true] x = s"), "(let x (decode json.parse json5=true s) -)");
    EXPECT_EQ(terms("let sqlite.query l = s let eval x = t"), "(let l (decode sqlite.query s) (let x (decode eval t) -))");
    EXPECT_EQ(terms("let json = 1 let eval = 2 let json.parse = 3"), "(let json 1 (let eval 2 (let json.parse 3 -)))");
    EXPECT_EQ(terms("begin let x = 1 end y"), "(seq (let x 1 -) y)");
    EXPECT_EQ(terms("open list x"), "(open list x)");
    EXPECT_EQ(terms("def f(%argsof(g[a,!b]), x) h(%argsof(g), x) end"), "(let f (fun:f [x;argsof g;] (h argsof g x)) -)");
    EXPECT_EQ(terms(""), "(tuple)");
}

TEST(Parse, RecordsAndGetters) {
    EXPECT_EQ(terms("{a = 1, b = 2,}"), "(with - a=1 b=2)");
    EXPECT_EQ(terms("{}"), "(with -)");
    EXPECT_EQ(terms("{...r, a = 1}"), "(with (with - ...r) a=1)");
    EXPECT_EQ(terms("{a = 1, ...r}"), "(with - a=1 ...r)");
    EXPECT_EQ(terms("{a, b}"), "(with - a=a b=b)");
    EXPECT_EQ(terms("x.{a = 1}.a"), "(with x a=1).a");
    EXPECT_EQ(terms("3.{a = 1}"), "(with 3 a=1)");
    EXPECT_EQ(terms("{x}"), "(fun [] x)");
    EXPECT_EQ(terms("{let x = 1 y = 2; x + y}"), "(fun [] (let x 1 (let y 2 (+ x y))))");
    EXPECT_EQ(terms("{x == 3}"), "(fun [] (== x 3))");
}

TEST(Parse, OptionalLinks) {
    EXPECT_EQ(terms("a.b ?? c"), "(a.b else c)");
    EXPECT_EQ(terms("a?.b"), "a?.b");
    EXPECT_EQ(terms("a?.b.c(1)"), "(let _0_link a?.b (if (null.defined _0_link) ((null.get _0_link).c 1) null))");
    EXPECT_EQ(terms("a?.b.c ?? d"), "(?? (let _0_link a?.b (if (null.defined _0_link) ((null.get _0_link).c else null) null)) d)");
    EXPECT_EQ(terms("f(1) ?? 2"), "(?? (f 1) 2)");
    EXPECT_EQ(terms("null.get(null)"), "(null.get null)");
    EXPECT_EQ(terms("null(1)"), "(null 1)");
}

TEST(Parse, ControlStructures) {
    EXPECT_EQ(terms("if a then b elsif c then d end"), "(if a b (if c d (tuple)))");
    EXPECT_EQ(terms("while a do b end"), "(while a b)");
    EXPECT_EQ(terms("for i = 1 to n do f(i) end"), "(for i 1 n (f i))");
    EXPECT_EQ(terms("for _ = it do f() end"), "(for _ it (f))");
    EXPECT_EQ(terms("try a catch e : [error.x] do b finally c end"), "(try a e (list error.x) b c)");
    EXPECT_EQ(terms("try a catch _ do b end"), "(try a _ - b -)");
    EXPECT_EQ(terms("try a finally c end"), "(try a - - - c)");
}

TEST(Parse, StringsAndOtherLiterals) {
    EXPECT_EQ(terms(R"('a\'b' "\x41\u00e9\101\n")"), "(seq \"a'b\" \"A\u00e9A\n\")");
    EXPECT_EQ(terms("\"a \\\n   b\""), "\"a b\"");
    EXPECT_EQ(terms(R"("a#{b}#{-c}'")"), R"((string.concat (list "a" (string b) (string (~- c)) "'")))");
    EXPECT_EQ(terms(R"("#{ r.{a = "}"}.a }")"), R"((string.concat (list (string (with r a="}").a))))");
    EXPECT_EQ(terms(R"("#{f(\"x\")}")"), R"((string.concat (list (string (f "x")))))");
    EXPECT_EQ(terms("{id|a\"}|}\\n|id}"), "\"a\"}|}\\n\"");
    EXPECT_EQ(terms(R"(r/a\/\d#{b/gi)"), R"((regexp flags=(list "g" "i") "a/\d#{b"))");
    EXPECT_EQ(terms("x / r"), "(/ x r)");
    EXPECT_EQ(terms("(1_000, 0xff, 0o17, 0b11, 1e3, .5, 2.)"), "(tuple 1000 255 15 3 f1000.000000 f0.500000 f2.000000)");
    EXPECT_EQ(terms("({10h-12h}, 1w8h, 59m)"),
              "(tuple (fun [] (time_in_mod 36000 43200 86400)) (time_in_mod 115200 118800 604800) (time_in_mod 3540 3600 3600))");
    EXPECT_EQ(terms("22h30-6h"), "(time_in_mod 81000 21600 86400)");
}

TEST(Parse, Encoders) {
    EXPECT_EQ(terms("%mp3"), "(%mp3)");
    EXPECT_EQ(terms("%mp3(bitrate=128, stereo)"), "(%mp3 bitrate=128 stereo)");
    EXPECT_EQ(terms("%ffmpeg(format=\"mpegts\", %audio_low.copy, %audio(codec=\"aac\", \"b:a\"=b ^ \"k\"), %video.drop)"),
              "(%ffmpeg format=\"mpegts\" (%audio_low.copy) (%audio codec=\"aac\" b:a=(^ b \"k\")) (%video.drop))");
    EXPECT_EQ(terms("output(%external(process=\"x\"), s)"), "(output (%external process=\"x\") s)");
}

TEST(Parse, StaticConditions) {
    EXPECT_EQ(terms("%ifdef list.length\nx = 1\n%else\nx = 2\n%endif\nx"), "(let x 1 x)");
    EXPECT_EQ(terms("%ifndef list.length\nx = 1\n%endif\nx"), "x");
    EXPECT_EQ(terms("y = 1\n%ifdef y\n1\n%else\n2\n%endif"), "(let y 1 1)");
    EXPECT_EQ(terms("def f() y = 1 end %ifdef y\n1\n%else\n2\n%endif"), "(let f (fun:f [] (let y 1 -)) 2)");
    EXPECT_EQ(terms("%ifversion >= 2.4.0\n1\n%endif"), "1");
    EXPECT_EQ(terms("%ifversion < 2.5.0-rc1\n1\n%else\n2\n%endif"), "2");
    EXPECT_EQ(terms("%ifencoder %mp3\n1\n%endif %ifencoder %vorbis\n2\n%endif"), "1");
    EXPECT_EQ(terms("x = %ifdef none\n1\n%else\n2\n%endif\nx"), "(let x 2 x)");
}

TEST(Parse, IncludedStatementsTakeThePlaceOfTheirInclude) {
    const auto folder = std::filesystem::temp_directory_path() / ("castile-parse-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder / "sub");
    std::ofstream(folder / "sub/a.liq") << "x = 1\n%include \"b.liq\"\n";
    std::ofstream(folder / "sub/b.liq") << "y = x\n";
    const std::string script = (folder / "main.liq").string();
    EXPECT_EQ(Text()(parse("%include \"sub/a.liq\"\n%include_extra \"none.liq\"\ny", script).term),
              "(let liquidsoap.script.path \"" + script + "\" (let x 1 (let y x y)))");
    std::ofstream(folder / "sub/b.liq") << "%include \"a.liq\"\n";
    EXPECT_THROW(parse("%include \"sub/a.liq\"", script), ScriptError);
    std::filesystem::remove_all(folder);
}

TEST(Parse, DocumentationIsOfWhatFollows) {
    const Parsed p = parse("# Not this.\n\n# Adds.\n#\n#  - a list\n# @category Math\n# @param ~x One \\\n#   or two.\ndef add(~x, y) x end");
    const auto* let = std::get_if<term::Let>(&p.term->node);
    ASSERT_NE(let, nullptr);
    ASSERT_NE(let->doc, nullptr);
    EXPECT_EQ(let->doc->text, "Adds.\n\n - a list");
    ASSERT_EQ(let->doc->tags.size(), 2U);
    EXPECT_EQ(let->doc->tags[0], std::pair(std::string("@category"), std::string("Math")));
    EXPECT_EQ(let->doc->tags[1], std::pair(std::string("@param"), std::string("~x One or two.")));
    const Parsed trailing = parse("x = 1 # about x\ny = 2");
    const Term* second = std::get<term::Let>(trailing.term->node).body;
    EXPECT_EQ(std::get<term::Let>(second->node).doc, nullptr);
}

TEST(Parse, CommentsNest) {
    EXPECT_EQ(terms("1 #< a #< b >#\n c ># + 2 # end"), "(+ 1 2)");
    EXPECT_EQ(terms("#!/usr/bin/castile\n1"), "1");
}

TEST(Parse, OldSpellingsWarn) {
    const auto warning = [](const std::string& script) {
        const Parsed p = parse(script);
        return p.warnings.size() == 1 && p.warnings[0].code == 5 && p.warnings[0].severity == Severity::warning;
    };
    EXPECT_TRUE(warning("x = ref(1) !x"));
    EXPECT_TRUE(warning("null()"));
    EXPECT_TRUE(warning("let x = ref 1"));
    EXPECT_TRUE(warning("fun (~x=_) -> 1"));
    EXPECT_EQ(terms("let x = ref 1 !x"), "(let x (ref 1) (x))");
    EXPECT_TRUE(parse("set(\"log.stdout\", true)").warnings.empty());
}

}  // namespace
}  // namespace castile::lang
