#include "net/icy.h"

#include <iconv.h>

#include <algorithm>
#include <cerrno>

namespace castile {

namespace {

constexpr std::size_t max_text = 255 * 16;
constexpr std::size_t max_url = 200;

// At most `limit` bytes, not in the middle of a UTF-8 character.
std::string_view cut(std::string_view text, std::size_t limit) {
    if (text.size() <= limit) return text;
    while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0) == 0x80) --limit;
    return text.substr(0, limit);
}

// Players end the title at "';": the quote that would do so by accident is replaced, control characters too.
std::string clean(std::string_view text) {
    std::string result(text);
    for (std::size_t i = 0; i < result.size(); ++i) {
        if (static_cast<unsigned char>(result[i]) < 32) result[i] = ' ';
        if (result[i] == '\'' && i + 1 < result.size() && result[i + 1] == ';') result.replace(i, 1, "\xE2\x80\x99");
    }
    return result;
}

}  // namespace

std::string icy_block(std::string_view title, std::string_view url) {
    std::string text;
    const std::string url_part = url.empty() ? "" : "StreamUrl='" + std::string(cut(clean(url), max_url)) + "';";
    const std::string safe = clean(title);
    text = "StreamTitle='" + std::string(cut(safe, max_text - url_part.size() - 15)) + "';" + url_part;
    const std::size_t units = (text.size() + 15) / 16;
    text.resize(units * 16, '\0');
    text.insert(text.begin(), static_cast<char>(units));
    return text;
}

void IcyInterleaver::append(ByteSpan audio, std::string& out, const std::function<std::string()>& block) {
    while (audio.size() >= left_) {
        out.append(reinterpret_cast<const char*>(audio.data()), left_);
        audio = audio.subspan(left_);
        left_ = interval_;
        const std::string text = block();
        if (text.empty()) out += '\0';
        else out += text;
    }
    out.append(reinterpret_cast<const char*>(audio.data()), audio.size());
    left_ -= audio.size();
}

void IcyReader::feed(ByteSpan data, const std::function<void(ByteSpan)>& audio, const std::function<void(std::string_view)>& title) {
    while (!data.empty()) {
        switch (expect_) {
            case Expect::audio: {
                const auto count = std::min(left_, data.size());
                if (count) audio(data.first(count));
                data = data.subspan(count);
                if ((left_ -= count) == 0) expect_ = Expect::length;
                break;
            }
            case Expect::length:
                left_ = data.front() * std::size_t{16};
                data = data.subspan(1);
                text_.clear();
                expect_ = left_ ? Expect::text : Expect::audio;
                if (!left_) left_ = interval_;
                break;
            case Expect::text: {
                const auto count = std::min(left_, data.size());
                text_.append(reinterpret_cast<const char*>(data.data()), count);
                data = data.subspan(count);
                if ((left_ -= count) == 0) {
                    title(icy_stream_title(std::string_view(text_).substr(0, text_.find('\0'))));
                    expect_ = Expect::audio;
                    left_ = interval_;
                }
                break;
            }
        }
    }
}

std::string_view icy_stream_title(std::string_view text) {
    constexpr std::string_view key = "StreamTitle='";
    const auto start = text.find(key);
    if (start == text.npos) return {};
    text = text.substr(start + key.size());
    const auto end = text.find("';");
    if (end != text.npos) return text.substr(0, end);
    if (!text.empty() && text.back() == '\'') text.remove_suffix(1);
    return text;
}

std::string from_utf8(std::string_view text, const std::string& charset) {
    if (charset.empty()) return std::string(text);
    const iconv_t converter = ::iconv_open(charset.c_str(), "UTF-8");
    if (converter == reinterpret_cast<iconv_t>(-1)) return std::string(text);
    std::string result(text.size() * 4 + 16, '\0');
    char* in = const_cast<char*>(text.data());
    char* out = result.data();
    std::size_t in_left = text.size(), out_left = result.size();
    while (in_left > 0 && out_left > 1) {
        if (::iconv(converter, &in, &in_left, &out, &out_left) != static_cast<std::size_t>(-1)) break;
        if (errno == E2BIG) break;
        do {  // skip one character
            ++in;
            --in_left;
        } while (in_left > 0 && (static_cast<unsigned char>(*in) & 0xC0) == 0x80);
        *out++ = '?';
        --out_left;
    }
    ::iconv_close(converter);
    result.resize(static_cast<std::size_t>(out - result.data()));
    return result;
}

bool known_charset(const std::string& charset) {
    const iconv_t converter = ::iconv_open(charset.c_str(), "UTF-8");
    if (converter == reinterpret_cast<iconv_t>(-1)) return false;
    ::iconv_close(converter);
    return true;
}

}  // namespace castile
