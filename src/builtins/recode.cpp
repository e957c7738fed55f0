// Character sets: string.recode, and text of tags (iconv).

#include <iconv.h>

#include <cerrno>

#include "base/log.h"
#include "base/settings.h"
#include "builtins/define.h"
#include "builtins/encodings.h"
#include "lang/text.h"

namespace castile::builtins {

namespace {

const Logger logger("charset");

Setting<std::vector<std::string>> tried{"charset.encodings", {"UTF-8", "ISO-8859-1", "UTF-16"}, "Encodings to try, in order, for a text of unknown encoding."};
Setting<int> longest{"charset.max_string_length", 1024, "Texts longer than this (in bytes) are not converted by `string.recode`."};

class Converter {
public:
    Converter(const std::string& from, const std::string& to) : handle_(iconv_open(to.c_str(), from.c_str())) {}
    ~Converter() {
        if (*this) iconv_close(handle_);
    }
    Converter(const Converter&) = delete;
    explicit operator bool() const { return handle_ != reinterpret_cast<iconv_t>(-1); }

    std::optional<std::string> convert(std::string_view s) {
        std::string out, buffer(s.size() * 2 + 64, '\0');
        char* in = const_cast<char*>(s.data());
        std::size_t in_left = s.size();
        for (bool flush = false;;) {
            char* to = buffer.data();
            std::size_t out_left = buffer.size();
            const std::size_t done = flush ? iconv(handle_, nullptr, nullptr, &to, &out_left) : iconv(handle_, &in, &in_left, &to, &out_left);
            const int error = errno;
            out.append(buffer.data(), buffer.size() - out_left);
            if (done == static_cast<std::size_t>(-1)) {
                if (error != E2BIG) return std::nullopt;
            } else if (flush) {
                return out;
            } else {
                flush = true;
            }
        }
    }

private:
    iconv_t handle_;
};

/// The encoding of a text that does not say: a mark at its start, or the first that fits.
std::string guess(std::string_view s) {
    const auto encodings = tried.get();
    if (s.starts_with("\xFE\xFF") || s.starts_with("\xFF\xFE"))
        for (const std::string& e : encodings)
            if (e == "UTF-16") return e;
    for (const std::string& e : encodings)
        if (e == "UTF-8" ? lang::valid_utf8(s) : recode(s, e, "UTF-8").has_value()) return e;
    return "UTF-8";
}

Value recoded(const BuiltinArgs& a) {
    const std::string &to = a[1].as_string(), &s = a[2].as_string();
    const std::string from = a[0].is_null() ? guess(s) : a[0].as_string();
    if (!Converter(from, to)) raise("string", "Unknown encoding: " + (Converter(from, "UTF-8") ? to : from) + ".");
    if (s.size() > static_cast<std::size_t>(std::max(longest.get(), 0))) {
        logger.important("A string of {} bytes is not converted: `settings.charset.max_string_length` is {}.", s.size(), longest.get());
        return a[2];
    }
    if (auto out = recode(s, from, to)) return text(std::move(*out));
    logger.important("{} cannot be converted from {} to {}.", lang::quote_text(s), from, to);
    return a[2];
}

const Definitions definitions("String", {
    {"string.recode", "A string in another character set; as it was when it cannot be converted.",
     {opt("in_enc", "string?", "null", "Its encoding, found out among `settings.charset.encodings` when `null`."), opt("out_enc", "string", "\"UTF-8\"", "Wanted encoding."), pos("string")},
     "string", recoded},
});

}  // namespace

std::optional<std::string> recode(std::string_view text, const std::string& from, const std::string& to) {
    const bool marked = to == "UTF-16";   // written with a mark, most significant byte first
    Converter converter(from, marked ? "UTF-16BE" : to);
    auto out = converter ? converter.convert(text) : std::nullopt;
    return out && marked ? "\xFE\xFF" + *out : out;
}

}  // namespace castile::builtins
