#include "net/command_server.h"

#include <sys/stat.h>
#include <sys/un.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/error.h"
#include "net/test_peer.h"

namespace castile {

namespace {

class CommandServerTest : public NetTest {
protected:
    ~CommandServerTest() override {
        server_->close();
        server_.reset();
    }
    // "echo X" gives X, "later X" the same from another thread, "big" a million bytes, "exit" leaves.
    static void run(std::string line, const std::function<void(CommandReply)>& done) {
        if (line == "exit") return done({"Bye!", true});
        if (line == "big") return done({std::string(1'000'000, 'b')});
        if (line.starts_with("later ")) {
            std::thread([line, done] { done({line.substr(6)}); }).detach();
            return;
        }
        if (line == "twice") done({"once"});
        done({line.starts_with("echo ") ? line.substr(5) : "[" + line + "]"});
    }
    void open(CommandServerOptions options = {}) {
        if (!options.socket_path) options.tcp = {"127.0.0.1", port_};
        else options.tcp.reset();
        server_ = CommandServer::open(std::move(options), run);
    }
    Peer client() const { return Peer::connect(port_); }

    const unsigned short port_ = free_port();
    std::shared_ptr<CommandServer> server_;
};

TEST_F(CommandServerTest, AnswersEveryLineInOrder) {
    open();
    Peer peer = client();
    peer.send("\r\necho a b\r\n\nlater c\ntwice\n");
    EXPECT_EQ(peer.read_until("END\r\n"), "a b\r\nEND\r\n");
    EXPECT_EQ(peer.read_until("END\r\n"), "c\r\nEND\r\n");
    EXPECT_EQ(peer.read_until("END\r\n"), "once\r\nEND\r\n");
    peer.send("exit\necho never\n");
    EXPECT_EQ(peer.read_all(), "Bye!\r\n");
}

TEST_F(CommandServerTest, ServesManyLinesAtOnceWithoutNesting) {
    open();
    Peer peer = client();
    std::string lines;
    for (int i = 0; i < 20000; ++i) lines += "echo x\n";
    std::thread sender([&] { peer.send(lines + "exit\n"); });
    const std::string all = peer.read_all();
    sender.join();
    EXPECT_EQ(all.size(), 20000 * std::string("x\r\nEND\r\n").size() + std::string("Bye!\r\n").size());
}

TEST_F(CommandServerTest, RefusesALineWithoutEnd) {
    open();
    Peer peer = client();
    std::thread sender([&] { peer.send(std::string(300'000, 'a')); });
    EXPECT_EQ(peer.read_until("END\r\n"), "ERROR: the line is too long.\r\nEND\r\n");
    sender.join();
}

TEST_F(CommandServerTest, WaitsForSlowReadersAndServesTheOthers) {
    open();
    Peer slow = Peer::connect(port_, 4096);
    for (int i = 0; i < 20; ++i) slow.send("big\n");
    Peer other = client();
    other.send("echo hello\n");
    EXPECT_EQ(other.read_until("END\r\n"), "hello\r\nEND\r\n");
    for (int i = 0; i < 20; ++i) EXPECT_EQ(slow.read_until("END\r\n").size(), 1'000'007u);
}

TEST_F(CommandServerTest, AnswersAClientThatSaysNoMore) {
    open();
    Peer peer = client();
    peer.send("later a\necho b\n");
    peer.finish();
    EXPECT_EQ(peer.read_all(), "a\r\nEND\r\nb\r\nEND\r\n");
}

TEST_F(CommandServerTest, SendsSilentClientsAway) {
    open({.timeout = std::chrono::milliseconds(100)});
    EXPECT_EQ(client().read_all(), "Connection timed out.. Bye!\r\n");
}

TEST_F(CommandServerTest, RefusesClientsAboveTheLimitUntilOneLeaves) {
    open({.max_clients = 2});
    Peer first = client(), second = client();
    for (Peer* peer : {&first, &second}) {
        peer->send("echo in\n");
        EXPECT_EQ(peer->read_until("END\r\n"), "in\r\nEND\r\n");
    }
    EXPECT_EQ(client().read_all(), "ERROR: too many clients.\r\nEND\r\n");
    first.close();
    bool let_in = false;
    wait_for([&] {
        if (let_in) return true;
        Peer third = client();
        third.send("echo in\n");
        let_in = third.read_until("END\r\n") == "in\r\nEND\r\n";
        return let_in;
    });
    EXPECT_TRUE(let_in);
}

TEST_F(CommandServerTest, SaysThatAPortIsTaken) {
    PeerServer other;
    open();
    try {
        CommandServer::open({.tcp = CommandServerOptions::Tcp{"127.0.0.1", other.port}}, run);
        FAIL() << "the port was opened twice";
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("port " + std::to_string(other.port) + " is already in use"), std::string::npos) << error.what();
    }
    EXPECT_THROW(CommandServer::open({.tcp = CommandServerOptions::Tcp{"nowhere", 1}}, run), Error);
}

TEST_F(CommandServerTest, MakesASocketOfItsOwnAndRemovesIt) {
    const std::string path = testing::TempDir() + "castile-command-" + std::to_string(::getpid()) + ".sock";
    {
        std::ofstream(path) << "precious";
        EXPECT_THROW(open({.socket_path = path}), Error);   // no socket: left alone
        EXPECT_TRUE(std::filesystem::is_regular_file(path));
        std::filesystem::remove(path);
    }
    open({.socket_path = path, .permissions = 0620});
    struct stat info {};
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0620u);
    EXPECT_THROW(CommandServer::open({.tcp = std::nullopt, .socket_path = path}, run), Error);   // in use
    const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(::connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    Peer peer(descriptor);
    peer.send("echo local\nlater x\nexit\n");
    EXPECT_EQ(peer.read_all(), "local\r\nEND\r\nx\r\nEND\r\nBye!\r\n");
    server_->close();
    EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace

}  // namespace castile
