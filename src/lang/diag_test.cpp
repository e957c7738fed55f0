#include "lang/diag.h"

#include <gtest/gtest.h>

namespace castile::lang {

TEST(Diag, PositionCountsCharacters) {
    const auto file = source_map().add("a.liq", "é = 1\nxyz\n");
    EXPECT_EQ(source_map().position(file, 3).column, 2U);
    EXPECT_EQ(source_map().position(file, 6).line, 1U);
    EXPECT_EQ(source_map().position(file, 7).line, 2U);
    EXPECT_EQ(source_map().position(file, 7).column, 0U);
    EXPECT_EQ(source_map().position(file, 1000).line, 3U);
}

TEST(Diag, RenderHasLiquidsoapsShape) {
    const auto file = source_map().add("b.liq", "x = 1\ny = \"a\" + 1\n");
    Diagnostic d{Severity::error, 5, Span{file, 10, 17}, "Bad types.", {}};
    EXPECT_EQ(render(d), "At b.liq, line 2, char 4-11:\ny = \"a\" + 1\n    ^^^^^^^\nError 5: Bad types.");
    d.span = {file, 0, 1};
    d.severity = Severity::warning;
    EXPECT_EQ(render(d), "At b.liq, line 1, char 0:\nx = 1\n^\nWarning 5: Bad types.");
    d.span = {file, 0, 11};
    EXPECT_EQ(render(d), "At b.liq, line 1 char 0 - line 2 char 5:\nx = 1\n^^^^^\ny = \"a\" + 1\n^^^^^\nWarning 5: Bad types.");
    d.span = {};
    EXPECT_EQ(render(d), "Unknown position:\nWarning 5: Bad types.");
}

TEST(Diag, LongLinesAreCut) {
    std::string text(1'000'000, 'a');
    const auto file = source_map().add("c.liq", text);
    EXPECT_LT(source_map().excerpt({file, 500'000, 500'003}).size(), 1000U);
    EXPECT_LT(source_map().excerpt({file, 0, 1'000'000}).size(), 1000U);
    EXPECT_NE(source_map().excerpt({file, 500'000, 500'003}).find("^^^"), std::string::npos);
    EXPECT_FALSE(source_map().excerpt({file, 1'000'000, 1'000'000}).empty());
}

}  // namespace castile::lang
