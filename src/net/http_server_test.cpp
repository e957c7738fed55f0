#include "net/http_server.h"

#include <fcntl.h>

#include "base/error.h"
#include "base/settings.h"
#include "net/http_client.h"
#include "net/test_peer.h"

namespace castile {

namespace {

class HttpServer : public NetTest {
protected:
    std::shared_ptr<void> serve(const std::string& method, const std::string& path, HttpHandler handler) {
        HttpRoute route;
        route.method = method;
        route.path = path;
        return register_http(port_, nullptr, std::move(route), std::move(handler));
    }
    const unsigned short port_ = free_port();
    std::shared_ptr<void> hello_ = serve("GET", "/hello", [](const HttpExchangePtr& e) { e->reply({200, "text/plain", "hello", {}, ""}); });
};

TEST_F(HttpServer, AnswersAndKeepsTheConnection) {
    Peer peer = Peer::connect(port_);
    for (int i = 0; i < 3; ++i) {
        peer.send("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
        const std::string head = peer.read_until("\r\n\r\n");
        EXPECT_TRUE(head.starts_with("HTTP/1.1 200 OK\r\n")) << head;
        EXPECT_NE(head.find("Content-Length: 5\r\n"), head.npos);
        EXPECT_EQ(peer.read(5), "hello");
    }
    peer.send("GET /hello HTTP/1.1\r\n\r\nGET /hello HTTP/1.0\r\n\r\n");  // pipelined; the old one closes
    const std::string both = peer.read_all();
    EXPECT_EQ(both.substr(both.size() - 5), "hello");
    EXPECT_NE(both.find("Connection: close"), both.npos);
}

TEST_F(HttpServer, AnswersHeadOptionsAndWhatIsNotThere) {
    const auto ask = [this](const std::string& request) {
        Peer peer = Peer::connect(port_);
        peer.send(request + " HTTP/1.0\r\n\r\n");
        return peer.read_all();
    };
    const std::string head = ask("HEAD /hello");
    EXPECT_TRUE(head.starts_with("HTTP/1.1 200")) << head;
    EXPECT_TRUE(head.ends_with("\r\n\r\n")) << head;
    EXPECT_TRUE(ask("GET /nothing").starts_with("HTTP/1.1 404"));
    EXPECT_TRUE(ask("DELETE /hello").starts_with("HTTP/1.1 405"));
    EXPECT_TRUE(ask("OPTIONS /hello").starts_with("HTTP/1.1 204"));
    EXPECT_TRUE(ask(std::string("GET /") + std::string(20000, 'a')).starts_with("HTTP/1.1 431"));
    EXPECT_TRUE(ask("nonsense").starts_with("HTTP/1.1 400"));
}

TEST_F(HttpServer, SurvivesHandlersThatFailOrForget) {
    const auto bad = serve("GET", "/bad", [](const HttpExchangePtr&) { throw Error("no"); });
    const auto silent = serve("GET", "/silent", [](const HttpExchangePtr&) {});
    for (const char* path : {"/bad", "/silent"}) {
        Peer peer = Peer::connect(port_);
        peer.send(std::string("GET ") + path + " HTTP/1.0\r\n\r\n");
        EXPECT_TRUE(peer.read_all().starts_with("HTTP/1.1 500")) << path;
    }
}

TEST_F(HttpServer, HandsBodiesOverAndTalksToTheClient) {
    const auto echo = serve("POST", "/echo", [](const HttpExchangePtr& e) {
        e->reply({201, "text/plain", e->request().body + *e->request().header("x-more"), {{"X-Answer", "yes"}}, ""});
    });
    HttpRequest request;
    request.url = "http://127.0.0.1:" + std::to_string(port_) + "/echo?x=1";
    request.method = "POST";
    request.body = std::string(100000, 'b');
    request.headers = {{"X-More", "!"}};
    const auto answer = http_request(request);
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->status, 201);
    EXPECT_EQ(answer->reason, "Created");
    EXPECT_EQ(answer->body, request.body + "!");
    request.max_bytes = 1000;
    const auto bounded = http_request(request);
    ASSERT_FALSE(bounded);
    EXPECT_EQ(bounded.error().kind, Failure::Kind::invalid);
    request.url = "http://127.0.0.1:" + std::to_string(free_port()) + "/";
    const auto refused = http_request(request);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, Failure::Kind::refused);
}

TEST_F(HttpServer, ClosesConnectionsThatSayNothing) {
    find_setting("harbor.accept_timeout")->set(0.1);
    Peer mute = Peer::connect(port_), slow = Peer::connect(port_);
    slow.send("GET /hello HTTP/1.1\r\nX: ");
    EXPECT_TRUE(mute.ended());
    EXPECT_TRUE(slow.ended());
    find_setting("harbor.accept_timeout")->set(3.0);
}

TEST_F(HttpServer, SaysThatAPortIsTaken) {
    PeerServer other;
    HttpRoute route;
    route.path = "/";
    try {
        const auto token = register_http(other.port, nullptr, route, [](const HttpExchangePtr&) {});
        FAIL() << "the port was opened twice";
    } catch (const Error& error) {
        EXPECT_EQ(std::string(error.what()), "port " + std::to_string(other.port) + " is already in use");
    }
}

TEST_F(HttpServer, APortClosesWithItsLastHandlerAndOpensAgain) {
    for (int i = 0; i < 5; ++i) {
        hello_.reset();
        hello_ = serve("GET", "/hello", [](const HttpExchangePtr& e) { e->reply({200, "text/plain", "again", {}, ""}); });
        Peer peer = Peer::connect(port_);
        peer.send("GET /hello HTTP/1.0\r\n\r\n");
        EXPECT_TRUE(peer.read_all().ends_with("again"));
    }
}

}  // namespace

}  // namespace castile
