#include "devices/jack_session.h"

#include <gtest/gtest.h>

#include <array>
#include <thread>
#include <vector>

#include "base/error.h"
#include "devices/jack_links.h"
#include "frame/ticks.h"

namespace castile::devices {
namespace {

using namespace std::chrono_literals;

/// The buffer of a port is what the port points to.
void* buffer_of(jack_port_t* port, jack_nframes_t) { return port; }

struct Server {
    explicit Server(JackKind kind, int rate = 44100) {
        set_stream_parameters({});
        library.port_get_buffer = buffer_of;
        session = std::make_unique<JackSession>(library, JackSession::Shape{.kind = kind, .channels = 2, .rate = rate, .period = 256, .capacity = 4096}, counters);
        for (auto& buffer : buffers) session->ports.push_back(reinterpret_cast<jack_port_t*>(buffer.data()));
        session->activated();
    }
    JackLibrary library;
    std::shared_ptr<JackCounters> counters = std::make_shared<JackCounters>();
    std::array<std::array<float, 256>, 2> buffers{};
    std::unique_ptr<JackSession> session;
};

void write(JackSession& session, std::size_t samples, float first) {
    std::vector<float> ramp(samples);
    for (std::size_t i = 0; i < samples; ++i) ramp[i] = first + static_cast<float>(i);
    const float* planes[] = {ramp.data(), ramp.data()};
    EXPECT_EQ(session.write(planes, samples), samples);
}

TEST(JackSession, PlaysWhatIsThereAndCountsWhatIsNot) {
    Server server(JackKind::playback);
    JackSession& s = *server.session;
    write(s, 400, 1);
    s.enable(true);
    s.process(256);
    EXPECT_EQ(server.buffers[1][255], 256.f);
    EXPECT_EQ(s.fill(), 144u);
    s.process(256);
    EXPECT_EQ(server.buffers[0][143], 400.f);
    EXPECT_EQ(server.buffers[0][144], 0.f);
    EXPECT_EQ(server.counters->missing, 112);
    s.enable(false);   // what is left is old when it begins again
    write(s, 100, 1);
    s.process(256);
    EXPECT_EQ(server.buffers[0][0], 0.f);
    EXPECT_EQ(s.fill(), 0u);
    EXPECT_EQ(server.counters->missing, 112);
}

TEST(JackSession, RecordsUntilItIsFull) {
    Server server(JackKind::capture);
    JackSession& s = *server.session;
    s.process(256);
    EXPECT_EQ(s.fill(), 0u);   // nobody wants it
    s.enable(true);
    for (int i = 0; i < 17; ++i) s.process(256);
    EXPECT_EQ(s.fill(), 4096u);
    EXPECT_EQ(server.counters->dropped, 256);
}

TEST(JackSession, AnOutputKeepsAPeriodMoreUnlessItsFramesAreWholePeriods) {
    EXPECT_EQ(Server(JackKind::playback).session->usual_fill(512), 512u);
    EXPECT_EQ(Server(JackKind::playback).session->usual_fill(882), 882u + 256u);
    Server other(JackKind::playback, 48000);
    EXPECT_EQ(other.session->in_server_samples(882), 960u);
    EXPECT_EQ(other.session->in_server_samples(1), 2u);
    EXPECT_GT(other.session->usual_fill(882), 960u + 256u);
    EXPECT_NE(other.session->resampler(), nullptr);
}

// The clock's thread sleeps until JACK's has brought, or taken, enough: every sample once, in order.
TEST(JackSession, EachWaitsForTheOther) {
    Server to(JackKind::playback), from(JackKind::capture);
    to.session->enable(true);
    from.session->enable(true);
    std::atomic<bool> over = false;
    std::atomic<std::size_t> read = 0;
    std::thread jack([&] {
        for (std::size_t made = 0; !over;) {
            if (made > read + 3000) {   // a server of much patience: nothing is dropped, however busy the machine
                std::this_thread::yield();
                continue;
            }
            to.session->process(256);
            from.buffers = to.buffers;
            from.session->process(256);
            made += 256;
            std::this_thread::sleep_for(100us);
        }
    });
    std::vector<float> left(4096), right(4096);
    float* planes[] = {left.data(), right.data()};
    float last = 0;
    int wrong = 0;
    for (int frame = 0; last < 60'000.f; ++frame) {
        write(*to.session, 882, static_cast<float>(1 + frame * 882));
        EXPECT_TRUE(to.session->wait(882));
        EXPECT_TRUE(from.session->wait(256));
        const std::size_t n = from.session->read(planes, 4096);
        read += n;
        for (std::size_t i = 0; i < n; ++i) {
            if (left[i] == 0.f) continue;   // silence: this thread was late
            wrong += left[i] != last + 1 || right[i] != left[i];
            last = left[i];
        }
    }
    over = true;
    jack.join();
    EXPECT_EQ(from.counters->dropped, 0);
    EXPECT_EQ(wrong, 0);
}

TEST(JackSession, AWaitEndsWhenTheServerIsGone) {
    Server server(JackKind::capture);
    std::thread jack([&] {
        std::this_thread::sleep_for(20ms);
        server.session->lose();
    });
    EXPECT_FALSE(server.session->wait(100));
    EXPECT_FALSE(server.session->running());
    jack.join();
}

TEST(JackSession, AWaitEndsWhenTheServerStandsStill) {
    Server server(JackKind::capture);
    EXPECT_TRUE(server.session->running());
    const Instant begun = system_time().now();
    EXPECT_FALSE(server.session->wait(100));   // nobody calls process()
    EXPECT_GE(system_time().now() - begun, 900ms);
    EXPECT_FALSE(server.session->running());
    server.session->process(256);
    EXPECT_TRUE(server.session->running());
}

TEST(JackServer, NamesThatServersTake) {
    JackLibrary library;
    library.client_name_size = [] { return 16; };
    EXPECT_EQ(jack_name(library, "a:b"), "a_b");
    EXPECT_EQ(jack_name(library, "0123456789abc"), "0123456789");
    EXPECT_EQ(jack_name(library, "012345678é"), "012345678");
}

TEST(JackLinks, PairsPorts) {
    using Pairs = std::vector<std::pair<std::string, std::string>>;
    EXPECT_EQ(pair_ports({"a", "b"}, {"c", "d"}), (Pairs{{"a", "c"}, {"b", "d"}}));
    EXPECT_EQ(pair_ports({"a"}, {"c", "d"}), (Pairs{{"a", "c"}, {"a", "d"}}));
    EXPECT_EQ(pair_ports({"a", "b"}, {"c"}), (Pairs{{"a", "c"}, {"b", "c"}}));
    EXPECT_THROW(pair_ports({"a", "b"}, {"c", "d", "e"}), Error);
}

}  // namespace
}  // namespace castile::devices
