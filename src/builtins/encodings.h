#pragma once
// Encodings of text.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace castile::builtins {

std::string unescape(std::string_view text);   ///< \n, \xHH, \uHHHH, \ddd (octal)
std::string base64_encode(std::string_view data);
std::optional<std::string> base64_decode(std::string_view text);
/// Nothing when an encoding is unknown or the text does not fit.
std::optional<std::string> recode(std::string_view text, const std::string& from, const std::string& to);
/// What HTML and XML read as markup, as entities; an apostrophe as the one given (HTML 4 has no &apos;).
std::string markup_escape(std::string_view text, std::string_view apostrophe = "&#39;");
std::string md5(std::string_view data);        ///< in hexadecimal
std::string url_encode(std::string_view text, bool plus);
std::string url_decode(std::string_view text, bool plus);
std::vector<std::pair<std::string, std::string>> query_arguments(std::string_view query);

}  // namespace castile::builtins
