#pragma once
// ICY: titles inside an audio stream, a block of them after every `metaint` bytes; and text in other charsets.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace castile {

/// The block for a title: a length byte (in units of 16) and `StreamTitle='...';StreamUrl='...';` padded with zeros. Texts
/// too long for the format are cut at a character (UTF-8); never more than 255 x 16 + 1 bytes.
std::string icy_block(std::string_view title, std::string_view url);

/// Puts blocks into one listener's stream: after exactly `interval` bytes of audio each, a zero byte when nothing is new.
class IcyInterleaver {
public:
    explicit IcyInterleaver(std::size_t interval) : left_(interval), interval_(interval) {}
    /// Appends `audio` to `out` with blocks between. `block` is asked at each insertion: what to put there, empty = nothing new.
    void append(ByteSpan audio, std::string& out, const std::function<std::string()>& block);
    std::size_t until_block() const noexcept { return left_; }  ///< audio bytes before the next block

private:
    std::size_t left_, interval_;
};

/// The other way round: audio and titles out of an ICY stream (ours in tests, a relay's in an input). Any bytes, any cuts.
class IcyReader {
public:
    explicit IcyReader(std::size_t interval) : left_(interval), interval_(interval) {}
    void feed(ByteSpan data, const std::function<void(ByteSpan)>& audio, const std::function<void(std::string_view)>& title);

private:
    enum class Expect { audio, length, text } expect_ = Expect::audio;
    std::size_t left_, interval_;
    std::string text_;
};
/// The value of `StreamTitle` in a block's text; empty when absent.
std::string_view icy_stream_title(std::string_view text);

/// UTF-8 to `charset` ("ISO-8859-1", ...); what it cannot hold becomes '?'. Empty or UTF-8 or unknown: unchanged.
std::string from_utf8(std::string_view text, const std::string& charset);
bool known_charset(const std::string& charset);

}  // namespace castile
