#include "tools/document.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace castile::tools {

namespace {

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

/// Characters beyond U+FFFF are two in UTF-16.
std::size_t units(char first) { return continues(first) ? 0 : static_cast<unsigned char>(first) >= 0xF0 ? 2 : 1; }

int hexadecimal(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

}  // namespace

Lines::Lines(std::string_view text) : text_(text), begins_{0} {
    for (std::size_t i = 0; i < text.size(); ++i)
        if (text[i] == '\n') begins_.push_back(i + 1);
}

Place Lines::place(std::size_t offset, Columns columns) const {
    offset = std::min(offset, text_.size());
    const auto next = std::ranges::upper_bound(begins_, offset);
    const std::size_t begin = *(next - 1);
    Place p{static_cast<std::size_t>(next - begins_.begin()) - 1, offset - begin};
    if (columns == Columns::utf16) {
        p.column = 0;
        for (std::size_t i = begin; i < offset; ++i) p.column += units(text_[i]);
    }
    return p;
}

std::size_t Lines::offset(Place place, Columns columns) const {
    if (place.line >= begins_.size()) return text_.size();
    const std::size_t begin = begins_[place.line];
    std::size_t end = place.line + 1 < begins_.size() ? begins_[place.line + 1] - 1 : text_.size();
    if (end > begin && text_[end - 1] == '\r') --end;
    std::size_t at = begin;
    if (columns == Columns::utf8) {
        at = begin + std::min(place.column, end - begin);
    } else {
        for (std::size_t column = 0; at < end && column < place.column; ++at) column += units(text_[at]);
    }
    while (at < end && continues(text_[at])) ++at;
    return at;
}

std::string path_of_uri(std::string_view uri) {
    if (!uri.starts_with("file://")) return std::string(uri);
    uri.remove_prefix(7);
    uri.remove_prefix(std::min(uri.find('/'), uri.size()));   // a host
    std::string path;
    for (std::size_t i = 0; i < uri.size(); ++i) {
        const int high = uri[i] == '%' && i + 2 < uri.size() ? hexadecimal(uri[i + 1]) : -1;
        const int low = high >= 0 ? hexadecimal(uri[i + 2]) : -1;
        if (low >= 0 && high * 16 + low != 0) {
            path += static_cast<char>(high * 16 + low);
            i += 2;
        } else {
            path += uri[i];
        }
    }
    return path;
}

std::string uri_of_path(std::string_view path) {
    if (!path.starts_with('/')) return std::string(path);
    std::string uri = "file://";
    for (const char c : path) {
        const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view("/-_.~").find(c) != std::string_view::npos;
        uri += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    }
    return uri;
}

}  // namespace castile::tools
