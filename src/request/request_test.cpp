#include "request/request.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>

#include "request/feed.h"
#include "sched/manual_time.h"
#include "sched/scheduler.h"

namespace castile {
namespace {

using namespace std::chrono_literals;

class Requests : public testing::Test {
protected:
    Requests() : folder_(std::filesystem::temp_directory_path() / ("castile_request_test_" + std::to_string(getpid()))) {
        std::filesystem::create_directories(folder_);
        set_scheduler(&scheduler_);
    }
    ~Requests() override {
        set_scheduler(nullptr);
        std::filesystem::remove_all(folder_);
    }
    std::string path(const std::string& name) const { return (folder_ / name).string(); }

    // A WAV file of silence at the engine's rate.
    std::string wav(const std::string& name, std::uint32_t samples) {
        std::ofstream file(path(name), std::ios::binary);
        const auto number = [&](std::uint32_t value, int bytes) {
            for (int i = 0; i < bytes; ++i) file.put(static_cast<char>(value >> (8 * i)));
        };
        file << "RIFF", number(36 + samples * 4, 4), file << "WAVEfmt ";
        number(16, 4), number(1, 2), number(2, 2), number(44100, 4), number(44100 * 4, 4), number(4, 2), number(16, 2);
        file << "data", number(samples * 4, 4);
        for (std::uint32_t i = 0; i < samples; ++i) number(0, 4);
        return path(name);
    }
    void run(Duration by) { scheduler_.run_simulated(time_.now() + by); }

    std::filesystem::path folder_;
    ManualTime time_;
    Scheduler scheduler_{{}, time_};
};

TEST_F(Requests, ResolvesAnnotationsAboveTags) {
    const std::string file = wav("a.wav", 44100);
    const RequestPtr request = Request::create("annotate:title=\"A: \\\"b\\\"\",x=\"1\":" + file);
    EXPECT_EQ(request->state(), Request::State::idle);
    // The protocol is registered by another layer: this one stands for it.
    add_protocol({"annotate", "", "", [&](const std::string&, double) -> std::expected<ProtocolResult, Failure> {
                      return ProtocolResult{{file}, false, Metadata(std::vector<Metadata::Entry>{{"title", "A"}})};
                  }, {}});
    const auto resolved = request->resolve(5);
    ASSERT_TRUE(resolved) << resolved.error().message;
    EXPECT_EQ(request->state(), Request::State::ready);
    EXPECT_EQ(request->filename(), file);
    const Metadata m = request->metadata();
    EXPECT_EQ(m.get("title"), "A");
    EXPECT_EQ(m.get("filename"), file);
    EXPECT_EQ(m.get("rid"), std::to_string(request->id()));
    EXPECT_EQ(m.get("status"), "ready");
    EXPECT_EQ(m.get("temporary"), "false");
    auto decoder = request->take_decoder();
    ASSERT_TRUE(decoder);
    EXPECT_FALSE(request->take_decoder());
    EXPECT_EQ(decoder->read({441}, 2).samples(), 441u);
    EXPECT_TRUE(request->open_again());
}

TEST_F(Requests, FailuresNameTheTrouble) {
    std::ofstream(path("text.mp3")) << "This is not an MP3 file.\n";
    const auto failure = [&](const std::string& uri) {
        const auto resolved = Request::create(uri)->resolve(5);
        return resolved ? std::string("resolved") : resolved.error().message;
    };
    EXPECT_NE(failure("/no/such file.mp3").find("/no/such file.mp3"), std::string::npos);
    EXPECT_NE(failure("nothing:x").find("unknown protocol"), std::string::npos);
    EXPECT_NE(failure(path("text.mp3")).find("text.mp3"), std::string::npos);
    EXPECT_NE(failure(folder_.string()).find("folder"), std::string::npos);
    add_protocol({"loop", "", "", [](const std::string&, double) -> std::expected<ProtocolResult, Failure> { return ProtocolResult{{"loop:x"}}; }, {}});
    EXPECT_NE(failure("loop:x").find("Too many"), std::string::npos);
}

TEST_F(Requests, TemporaryFilesGoOnEveryPath) {
    const auto make = [&](bool good) {
        const std::string file = good ? wav("t.wav", 100) : path("t.txt");
        if (!good) std::ofstream(file) << "text";
        add_protocol({"temp", "", "", [file](const std::string&, double) -> std::expected<ProtocolResult, Failure> {
                          return ProtocolResult{{file}, true};
                      }, {}});
        return file;
    };
    std::string file = make(true);
    {
        const RequestPtr request = Request::create("temp:");
        ASSERT_TRUE(request->resolve(5));
        EXPECT_EQ(request->metadata().get("temporary"), "true");
        EXPECT_TRUE(std::filesystem::exists(file));
    }
    EXPECT_FALSE(std::filesystem::exists(file));
    file = make(true);
    const RequestPtr kept = Request::create("temp:", {.persistent = true});
    ASSERT_TRUE(kept->resolve(5));
    kept->destroy();
    EXPECT_TRUE(std::filesystem::exists(file));
    kept->destroy(true);
    EXPECT_FALSE(std::filesystem::exists(file));
    EXPECT_EQ(kept->state(), Request::State::destroyed);
    file = make(false);
    const RequestPtr bad = Request::create("temp:");
    EXPECT_FALSE(bad->resolve(5));
    bad->destroy();
    EXPECT_FALSE(std::filesystem::exists(file));
}

// Gives its URIs one by one, and counts how often it is asked.
class ListFeed : public RequestFeed {
public:
    ListFeed(FeedOptions options, std::vector<std::string> uris) : RequestFeed(options), uris_(uris.begin(), uris.end()) {}
    int asked = 0;
    std::vector<int> failures;

protected:
    RequestPtr pick() override {
        ++asked;
        if (uris_.empty()) return nullptr;
        RequestPtr next = Request::create(uris_.front());
        uris_.pop_front();
        return next;
    }
    void failed(const RequestPtr&, int in_a_row) override { failures.push_back(in_a_row); }

private:
    std::deque<std::string> uris_;
};

TEST_F(Requests, FeedPreparesAheadInOrder) {
    const std::string a = wav("a.wav", 100), b = wav("b.wav", 100), c = wav("c.wav", 100);
    const auto feed = std::make_shared<ListFeed>(FeedOptions{.prefetch = 2}, std::vector{a, path("missing"), b, c});
    run(1s);
    EXPECT_FALSE(feed->has_next());   // not started
    feed->start();
    run(1s);
    ASSERT_EQ(feed->prepared().size(), 2u);
    auto item = feed->take();
    ASSERT_TRUE(item);
    EXPECT_EQ(item->request->filename(), a);
    EXPECT_EQ(item->metadata->get("initial_uri"), a);
    run(1s);
    EXPECT_EQ(feed->prepared().size(), 1u);   // what was taken is not on the air yet
    feed->want();
    feed->finished(std::move(*item));
    run(1s);
    EXPECT_EQ(feed->take()->request->filename(), b);
    EXPECT_EQ(feed->take()->request->filename(), c);
    EXPECT_FALSE(feed->take());
    EXPECT_EQ(feed->failures, std::vector<int>{1});
}

TEST_F(Requests, FeedOfMissingFilesSlowsDown) {
    const auto feed = std::make_shared<ListFeed>(FeedOptions{}, std::vector<std::string>(10'000, path("missing")));
    feed->start();
    run(60s);
    EXPECT_GT(feed->asked, 10);
    EXPECT_LT(feed->asked, 75);
    feed->stop();
    const int before = feed->asked;
    run(60s);
    EXPECT_LE(feed->asked, before + 1);
}

TEST_F(Requests, FeedWithNothingWaitsToBeWoken) {
    const auto feed = std::make_shared<ListFeed>(FeedOptions{.retry_delay = std::nullopt}, std::vector<std::string>{});
    feed->start();
    run(10s);
    EXPECT_EQ(feed->asked, 1);
    feed->wake();
    run(10s);
    EXPECT_EQ(feed->asked, 2);
}

TEST_F(Requests, DroppedRequestsAreDestroyed) {
    const auto feed = std::make_shared<ListFeed>(FeedOptions{.prefetch = 3}, std::vector{wav("a.wav", 9), wav("b.wav", 9), wav("c.wav", 9)});
    feed->start();
    run(1s);
    const auto prepared = feed->prepared();
    ASSERT_EQ(prepared.size(), 3u);
    EXPECT_TRUE(feed->drop(prepared[1]->id()));
    EXPECT_FALSE(feed->drop(-5));
    EXPECT_EQ(prepared[1]->state(), Request::State::destroyed);
    feed->drop_all();
    EXPECT_EQ(prepared[0]->state(), Request::State::destroyed);
    EXPECT_FALSE(feed->has_next());
}

TEST_F(Requests, TheFeedLetsGoOfWhatIsDone) {
    std::weak_ptr<Request> weak;
    {
        const auto feed = std::make_shared<ListFeed>(FeedOptions{}, std::vector{wav("a.wav", 9)});
        feed->start();
        run(1s);
        auto item = feed->take();
        ASSERT_TRUE(item);
        weak = item->request;
        feed->finished(std::move(*item));
        run(2s);
    }
    EXPECT_TRUE(weak.expired());
}

}  // namespace
}  // namespace castile
