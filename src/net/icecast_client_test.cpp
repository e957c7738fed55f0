#include "net/icecast_client.h"

#include "net/test_peer.h"

namespace castile {

namespace {

class IcecastClientTest : public NetTest {
protected:
    std::shared_ptr<IcecastClient> make(const std::function<void(IcecastOptions&)>& change = {}) {
        IcecastOptions options;
        options.host = "127.0.0.1";
        options.port = server_.port;
        options.mount = "/m";
        options.content_type = "audio/mpeg";
        options.on_error = [this](const Failure& failure) {
            std::lock_guard lock(failures_mutex_);
            failures_.push_back(failure);
            return std::optional(0.05);
        };
        if (change) change(options);
        auto client = IcecastClient::create(std::move(options), Logger("test"));
        client->start();
        return client;
    }
    static void write(IcecastClient& client, std::string_view text) {
        client.write({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
        client.send_soon();
    }
    std::size_t failures() {
        std::lock_guard lock(failures_mutex_);
        return failures_.size();
    }
    PeerServer server_;
    std::mutex failures_mutex_;
    std::vector<Failure> failures_;
};

TEST_F(IcecastClientTest, LogsInSendsAndCloses) {
    const auto client = make([](IcecastOptions& o) { o.name = "A\r\nX-Evil: 1"; o.description = "d"; });
    Peer peer = server_.accept();
    const std::string head = peer.read_until("\r\n\r\n");
    EXPECT_TRUE(head.starts_with("SOURCE /m HTTP/1.0\r\n")) << head;
    EXPECT_NE(head.find("Authorization: Basic c291cmNlOmhhY2ttZQ==\r\n"), head.npos);
    EXPECT_NE(head.find("ice-description: d\r\n"), head.npos);
    EXPECT_EQ(head.find("X-Evil"), head.npos) << "a header cannot be smuggled in";
    write(*client, "too early");
    peer.send("HTTP/1.0 200 OK\r\n\r\n");
    ASSERT_TRUE(wait_for([&] { return client->session() & 1; }));
    write(*client, "one");
    EXPECT_EQ(peer.read(3), "one");
    write(*client, "two");
    client->stop();
    EXPECT_EQ(peer.read_all(), "two") << "what was queued goes out before the end";
    EXPECT_EQ(failures(), 0u);
}

TEST_F(IcecastClientTest, PutsWithExpectAndChunks) {
    const auto client = make([](IcecastOptions& o) { o.method = "PUT"; o.chunked = true; });
    Peer peer = server_.accept();
    const std::string head = peer.read_until("\r\n\r\n");
    EXPECT_TRUE(head.starts_with("PUT /m HTTP/1.1\r\n")) << head;
    EXPECT_NE(head.find("Expect: 100-continue\r\n"), head.npos);
    EXPECT_NE(head.find("Transfer-Encoding: chunked\r\n"), head.npos);
    peer.send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 OK\r\n\r\n");
    ASSERT_TRUE(wait_for([&] { return client->session() & 1; }));
    write(*client, std::string(300, 'x'));
    EXPECT_EQ(peer.read(5), "12c\r\n");
    EXPECT_EQ(peer.read(302), std::string(300, 'x') + "\r\n");
    client->stop();
    EXPECT_EQ(peer.read_all(), "0\r\n\r\n");
}

TEST_F(IcecastClientTest, SaysWhyItIsRefusedAndTriesAgain) {
    const auto client = make();
    for (const char* answer : {"HTTP/1.0 401 Authentication Required\r\n\r\n", "HTTP/1.0 403 Mountpoint in use\r\n\r\n", "SSH-2.0\r\n", ""}) {
        Peer peer = server_.accept();
        peer.read_until("\r\n\r\n");
        peer.send(answer);
    }
    Peer peer = server_.accept();
    peer.read_until("\r\n\r\n");
    peer.send("HTTP/1.0 200 OK\r\n\r\n");
    ASSERT_TRUE(wait_for([&] { return client->session() & 1; }));
    ASSERT_EQ(failures(), 4u);
    EXPECT_NE(failures_[0].message.find("authentication failed"), std::string::npos);
    EXPECT_NE(failures_[1].message.find("in use"), std::string::npos);
    EXPECT_NE(failures_[2].message.find("not HTTP"), std::string::npos);
    client->stop();
}

TEST_F(IcecastClientTest, ComesBackAfterALossWithANewSession) {
    const auto client = make();
    unsigned last = 0;
    for (int i = 0; i < 3; ++i) {
        Peer peer = server_.accept();
        peer.read_until("\r\n\r\n");
        peer.send("HTTP/1.0 200 OK\r\n\r\n");
        ASSERT_TRUE(wait_for([&] { return (client->session() & 1) && client->session() != last; }));
        last = client->session();
        write(*client, fmt::format("session {}", i));
        EXPECT_EQ(peer.read(9), fmt::format("session {}", i)) << "nothing of the former session";
    }
    EXPECT_TRUE(wait_for([&] { return failures() >= 3; }));
    client->stop();
}

TEST_F(IcecastClientTest, ASlowServerCostsItsDataOnly) {
    const auto client = make([](IcecastOptions& o) { o.timeout = 0.3; });
    Peer peer = server_.accept();
    peer.read_until("\r\n\r\n");
    peer.send("HTTP/1.0 200 OK\r\n\r\n");
    ASSERT_TRUE(wait_for([&] { return client->session() & 1; }));
    const std::string block(100'000, 'x');
    EXPECT_TRUE(wait_for([&] {  // nobody reads: the kernel's buffers fill, then ours
        write(*client, block);
        return failures() == 1;
    })) << "no progress for the time-out: the connection is given up";
    EXPECT_GT(client->bytes_dropped(), 0u);
    client->stop();
}

TEST_F(IcecastClientTest, StopsWhileItWaitsForAnAnswer) {
    const auto client = make();
    Peer peer = server_.accept();
    peer.read_until("\r\n\r\n");
    client->stop();
    EXPECT_TRUE(peer.ended());
}

}  // namespace

}  // namespace castile
