#include "source/source.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/test_allocations.h"
#include "sched/manual_time.h"
#include "sched/scheduler.h"
#include "source/output.h"
#include "source/ramp.h"

namespace castile {
namespace {

using namespace std::chrono_literals;
using test::Collector;
using test::Ramp;

/// Passes its input through.
class Through : public Source {
public:
    explicit Through(SourcePtr input) : Source("through") { add_input(std::move(input), true); }
    bool fallible() const noexcept override { return inputs()[0]->fallible(); }

protected:
    bool can_generate() noexcept override { return inputs()[0]->ready(); }
    void generate(Frame& out, Ticks) noexcept override { out = inputs()[0]->frame(); }
};

class Sources : public ::testing::Test {
protected:
    void SetUp() override { set_stream_parameters({}); set_scheduler(&scheduler_); }
    void TearDown() override { stop_clocks(); set_scheduler(nullptr); }
    void run(Duration d) { scheduler_.run_simulated(time_.now() + d); }
    ManualTime time_;
    Scheduler scheduler_{{}, time_};
};

const Ticks frame_size{882};

TEST_F(Sources, MakesOneFrameATickForAllReaders) {
    auto ramp = std::make_shared<Ramp>();
    auto a = std::make_shared<Through>(ramp), b = std::make_shared<Through>(ramp);
    EXPECT_EQ(a->clock(), b->clock());
    auto x = std::make_shared<Collector>(a, false), y = std::make_shared<Collector>(b, false);
    attach_output(x);
    attach_output(y);
    start_clocks(scheduler_);
    run(1s);
    EXPECT_TRUE(x->is_ramp_from(0));
    EXPECT_TRUE(y->is_ramp_from(0));
    EXPECT_EQ(x->samples.size(), y->samples.size());
    EXPECT_EQ(ramp->made, static_cast<std::int64_t>(x->samples.size()));
    EXPECT_EQ(x->started_count, 1);
}

TEST_F(Sources, WhatIsNotConsumedComesFirstInTheNextTick) {
    auto ramp = std::make_shared<Ramp>();
    ramp->wake_up();
    const auto clock = ramp->clock();
    clock->tick();
    EXPECT_EQ(ramp->peek_frame().length(), frame_size);
    ramp->consume(Ticks{300});
    clock->tick();
    clock->tick();  // nobody reads: nothing is lost
    const Frame& frame = ramp->frame();
    EXPECT_EQ(frame.length(), frame_size);
    const auto samples = frame.pcm("audio")->channel(0);
    for (int i = 0; i < 882; ++i) ASSERT_EQ(samples[i], Ramp::value(300 + i));
    clock->tick();
    EXPECT_EQ(ramp->frame().pcm("audio")->channel(0)[0], Ramp::value(300 + 882));
    clock->tick();
    ramp->peek_frame();  // peeked only: all of it stays
    clock->tick();
    EXPECT_EQ(ramp->frame().pcm("audio")->channel(0)[0], Ramp::value(300 + 2 * 882));
    ramp->sleep();
}

TEST_F(Sources, MarksAndMetadataMoveWithWhatIsLeft) {
    auto ramp = std::make_shared<Ramp>(Ticks{500});  // tracks of 500 ticks
    int tracks = 0;
    std::vector<std::string> titles;
    ramp->on_track([&](const MetadataPtr& m) { ++tracks; EXPECT_FALSE(m->empty()); });
    ramp->on_metadata([&](const MetadataPtr& m) { titles.push_back(m->get("title")); });
    ramp->wake_up();
    const auto clock = ramp->clock();
    clock->tick();
    ramp->peek_frame();
    ramp->consume(Ticks{400});
    clock->tick();
    const Frame& frame = ramp->frame();
    ASSERT_EQ(frame.track_marks(), (std::vector<Ticks>{Ticks{100}, Ticks{600}}));
    ASSERT_EQ(frame.metadata().size(), 2u);
    EXPECT_EQ(frame.metadata()[0].position, Ticks{100});
    EXPECT_EQ(tracks, 3);  // each once, although the second was in two frames
    EXPECT_EQ(titles, (std::vector<std::string>{"track 0", "track 1", "track 2"}));
    EXPECT_EQ(ramp->last_metadata()->get("title"), "track 2");
    EXPECT_NEAR(ramp->elapsed().value(), (882 + 400 - 1000) / 44100., 1e-9);
    ramp->sleep();
}

TEST_F(Sources, InsertedMetadataGoesOutOnce) {
    auto ramp = std::make_shared<Ramp>();
    auto out = std::make_shared<Collector>(std::make_shared<Through>(ramp), false);
    attach_output(out);
    start_clocks(scheduler_);
    run(1s);
    Metadata m;
    m.set("title", "inserted");
    out->marks.clear();
    ramp->insert_metadata_next(std::make_shared<const Metadata>(m), true);
    run(1s);
    EXPECT_EQ(out->titles, (std::vector<std::string>{"track 0", "inserted"}));
    EXPECT_EQ(out->marks.size(), 1u);
}

TEST_F(Sources, ActivationsAreCounted) {
    auto ramp = std::make_shared<Ramp>();
    int woken = 0, slept = 0;
    ramp->on_wake_up_do([&] { ++woken; });
    ramp->on_sleep_do([&] { ++slept; });
    auto a = std::make_shared<Through>(ramp), b = std::make_shared<Through>(ramp);
    a->wake_up();
    b->wake_up();
    a->sleep();
    EXPECT_TRUE(ramp->awake());
    b->sleep();
    EXPECT_FALSE(ramp->awake());
    EXPECT_EQ(woken, 1);
    EXPECT_EQ(slept, 1);
}

TEST_F(Sources, IdsAreUnique) {
    auto a = std::make_shared<Ramp>(), b = std::make_shared<Ramp>();
    a->set_id("radio");
    b->set_id("radio");
    EXPECT_EQ(a->id(), "radio");
    EXPECT_EQ(b->id(), "radio.1");
    b.reset();
    auto c = std::make_shared<Ramp>();
    c->set_id("radio");
    EXPECT_EQ(c->id(), "radio.1");
}

TEST_F(Sources, ContentIsNegotiated) {
    auto a = std::make_shared<Ramp>(), b = std::make_shared<Ramp>();
    require_content(a->content(), "audio", {ContentFormat::Kind::pcm, 1});
    unify_content(a->content(), b->content());
    EXPECT_EQ(content_format(b->content(), "audio").channels, 1);
    EXPECT_THROW(require_content(b->content(), "audio", {ContentFormat::Kind::pcm, 2}), Error);
    EXPECT_THROW(require_content(b->content(), "audio", {ContentFormat::Kind::packets, 0}), Error);
    EXPECT_NO_THROW(require_content(b->content(), "audio", {ContentFormat::Kind::none, 0}));
    auto c = std::make_shared<Ramp>();
    EXPECT_EQ(content_format(c->content(), "audio").channels, 2);
    forbid_other_fields(c->content());
    EXPECT_THROW(require_content(c->content(), "video", {}), Error);
}

TEST_F(Sources, OutputsRefuseFallibleSources) {
    auto ramp = std::make_shared<Ramp>(Ticks{}, Ticks{1000});
    EXPECT_TRUE(ramp->fallible());
    try {
        Collector out(ramp, false);
        FAIL();
    } catch (const Error& e) {
        EXPECT_STREQ(e.what(), "That source is fallible.");
    }
}

TEST_F(Sources, AFallibleOutputStopsWithItsSource) {
    auto ramp = std::make_shared<Ramp>(Ticks{}, Ticks{44100});
    auto out = std::make_shared<Collector>(ramp, true);
    attach_output(out);
    start_clocks(scheduler_);
    run(500ms);
    EXPECT_TRUE(out->started());
    run(2s);
    EXPECT_FALSE(out->started());
    EXPECT_EQ(out->stopped_count, 1);
    EXPECT_EQ(out->samples.size(), 44100u);
    EXPECT_TRUE(out->is_ramp_from(0));
}

TEST_F(Sources, AnOutputThatCannotStartLeavesTheOthers) {
    auto ramp = std::make_shared<Ramp>();
    auto bad = std::make_shared<Collector>(ramp, false), good = std::make_shared<Collector>(ramp, false);
    bad->refuse = true;
    attach_output(bad);
    attach_output(good);
    start_clocks(scheduler_);
    run(1s);
    EXPECT_TRUE(good->is_ramp_from(0));
    EXPECT_GT(good->samples.size(), 44100u);
    EXPECT_TRUE(bad->samples.empty());
    EXPECT_EQ(bad->started_count, 1);
    bad->refuse = false;
    bad->request_start();
    run(1s);
    EXPECT_FALSE(bad->samples.empty());
    bad->request_stop();
    run(1s);
    EXPECT_EQ(bad->stopped_count, 1);
}

TEST_F(Sources, APlainChainAllocatesNothing) {
    SourcePtr source = std::make_shared<Ramp>();
    for (int i = 0; i < 5; ++i) source = std::make_shared<Through>(source);
    auto out = std::make_shared<Collector>(source, false);
    out->keep = false;
    const auto clock = out->clock();
    attach_output(out);
    for (int i = 0; i < 10; ++i) clock->tick();
    const long before = test::thread_allocations;
    for (int i = 0; i < 1000; ++i) clock->tick();
    EXPECT_EQ(test::thread_allocations - before, 0);
    EXPECT_GT(out->frames, 1000);
    clock->detach(*out);
    clock->tick();
}

TEST_F(Sources, DumpNamesThem) {
    auto ramp = std::make_shared<Ramp>();
    ramp->set_id("tone");
    auto out = std::make_shared<Collector>(ramp, false);
    out->set_id("sink");
    attach_output(out);
    start_clocks(scheduler_);
    run(10ms);
    EXPECT_NE(dump_clocks().find("· sink (ticks: 5, time: 0.10s, self_sync: false)\n  ├── outputs: sink [sink]\n  ├── active sources:\n  └── passive sources: tone [sink]"), std::string::npos) << dump_clocks();
}

}  // namespace
}  // namespace castile
