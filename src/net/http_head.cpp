// Beast's parser behind a small interface, so that its weight stays in this file.

#include "net/http_head.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <charconv>

#include "net/http_server.h"

namespace castile {

namespace http = boost::beast::http;

struct HttpRequestReader::Impl {
    http::request_parser<http::string_body> parser;
    bool head_told = false, begun = false, too_large = false;
    int error_status = 400;
};

HttpRequestReader::HttpRequestReader() : impl_(std::make_unique<Impl>()) {
    impl_->parser.header_limit(max_http_head);
    impl_->parser.body_limit(boost::none);  // judged in limit_body: before that no byte of a body is read
    impl_->parser.eager(false);
}

HttpRequestReader::HttpRequestReader(HttpRequestReader&&) noexcept = default;
HttpRequestReader& HttpRequestReader::operator=(HttpRequestReader&&) noexcept = default;
HttpRequestReader::~HttpRequestReader() = default;

void HttpRequestReader::limit_body(std::size_t bytes) {
    const auto length = impl_->parser.content_length();
    impl_->too_large = length && *length > bytes;
    impl_->parser.body_limit(bytes);  // for chunked bodies
    impl_->parser.eager(true);
}

HttpRequestReader::Status HttpRequestReader::feed(ByteSpan data, std::size_t& used) {
    used = 0;
    auto& parser = impl_->parser;
    if (!data.empty()) impl_->begun = true;
    if (impl_->too_large) {
        impl_->error_status = 413;
        return Status::failed;
    }
    while (!parser.is_done()) {
        if (parser.is_header_done() && !impl_->head_told) break;
        boost::system::error_code error;
        const auto taken = parser.put(boost::asio::buffer(data.data() + used, data.size() - used), error);
        used += taken;
        if (error == http::error::need_more) {
            if (!parser.is_header_done() && data.size() - used > max_http_head) error = http::error::header_limit;
            else return Status::more;
        }
        if (error) {
            if (error == http::error::header_limit) impl_->error_status = 431;
            else if (error == http::error::body_limit) impl_->error_status = 413;
            else if (error == http::error::bad_version) impl_->error_status = 505;
            else impl_->error_status = 400;
            return Status::failed;
        }
        if (taken == 0) break;
    }
    if (parser.is_header_done() && !impl_->head_told) {
        impl_->head_told = true;
        return Status::head_done;
    }
    return parser.is_done() ? Status::done : Status::more;
}

int HttpRequestReader::error_status() const noexcept { return impl_->error_status; }
bool HttpRequestReader::begun() const noexcept { return impl_->begun; }
bool HttpRequestReader::keep_alive() const noexcept { return impl_->parser.is_header_done() && impl_->parser.keep_alive(); }

void HttpRequestReader::fill(HttpServerRequest& request) const {
    const auto& message = impl_->parser.get();
    const auto text = [](const auto& view) { return std::string(view.data(), view.size()); };
    request.method = text(message.method_string());
    request.target = text(message.target());
    request.http_version = message.version() == 10 ? "1.0" : "1.1";
    const std::string_view target = request.target;
    const auto question = target.find('?');
    std::string_view path = target.substr(0, question);
    if (const auto scheme = path.find("://"); scheme != path.npos && !path.starts_with('/')) {  // absolute form
        const auto slash = path.find('/', scheme + 3);
        path = slash == path.npos ? "/" : path.substr(slash);
    }
    request.path = url_decode(path, false);
    request.query = question == target.npos ? decltype(request.query){} : parse_query(target.substr(question + 1));
    request.headers.clear();
    for (const auto& field : message) {
        std::string name = text(field.name_string());
        for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
        request.headers.emplace_back(std::move(name), text(field.value()));
    }
    request.body = message.body();
}

std::optional<HttpStatusLine> parse_http_answer(std::string_view bytes) {
    HttpStatusLine line;
    auto end = bytes.find("\r\n\r\n");
    std::size_t separator = 4;
    if (const auto bare = bytes.find("\n\n"); bare < end) {
        end = bare;
        separator = 2;
    }
    constexpr std::string_view protocols[] = {"HTTP/", "ICY ", "OK"};
    bool possible = false;
    for (const auto protocol : protocols) possible |= protocol.substr(0, bytes.size()) == bytes.substr(0, protocol.size());
    if (!possible) return line;
    if (end == bytes.npos) return bytes.size() > max_http_head ? std::optional(line) : std::nullopt;
    line.length = end + separator;
    std::string_view first = bytes.substr(0, std::min(bytes.find('\n'), end));
    if (!first.empty() && first.back() == '\r') first.remove_suffix(1);
    const auto space = first.find(' ');
    if (space == first.npos) return line;
    first.remove_prefix(space + 1);
    const auto parsed = std::from_chars(first.data(), first.data() + first.size(), line.status);
    if (parsed.ec != std::errc{} || line.status < 100 || line.status > 999) line.status = 0;
    const auto rest = std::string_view(parsed.ptr, static_cast<std::size_t>(first.data() + first.size() - parsed.ptr));
    line.reason = rest.starts_with(' ') ? rest.substr(1) : rest;
    return line;
}

namespace {

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

constexpr std::string_view base64_letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string url_decode(std::string_view text, bool plus_is_space) {
    std::string result;
    result.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 && hex_digit(text[i + 2]) >= 0) {
            result += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
            i += 2;
        } else {
            result += plus_is_space && text[i] == '+' ? ' ' : text[i];
        }
    }
    return result;
}

std::string url_encode(std::string_view text) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string result;
    result.reserve(text.size() * 2);
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (letter || c == '-' || c == '_' || c == '.' || c == '~') {
            result += c;
        } else {
            result += '%';
            result += digits[byte >> 4];
            result += digits[byte & 15];
        }
    }
    return result;
}

std::vector<std::pair<std::string, std::string>> parse_query(std::string_view text) {
    std::vector<std::pair<std::string, std::string>> result;
    while (!text.empty()) {
        const auto end = text.find('&');
        const auto part = text.substr(0, end);
        text = end == text.npos ? std::string_view{} : text.substr(end + 1);
        if (part.empty()) continue;
        const auto equals = part.find('=');
        result.emplace_back(url_decode(part.substr(0, equals), true), equals == part.npos ? "" : url_decode(part.substr(equals + 1), true));
    }
    return result;
}

std::optional<std::string> base64_decode(std::string_view text) {
    while (!text.empty() && text.back() == '=') text.remove_suffix(1);
    std::string result;
    unsigned bits = 0, count = 0;
    for (const char c : text) {
        const auto value = base64_letters.find(c);
        if (value == base64_letters.npos) return std::nullopt;
        bits = bits << 6 | static_cast<unsigned>(value);
        if ((count += 6) >= 8) result += static_cast<char>(bits >> (count -= 8) & 255);
    }
    return result;
}

std::string base64_encode(std::string_view bytes) {
    std::string result;
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        unsigned bits = 0;
        for (std::size_t k = 0; k < 3; ++k) bits = bits << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0u);
        for (std::size_t k = 0; k < 4; ++k) result += k <= bytes.size() - i ? base64_letters[bits >> (18 - 6 * k) & 63] : '=';
    }
    return result;
}

}  // namespace castile
