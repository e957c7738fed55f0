#include "net/line_reader.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace castile {

namespace {

ByteSpan bytes(std::string_view text) { return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}; }

std::vector<std::string> lines(const std::vector<std::string_view>& pieces, LineReader reader = LineReader()) {
    std::vector<std::string> all;
    for (std::string_view piece : pieces) {
        for (;;) {
            std::size_t used = 0;
            const auto status = reader.feed(bytes(piece), used);
            piece.remove_prefix(used);
            if (status == LineReader::Status::more) break;
            all.push_back(status == LineReader::Status::line ? reader.take() : "too long");
            if (status == LineReader::Status::too_long) return all;
        }
    }
    return all;
}

using Lines = std::vector<std::string>;

TEST(LineReader, EndsLinesAtReturnsAndFeedsAndSkipsEmptyOnes) {
    EXPECT_EQ(lines({"a b\nc\r\nd\re\r\n\r\n\nf"}), (Lines{"a b", "c", "d", "e"}));
    EXPECT_EQ(lines({"", "a", "", "b\r", "\n", "c\n"}), (Lines{"ab", "c"}));
    EXPECT_EQ(lines({"\r\n", "a\n", "\n", "\r\n"}), (Lines{"a"}));
}

TEST(LineReader, IsTheSameInAnyPieces) {
    constexpr std::string_view text = "push \xff\xfb\x01uri\xff\xf4\r\n\xff\xfa\x18\x01xterm\xff\xf0list\r\n\xff\xffy\n";
    const Lines expected{"push uri", "list", "\xffy"};
    for (std::size_t cut = 0; cut <= text.size(); ++cut) EXPECT_EQ(lines({text.substr(0, cut), text.substr(cut)}), expected) << cut;
}

TEST(LineReader, LeavesOutNulsAndKeepsOtherBytes) {
    EXPECT_EQ(lines({std::string_view("a\0b\r\0\n\xc3\xa9\n", 9)}), (Lines{"ab", "\xc3\xa9"}));
    EXPECT_EQ(lines({"\xff" "ab\n"}), (Lines{"ab"}));
    EXPECT_EQ(lines({"\xff\xfa never ended\nnext\n"}), (Lines{"next"}));
}

TEST(LineReader, RefusesLinesWithoutEnd) {
    EXPECT_EQ(lines({"1234", "56\n"}, LineReader(6)), (Lines{"123456"}));
    EXPECT_EQ(lines({"1234", "567\n"}, LineReader(6)), (Lines{"too long"}));
}

}  // namespace

}  // namespace castile
