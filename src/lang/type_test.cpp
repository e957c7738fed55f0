// Reading, printing and viewing of types.
#include "lang/type.h"

#include <gtest/gtest.h>

#include "lang/diag.h"
#include "lang/type_read.h"
#include "lang/unify.h"

namespace castile::lang {
namespace {

std::string again(const char* text) {
    static TypePool pool;
    TypeReader reader(pool);
    return print_scheme(reader.declaration(text));
}

TEST(Type, ReadAndPrinted) {
    for (const char* text : {
             "int", "float", "string", "bool", "unit", "never", "int?", "[int]", "[string * int]", "[string * int] as json.object", "{int}",
             "(int) -> string", "(?id : string?, {float}, [string * string]) -> unit", "((('a) -> 'b), ['a]) -> ['b]",
             "(() -> int).{set : (int) -> unit}", "{a : int, b? : string}", "int.{a : float}", "('a, 'a) -> 'a where 'a is a number type",
             "('a, ['a * 'b]) -> 'b? where 'a is an orderable type", "source(audio=pcm('a), 'b)", "source(audio=pcm(stereo))", "source('a)",
             "source(_)", "source(audio=pcm(stereo), video=yuv420p('a), 'b)", "format(audio=pcm(mono))", "source(audio=ffmpeg.copy('a))",
             "source(midi=midi(channels=16), 'a)", "source(?audio=pcm('a), 'b)", "source(audio=pcm*)", "request", "(clock) -> clock", "(int * string)?", "((int) -> int)?",
             "(source('a)) -> source('a) where 'a is a set of internal tracks",
         })
        EXPECT_EQ(again(text), text);
    EXPECT_EQ(again("ref(int)"), "(() -> int).{set : (int) -> unit}");
    EXPECT_EQ(again("source(video=canvas('a), 'b)"), "source(video=yuv420p('a), 'b)");
    EXPECT_EQ(again("({json : (?compact : bool, 'a) -> unit}) -> unit"), "({json : 'a.(?compact : bool, 'a) -> unit}) -> unit");
    EXPECT_EQ(again("({get : () -> 'a, set : ('a) -> unit}) -> unit"), "({get : () -> 'a, set : ('a) -> unit}) -> unit");
}

TEST(Type, ViewedLayerByLayer) {
    TypePool pool;
    TypeReader reader(pool);
    using Shape = TypeView::Shape;
    const Scheme scheme = reader.declaration("{a : int, b? : [string * float] as json.object, c : (int * bool)?, d : [{e : string}]}");
    TypeView view = view_type(scheme.type);
    EXPECT_EQ(view.shape, Shape::unit);
    ASSERT_EQ(view.methods.size(), 4u);
    EXPECT_EQ(view_type(view.methods[0].type).shape, Shape::integer);
    EXPECT_TRUE(view.methods[1].optional);
    const TypeView object = view_type(view.methods[1].type);
    EXPECT_EQ(object.shape, Shape::object);
    EXPECT_EQ(view_type(object.element).shape, Shape::floating);
    const TypeView nullable = view_type(view.methods[2].type);
    EXPECT_EQ(nullable.shape, Shape::nullable);
    EXPECT_EQ(view_type(nullable.element).elements.size(), 2u);
    EXPECT_EQ(view_type(reader.declaration("'a").type).shape, Shape::any);
}

TEST(Type, ContentOfSources) {
    TypePool pool;
    TypeReader reader(pool);
    const auto content = content_of_type(reader.declaration("source(audio=pcm(stereo), video='a, metadata=metadata)").type);
    ASSERT_EQ(content.size(), 2u);
    EXPECT_EQ(content[0].content, "pcm(stereo)");
    EXPECT_EQ(content[1].content, "metadata");
}

TEST(Type, SubtypesOfDeclarations) {
    TypePool pool;
    TypeReader reader(pool);
    Unifier unifier(pool, [](Name, Name) { return nullptr; });
    const auto below = [&](const char* a, const char* b) {
        return unifier.subtype(pool.instantiate(reader.declaration(a), 1), pool.instantiate(reader.declaration(b), 1));
    };
    EXPECT_TRUE(below("int", "float"));
    EXPECT_FALSE(below("float", "int"));
    EXPECT_TRUE(below("int", "int?"));
    EXPECT_FALSE(below("int?", "int"));
    EXPECT_TRUE(below("int", "{int}"));
    EXPECT_TRUE(below("() -> int", "{int}"));
    EXPECT_TRUE(below("(() -> int).{set : (int) -> unit}", "{int}"));
    EXPECT_FALSE(below("{int}", "int"));
    EXPECT_FALSE(below("{int}", "() -> int"));
    EXPECT_TRUE(below("{a : int, b : string}", "{a : int}"));
    EXPECT_FALSE(below("{a : int}", "{a : int, b : string}"));
    EXPECT_TRUE(below("{a : int}", "{a : int, b? : string}"));
    EXPECT_TRUE(below("(?a : int, int) -> int", "(int) -> int"));
    EXPECT_TRUE(below("(?a : int, int) -> int", "(a : int, int) -> int"));
    EXPECT_FALSE(below("(a : int, int) -> int", "(?a : int, int) -> int"));
    EXPECT_FALSE(below("(a : int, int) -> int", "(int) -> int"));
    EXPECT_TRUE(below("(float) -> int", "(int) -> float"));
    EXPECT_TRUE(below("source(audio=pcm(stereo), video=yuv420p('a))", "source(audio=pcm('a))"));
    EXPECT_FALSE(below("source(audio=pcm(stereo))", "source(audio=pcm(mono))"));
    EXPECT_FALSE(below("source(audio=pcm(stereo))", "source(audio=pcm_s16('a))"));
    EXPECT_TRUE(below("source(audio=pcm(stereo))", "source(_)"));
    EXPECT_FALSE(below("source(_)", "source('a)"));
    EXPECT_FALSE(below("request", "clock"));
}

}  // namespace
}  // namespace castile::lang
