#include "request/annotate.h"

#include <gtest/gtest.h>

namespace castile {
namespace {

using Entries = std::vector<Metadata::Entry>;

Annotated parsed(std::string_view text) {
    auto result = parse_annotations(text);
    EXPECT_TRUE(result) << text;
    return result ? *result : Annotated{};
}

TEST(Annotate, ReadsValuesOfAllKinds) {
    const Annotated a = parsed(R"(title="A song", liq_cue_in=3.5,count=-2,ok=true,word=abc:/music/a:b.mp3)");
    EXPECT_EQ(a.entries, (Entries{{"title", "A song"}, {"liq_cue_in", "3.5"}, {"count", "-2"}, {"ok", "true"}, {"word", "abc"}}));
    EXPECT_EQ(a.rest, "/music/a:b.mp3");
}

TEST(Annotate, EscapesAndUnicode) {
    const Annotated a = parsed(R"(a="say \"hi\", \\ it's: fine",b='x"y',c="caf\u00e9",d="\xe9",e="été ✓",f="\ud83d\ude00":u)");
    EXPECT_EQ(a.entries, (Entries{{"a", "say \"hi\", \\ it's: fine"}, {"b", "x\"y"}, {"c", "café"}, {"d", "é"}, {"e", "été ✓"}, {"f", "😀"}}));
    EXPECT_EQ(a.rest, "u");
}

TEST(Annotate, RefusesWhatIsNoAnnotation) {
    for (const char* text : {"", "title", "title=", "title=\"open:uri", "title=\"a\" uri", "=\"a\":u"})
        EXPECT_FALSE(parse_annotations(text)) << text;
    EXPECT_EQ(parsed(":u").rest, "u");
    EXPECT_EQ(parsed("a=\"b\",:u").rest, "u");   // a comma too many is forgiven
}

TEST(Annotate, RoundTrip) {
    const Entries entries{{"title", "quotes \" ' , : ; | \\ and\na line"}, {"artist", "Björk"}};
    const std::string uri = annotate_uri(entries, "/tmp/a \"b\".mp3");
    ASSERT_TRUE(uri.starts_with("annotate:"));
    const Annotated a = parsed(std::string_view(uri).substr(9));
    EXPECT_EQ(a.entries, entries);
    EXPECT_EQ(a.rest, "/tmp/a \"b\".mp3");
    EXPECT_EQ(annotate_uri({}, "x"), "x");
}

TEST(Annotate, InvalidUtf8IsLatin1AndValidStays) {
    EXPECT_EQ(utf8_or_latin1("caf\xe9"), "café");
    EXPECT_EQ(utf8_or_latin1("café"), "café");
    EXPECT_EQ(utf8_or_latin1("\xed\xa0\x80"), "\u00ed\u00a0\u0080");   // a lone surrogate is not UTF-8
}

}  // namespace
}  // namespace castile
