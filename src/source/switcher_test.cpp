#include "source/switcher.h"

#include <gtest/gtest.h>

#include "sched/manual_time.h"
#include "sched/scheduler.h"
#include "source/ramp.h"
#include "source/silence.h"

namespace castile {
namespace {

using namespace std::chrono_literals;
using test::Collector;
using test::Ramp;

class Switchers : public ::testing::Test {
protected:
    void SetUp() override { set_stream_parameters({}); set_scheduler(&scheduler_); }
    void TearDown() override { stop_clocks(); set_scheduler(nullptr); }
    void play(SourcePtr source, Duration d) {
        out = std::make_shared<Collector>(std::move(source), true);
        attach_output(out);
        start_clocks(scheduler_);
        run(d);
    }
    void run(Duration d) { scheduler_.run_simulated(time_.now() + d); }
    ManualTime time_;
    Scheduler scheduler_{{}, time_};
    std::shared_ptr<Collector> out;
};

constexpr std::int64_t second_ramp = 1 << 20;

std::function<bool()> no() { return [] { return false; }; }

TEST_F(Switchers, GoesOnToTheNextOnTheExactSample) {
    auto a = std::make_shared<Ramp>(Ticks{}, Ticks{1000}), b = std::make_shared<Ramp>(Ticks{}, Ticks{}, second_ramp);
    play(std::make_shared<Switcher>("fallback", std::vector<Switcher::Child>{{.source = a}, {.source = b}}), 1s);
    EXPECT_TRUE(out->is_ramp_from(0, 0, 1000));
    EXPECT_TRUE(out->is_ramp_from(second_ramp, 1000));
    EXPECT_EQ(out->marks, (std::vector<std::int64_t>{0, 1000}));
    EXPECT_EQ(out->samples.size() % 882, 0u);
}

TEST_F(Switchers, ComesBackAtTheTrackBoundaryAndLosesNothing) {
    auto a = std::make_shared<Ramp>(Ticks{}, Ticks{1000}), b = std::make_shared<Ramp>(Ticks{5000}, Ticks{}, second_ramp);
    auto fallback = std::make_shared<Switcher>("fallback", std::vector<Switcher::Child>{{.source = a}, {.source = b}});
    play(fallback, 1s);
    const auto reached = static_cast<std::int64_t>(out->samples.size());
    a->refill(Ticks{2000});
    run(1s);
    // b plays its track to the end, then a its 2000 samples, then b goes on where it was.
    const std::int64_t boundary = 1000 + (reached - 1000 + 4999) / 5000 * 5000;
    const auto at = static_cast<std::size_t>(boundary);
    ASSERT_GT(out->samples.size(), at + 3000);
    EXPECT_TRUE(out->is_ramp_from(second_ramp, 1000, at));
    EXPECT_TRUE(out->is_ramp_from(1000, at, at + 2000));
    EXPECT_TRUE(out->is_ramp_from(second_ramp + boundary - 1000, at + 2000));
}

TEST_F(Switchers, CutsInWhenOneSideIsNotTrackSensitive) {
    auto live = std::make_shared<Ramp>(), music = std::make_shared<Ramp>(Ticks{}, Ticks{}, second_ramp);
    live->available = false;
    auto fallback = std::make_shared<Switcher>("fallback", std::vector<Switcher::Child>{{.source = live, .track_sensitive = no()}, {.source = music}});
    play(fallback, 1s);
    EXPECT_EQ(fallback->selected(), music);
    const std::size_t cut = out->samples.size();
    live->available = true;
    run(1s);
    EXPECT_EQ(fallback->selected(), live);
    const std::size_t back = out->samples.size();
    live->available = false;
    run(1s);
    EXPECT_TRUE(out->is_ramp_from(second_ramp, 0, cut));
    EXPECT_TRUE(out->is_ramp_from(0, cut, back));
    EXPECT_TRUE(out->is_ramp_from(second_ramp + static_cast<std::int64_t>(cut), back));  // it resumes: no sample is lost
    EXPECT_EQ(out->marks, (std::vector<std::int64_t>{0, static_cast<std::int64_t>(cut), static_cast<std::int64_t>(back)}));
    // The title of the track that is resumed is given again.
    EXPECT_EQ(out->titles, (std::vector<std::string>{"track 0", "track 0", "track 0"}));
    EXPECT_EQ(out->title_positions, out->marks);
    EXPECT_EQ(music->skips, 0);
}

TEST_F(Switchers, ReplaysNoMetadataWhenToldSo) {
    auto live = std::make_shared<Ramp>(), music = std::make_shared<Ramp>();
    live->available = false;
    play(std::make_shared<Switcher>("fallback", std::vector<Switcher::Child>{{.source = live, .track_sensitive = no()},
                                                                             {.source = music, .replay_metadata = no()}}), 1s);
    live->available = true;
    run(1s);
    live->available = false;
    run(1s);
    EXPECT_EQ(out->titles.size(), 2u);
    EXPECT_EQ(out->marks.size(), 3u);
}

TEST_F(Switchers, SkipsAnInterruptedTrackAndTellsWhoWasLeft) {
    auto live = std::make_shared<Ramp>(), music = std::make_shared<Ramp>();
    live->available = false;
    std::vector<bool> left;
    play(std::make_shared<Switcher>("fallback", std::vector<Switcher::Child>{
             {.source = live, .track_sensitive = no()},
             {.source = music, .skip_interrupted = true, .on_leave = [&](const SourcePtr&, bool boundary) { left.push_back(boundary); }}}), 1s);
    live->available = true;
    run(1s);
    EXPECT_EQ(music->skips, 1);
    EXPECT_EQ(left, (std::vector<bool>{false}));
}

TEST_F(Switchers, PredicatesChooseAtBoundaries) {
    bool morning = true;
    auto a = std::make_shared<Ramp>(Ticks{3000}), b = std::make_shared<Ramp>(Ticks{3000}, Ticks{}, second_ramp);
    auto sw = std::make_shared<Switcher>("switch", std::vector<Switcher::Child>{{.source = a, .available = [&] { return morning; }}, {.source = b}});
    EXPECT_FALSE(sw->fallible());  // b may always play
    play(sw, 1s);
    const auto reached = static_cast<std::int64_t>(out->samples.size());
    morning = false;
    run(1s);
    const auto boundary = static_cast<std::size_t>((reached + 2999) / 3000 * 3000);
    EXPECT_TRUE(out->is_ramp_from(0, 0, boundary));
    EXPECT_TRUE(out->is_ramp_from(second_ramp, boundary));
}

TEST_F(Switchers, ASingleSourceNeverPlaysTwiceInARow) {
    auto a = std::make_shared<Ramp>(Ticks{2000}), b = std::make_shared<Ramp>(Ticks{3000}, Ticks{}, second_ramp);
    play(std::make_shared<Switcher>("switch", std::vector<Switcher::Child>{{.source = a, .single = true}, {.source = b}}), 1s);
    EXPECT_TRUE(out->is_ramp_from(0, 0, 2000));
    EXPECT_TRUE(out->is_ramp_from(second_ramp, 2000, 5000));
    EXPECT_TRUE(out->is_ramp_from(2000, 5000, 7000));
    EXPECT_TRUE(out->is_ramp_from(second_ramp + 3000, 7000, 10000));
}

TEST_F(Switchers, IsFallibleWhenAllAre) {
    auto a = std::make_shared<Ramp>(Ticks{}, Ticks{10}), b = std::make_shared<Ramp>(Ticks{}, Ticks{10});
    EXPECT_TRUE(Switcher("fallback", {{.source = a}, {.source = b}}).fallible());
    EXPECT_FALSE(Switcher("mksafe", {{.source = a}, {.source = std::make_shared<Silence>("blank")}}).fallible());
}

TEST_F(Switchers, SafeWithSilence) {
    auto a = std::make_shared<Ramp>(Ticks{}, Ticks{1000});
    play(std::make_shared<Switcher>("mksafe", std::vector<Switcher::Child>{{.source = a, .track_sensitive = no()}, {.source = std::make_shared<Silence>("safe_blank")}}), 1s);
    const std::size_t back = out->samples.size();
    EXPECT_TRUE(std::all_of(out->samples.begin() + 1000, out->samples.end(), [](float s) { return s == 0; }));
    a->refill(Ticks{100000});
    run(1s);
    EXPECT_TRUE(out->is_ramp_from(1000, back));
}

/// Two inputs side by side: what add does, without the weights.
class Both : public Source {
public:
    Both(SourcePtr a, SourcePtr b) : Source("both") {
        add_input(std::move(a), true);
        add_input(std::move(b), true);
    }

protected:
    bool can_generate() noexcept override { return inputs()[0]->ready() || inputs()[1]->ready(); }
    void generate(Frame& out, Ticks) noexcept override {
        if (inputs()[0]->ready()) inputs()[0]->frame();
        if (inputs()[1]->ready()) out = inputs()[1]->frame();
    }
};

TEST_F(Switchers, TransitionsHearWhatIsLeftForAWhile) {
    auto live = std::make_shared<Ramp>(), music = std::make_shared<Ramp>(Ticks{}, Ticks{}, second_ramp);
    live->available = false;
    std::vector<bool> endings;
    bool left = false;
    auto fallback = std::make_shared<Switcher>("fallback", std::vector<Switcher::Child>{
        {.source = live, .track_sensitive = no(), .transition = [&](const SourcePtr& ending, const SourcePtr& starting) -> SourcePtr {
             endings.push_back(ending != nullptr);
             return ending ? std::make_shared<Both>(ending, starting) : starting;
         }},
        {.source = music, .on_leave = [&](const SourcePtr&, bool) { left = true; }}});
    fallback->transition_length = 0.5;
    play(fallback, 1s);
    live->available = true;
    const std::int64_t before = music->made;
    run(300ms);
    EXPECT_FALSE(left);  // still heard
    run(2s);
    EXPECT_TRUE(left);
    EXPECT_NEAR(static_cast<double>(music->made - before), 22050, 2000);
    EXPECT_EQ(endings, (std::vector<bool>{true}));
    EXPECT_TRUE(out->is_ramp_from(0, static_cast<std::size_t>(before)));
    const std::size_t sources = all_sources().size();
    for (int i = 0; i < 5; ++i) {  // nothing stays behind
        live->available = false;
        run(1s);
        live->available = true;
        run(1s);
    }
    EXPECT_EQ(all_sources().size(), sources);
}

TEST_F(Switchers, AFailingTransitionIsNone) {
    auto live = std::make_shared<Ramp>(), music = std::make_shared<Ramp>();
    live->available = false;
    play(std::make_shared<Switcher>("fallback", std::vector<Switcher::Child>{
             {.source = live, .track_sensitive = no(), .transition = [](const SourcePtr&, const SourcePtr&) -> SourcePtr { throw Error("on purpose"); }},
             {.source = music}}), 1s);
    const std::size_t cut = out->samples.size();
    live->available = true;
    run(1s);
    EXPECT_TRUE(out->is_ramp_from(0, cut));
}

}  // namespace
}  // namespace castile
