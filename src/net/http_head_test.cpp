#include "net/http_head.h"

#include <gtest/gtest.h>

#include "net/http_server.h"

namespace castile {

namespace {

using Status = HttpRequestReader::Status;

ByteSpan bytes(std::string_view text) { return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}; }

// Feeds `text` in pieces of `step` bytes as a connection does: what was not used comes again, with more.
Status read(HttpRequestReader& reader, std::string_view text, std::size_t step, HttpServerRequest& request, std::size_t body_limit = 1000) {
    std::string pending;
    std::size_t sent = 0;
    for (;;) {
        std::size_t used = 0;
        const Status status = reader.feed(bytes(pending), used);
        pending.erase(0, used);
        if (status == Status::head_done) {
            reader.limit_body(body_limit);
            continue;
        }
        if (status == Status::done) reader.fill(request);
        if (status != Status::more) return status;
        if (sent == text.size()) return Status::more;
        pending += text.substr(sent, step);
        sent += std::min(step, text.size() - sent);
    }
}

TEST(HttpHead, ReadsARequestInAnyPieces) {
    const std::string text = "POST /a%20b/c?x=1&y=%C3%A9+z HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nX-Thing:  v \r\n\r\nhello";
    for (std::size_t step = 1; step <= text.size(); ++step) {
        HttpRequestReader reader;
        HttpServerRequest request;
        ASSERT_EQ(read(reader, text, step, request), Status::done) << step;
        EXPECT_EQ(request.method, "POST");
        EXPECT_EQ(request.path, "/a b/c");
        EXPECT_EQ(*request.argument("y"), "\u00e9 z");
        EXPECT_EQ(*request.header("x-thing"), "v");
        EXPECT_EQ(request.body, "hello");
        EXPECT_TRUE(reader.keep_alive());
    }
}

TEST(HttpHead, ReadsChunkedBodies) {
    HttpRequestReader reader;
    HttpServerRequest request;
    EXPECT_EQ(read(reader, "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", 7, request), Status::done);
    EXPECT_EQ(request.body, "abcde");
}

TEST(HttpHead, RefusesWhatIsTooLarge) {
    HttpServerRequest request;
    HttpRequestReader endless;
    EXPECT_EQ(read(endless, "GET / HTTP/1.1\r\nX: " + std::string(max_http_head, 'a'), 1000, request), Status::failed);
    EXPECT_EQ(endless.error_status(), 431);
    HttpRequestReader declared;
    EXPECT_EQ(read(declared, "POST / HTTP/1.1\r\nContent-Length: 1001\r\n\r\n", 1000, request), Status::failed);
    EXPECT_EQ(declared.error_status(), 413);
    HttpRequestReader chunked;
    EXPECT_EQ(read(chunked, "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n7d0\r\n" + std::string(2000, 'x') + "\r\n0\r\n\r\n", 64, request), Status::failed);
    EXPECT_EQ(chunked.error_status(), 413);
}

TEST(HttpHead, RefusesWhatIsNotHttp) {
    for (const char* text : {"\x16\x03\x01\x02\x00\x01\x00", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET / HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
                             "GET / HTTP/1.1\r\nno colon\r\n\r\n"}) {
        HttpRequestReader reader;
        HttpServerRequest request;
        EXPECT_EQ(read(reader, text, 1000, request), Status::failed) << text;
    }
}

TEST(HttpHead, KnowsWhenMoreIsToCome) {
    HttpRequestReader reader;
    HttpServerRequest request;
    EXPECT_EQ(read(reader, "GET / HTTP/1.1\r\nHost: x\r\n", 5, request), Status::more);
    HttpRequestReader old;
    EXPECT_EQ(read(old, "GET / HTTP/1.0\r\n\r\n", 5, request), Status::done);
    EXPECT_FALSE(old.keep_alive());
}

TEST(HttpHead, ReadsAnswers) {
    EXPECT_FALSE(parse_http_answer("HTTP/1.0 200 O"));
    auto line = parse_http_answer("HTTP/1.0 403 Mountpoint in use\r\nServer: x\r\n\r\nrest");
    ASSERT_TRUE(line);
    EXPECT_EQ(line->status, 403);
    EXPECT_EQ(line->reason, "Mountpoint in use");
    EXPECT_EQ(line->length, 45u);
    EXPECT_EQ(parse_http_answer("HTTP/1.1 100 Continue\r\n\r\n")->status, 100);
    EXPECT_EQ(parse_http_answer("SSH-2.0-OpenSSH\r\n")->status, 0);
    EXPECT_EQ(parse_http_answer("HTTP/1.0 " + std::string(max_http_head + 1, '2'))->status, 0);
}

TEST(HttpHead, CodesTexts) {
    EXPECT_EQ(base64_encode("source:hackme"), "c291cmNlOmhhY2ttZQ==");
    EXPECT_EQ(base64_encode("abc"), "YWJj");
    EXPECT_EQ(base64_encode("ab"), "YWI=");
    std::string all;
    for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
    EXPECT_EQ(base64_decode(base64_encode(all)), all);
    EXPECT_EQ(url_decode(url_encode(all), true), all);
    EXPECT_EQ(base64_decode("a b"), std::nullopt);
    EXPECT_EQ(url_decode("100%&%zz%4", false), "100%&%zz%4");
    HttpServerRequest request;
    request.headers = {{"authorization", "Basic c291cmNlOmE6Yg=="}};
    EXPECT_EQ(request.credentials(), std::pair(std::string("source"), std::string("a:b")));
}

}  // namespace

}  // namespace castile
