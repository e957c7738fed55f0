#include "net/mount.h"

#include <nlohmann/json.hpp>

#include "net/icy.h"
#include "net/station.h"
#include "net/test_peer.h"

namespace castile {

namespace {

class MountTest : public NetTest {
protected:
    std::shared_ptr<Mount> make(MountOptions options) {
        options.port = port_;
        options.path = "/x";
        auto mount = Mount::create(std::move(options), Logger("test"));
        mount->open();
        return mount;
    }
    // A tick of 0.1 s with 100 bytes whose content says where they are.
    void tick(Mount& mount, int number) {
        std::string data = fmt::format("<{:08d}>", number) + std::string(90, static_cast<char>('a' + number % 26));
        mount.append({reinterpret_cast<const std::uint8_t*>(data.data()), data.size()});
        mount.advance(0.1);
        flushed(mount);
    }
    static void flushed(Mount& mount) { mount.flush(); }
    Peer listen(const std::string& headers = "") {
        Peer peer = Peer::connect(port_);
        peer.send("GET /x HTTP/1.1\r\nHost: h\r\n" + headers + "\r\n");
        head_ = peer.read_until("\r\n\r\n");
        return peer;
    }
    const unsigned short port_ = free_port();
    std::string head_;
};

TEST_F(MountTest, ALateListenerGetsTheHeaderAndABurstInSeconds) {
    MountOptions options;
    options.burst_seconds = 1;
    options.name = "Radio \u00e9";
    const auto mount = make(options);
    mount->set_header(make_bytes(std::vector<std::uint8_t>{'H', 'E', 'A', 'D'}));
    for (int i = 0; i < 50; ++i) tick(*mount, i);
    Peer peer = listen();
    EXPECT_TRUE(head_.starts_with("HTTP/1.1 200 OK\r\n")) << head_;
    EXPECT_NE(head_.find("icy-name: Radio \u00e9\r\n"), head_.npos);
    EXPECT_NE(head_.find("Access-Control-Allow-Origin: *\r\n"), head_.npos);
    EXPECT_EQ(head_.find("icy-metaint"), head_.npos);
    EXPECT_EQ(peer.read(14), "HEAD<00000040>");
    peer.read(990);
    tick(*mount, 50);
    EXPECT_EQ(peer.read(10), "<00000050>");
    EXPECT_TRUE(wait_for([&] { return mount->status().listeners == 1; }));
    peer.close();
    EXPECT_TRUE(wait_for([&] { return mount->status().listeners == 0; }));
    mount->close();
}

TEST_F(MountTest, TitlesComeWhereTheyStandInTheStream) {
    MountOptions options;
    options.metaint = 64;
    options.burst_seconds = 0;
    const auto mount = make(options);
    tick(*mount, 0);
    Peer peer = listen("Icy-MetaData: 1\r\n");
    EXPECT_NE(head_.find("icy-metaint: 64\r\n"), head_.npos);
    ASSERT_TRUE(wait_for([&] { return mount->status().listeners == 1; }));
    mount->set_title("A", "one", "A - one");
    for (int i = 1; i <= 100; ++i) {
        if (i == 60) mount->set_title("A", "two", "A - two");
        tick(*mount, i);
    }
    mount->close();
    const std::string received = peer.read_all();
    std::string audio;
    std::vector<std::pair<std::size_t, std::string>> titles;
    IcyReader reader(64);
    reader.feed({reinterpret_cast<const std::uint8_t*>(received.data()), received.size()},
                [&](ByteSpan data) { audio.append(reinterpret_cast<const char*>(data.data()), data.size()); },
                [&](std::string_view title) { titles.emplace_back(audio.size(), title); });
    ASSERT_EQ(audio.size(), 10000u);
    for (int i = 1; i <= 100; ++i) EXPECT_EQ(audio.substr(static_cast<std::size_t>(i - 1) * 100, 10), fmt::format("<{:08d}>", i));
    ASSERT_EQ(titles.size(), 2u);
    EXPECT_EQ(titles[0], (std::pair<std::size_t, std::string>{64, "A - one"}));
    EXPECT_EQ(titles[1], (std::pair<std::size_t, std::string>{5952, "A - two"}));  // the first block at or after byte 5,900
}

TEST_F(MountTest, AListenerThatStopsReadingIsDroppedAndTheOthersGoOn) {
    MountOptions options;
    options.buffer_bytes = 20000;
    options.burst_seconds = 0;
    const auto mount = make(options);
    tick(*mount, 0);
    Peer good = listen();
    Peer stuck = Peer::connect(port_, 2048);
    stuck.send("GET /x HTTP/1.0\r\n\r\n");
    ASSERT_TRUE(wait_for([&] { return mount->status().listeners == 2; }));
    std::string block(5000, 'z');
    std::size_t sent = 0;
    for (int i = 0; i < 20000 && mount->status().listeners == 2; ++i) {  // the kernel's buffers fill first
        mount->append({reinterpret_cast<const std::uint8_t*>(block.data()), block.size()});
        mount->advance(0.1);
        flushed(*mount);
        sent += block.size();
        EXPECT_EQ(good.read(block.size()).size(), block.size());
    }
    EXPECT_EQ(mount->status().listeners, 1);
    EXPECT_EQ(mount->status().dropped_listeners, 1u);
    EXPECT_LT(sent, 100'000'000u);
    tick(*mount, 7);
    EXPECT_EQ(good.read(10), "<00000007>");
    mount->close();
}

TEST_F(MountTest, AsksWhoMayListen) {
    MountOptions options;
    options.authorise = [](const std::string& user, const std::string& password, const std::string&, std::function<void(bool)> answer) {
        answer(user == "u" && password == "p");
    };
    const auto mount = make(options);
    tick(*mount, 0);
    Peer nobody = listen();
    EXPECT_TRUE(head_.starts_with("HTTP/1.1 401")) << head_;
    EXPECT_NE(head_.find("WWW-Authenticate: Basic"), head_.npos);
    Peer wrong = listen("Authorization: Basic dTp4\r\n");
    EXPECT_TRUE(head_.starts_with("HTTP/1.1 401")) << head_;
    Peer right = listen("Authorization: Basic dTpw\r\n");
    EXPECT_TRUE(head_.starts_with("HTTP/1.1 200")) << head_;
    mount->close();
}

TEST_F(MountTest, ThePageShowsWhatIsOn) {
    MountOptions options;
    options.name = "Station";
    const auto mount = make(options);
    mount->set_title("Artist", "Title \xff", "Artist - Title");  // an invalid byte must not break the JSON
    tick(*mount, 0);
    const auto status = nlohmann::json::parse(station_status_json(port_));
    EXPECT_EQ(status["station"]["name"], "Station");
    EXPECT_EQ(status["mounts"][0]["artist"], "Artist");
    EXPECT_EQ(status["mounts"][0]["on_air"], true);
    const auto icecast = nlohmann::json::parse(icecast_status_json(port_, "h:1"));
    EXPECT_EQ(icecast["icestats"]["source"]["title"], "Artist - Title");
    EXPECT_EQ(icecast["icestats"]["source"]["listenurl"], "http://h:1/x");

    Peer page = Peer::connect(port_);
    page.send("GET / HTTP/1.0\r\n\r\n");
    EXPECT_NE(page.read_all().find("<!doctype html>"), std::string::npos);
    Peer events = Peer::connect(port_);
    events.send("GET /api/events HTTP/1.1\r\n\r\n");
    EXPECT_NE(events.read_until("\n\n").find("text/event-stream"), std::string::npos + 1);
    events.read_until("event: status\ndata: ");
    EXPECT_EQ(nlohmann::json::parse(events.read_until("\n\n"))["listeners"], 0);
    ASSERT_TRUE(wait_for([&] { return mount->meter().watched(); })) << "levels are measured once somebody watches";
    const std::vector<float> loud(100, 0.5f), soft(100, -0.25f);
    mount->meter().add(0, loud);
    mount->meter().add(1, soft);
    events.read_until("event: levels\ndata: ");
    const auto levels = nlohmann::json::parse(events.read_until("\n\n"));
    EXPECT_DOUBLE_EQ(levels["/x"]["peak"][0].get<double>(), 0.5);
    EXPECT_DOUBLE_EQ(levels["/x"]["rms"][1].get<double>(), 0.25);
    mount->close();
}

}  // namespace

}  // namespace castile
