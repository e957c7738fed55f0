#include "net/icy.h"

#include <gtest/gtest.h>

namespace castile {

namespace {

ByteSpan bytes(std::string_view text) { return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}; }

std::string ramp(std::size_t size) {
    std::string text(size, '\0');
    for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 31 + i / 251);
    return text;
}

TEST(Icy, BlocksArePaddedAndBounded) {
    const std::string block = icy_block("A - B", "");
    EXPECT_EQ(block[0], 2);
    EXPECT_EQ(block.size(), 33u);
    EXPECT_EQ(block.substr(1, 21), "StreamTitle='A - B';\0" + std::string(1, '\0'));
    const std::string sixteen = icy_block("a", "");  // exactly one unit: no padding, no empty second one
    EXPECT_EQ(sixteen.size(), 17u);
    std::string long_title;
    for (int i = 0; i < 3000; ++i) long_title += "\u00e9";
    const std::string full = icy_block(long_title, std::string(1000, 'u'));
    EXPECT_LE(full.size(), 255u * 16 + 1);
    EXPECT_EQ(full.size(), static_cast<unsigned char>(full[0]) * 16u + 1);
    EXPECT_EQ(icy_stream_title(std::string_view(full).substr(1)).size() % 2, 0u) << "cut inside a character";
    EXPECT_EQ(icy_stream_title(std::string_view(icy_block("it's", "http://x")).substr(1)), "it's");
    EXPECT_EQ(icy_block("a';StreamUrl='b\r\n", "").find("';S"), std::string::npos) << "a title cannot end itself";
}

TEST(Icy, BlocksComeAfterExactlyTheInterval) {
    for (const std::size_t interval : {1u, 7u, 64u, 8192u}) {
        for (const std::size_t step : {1u, 5u, 64u, 1000u, 20000u}) {
            IcyInterleaver interleaver(interval);
            const std::string audio = ramp(20000);
            std::string out;
            int asked = 0;
            for (std::size_t at = 0; at < audio.size(); at += step) {
                interleaver.append(bytes(std::string_view(audio).substr(at, step)), out,
                                   [&] { return ++asked == 2 ? icy_block("second", "") : std::string(); });
            }
            EXPECT_EQ(asked, static_cast<int>(audio.size() / interval));
            std::string back, titles;
            IcyReader reader(interval);
            for (std::size_t at = 0; at < out.size(); at += 13) {
                reader.feed(bytes(std::string_view(out).substr(at, 13)), [&](ByteSpan a) { back.append(reinterpret_cast<const char*>(a.data()), a.size()); },
                            [&](std::string_view t) { titles += t; });
            }
            EXPECT_EQ(back, audio) << interval << " " << step;
            EXPECT_EQ(titles, asked >= 2 ? "second" : "");
        }
    }
}

TEST(Icy, ConvertsCharsets) {
    EXPECT_EQ(from_utf8("caf\u00e9", "ISO-8859-1"), "caf\xe9");
    EXPECT_EQ(from_utf8("\u4e2d caf\u00e9", "ISO-8859-1"), "? caf\xe9");
    EXPECT_EQ(from_utf8("caf\u00e9", ""), "caf\u00e9");
    EXPECT_EQ(from_utf8("x", "no-such-charset"), "x");
    EXPECT_TRUE(known_charset("KOI8-R"));
    EXPECT_FALSE(known_charset("no-such-charset"));
}

}  // namespace

}  // namespace castile
