// Buffers between clocks that do and do not run alike, and operators with a clock of their own for their input.

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "base/error.h"
#include "lang/builtin.h"
#include "lang/diag.h"
#include "operators/rate_loop.h"
#include "operators/variable_resampler.h"
#include "sched/manual_time.h"
#include "sched/scheduler.h"
#include "script/values.h"
#include "source/frame_queue.h"
#include "source/ramp.h"

namespace castile {
namespace {

using namespace std::chrono_literals;
using lang::Value;
using test::Collector;
using test::Ramp;

constexpr double tone = 441;   // a hundred samples a period

/// A tone from a sound card whose clock runs at `rate` times ours.
class CardTone : public Source, public Active, public SyncSource {
public:
    explicit CardTone(double rate) : Source("card"), rate_(rate) { require_content(content(), "audio", {ContentFormat::Kind::pcm, 0}); }
    const std::string& name() const noexcept override { return id(); }
    bool blocks() const noexcept override { return false; }
    Instant due(Instant now) noexcept override {
        if (begin_ == Instant{}) begin_ = now;
        return begin_ + std::chrono::duration_cast<Duration>(std::chrono::duration<double>(to_seconds(Ticks{made}) / rate_));
    }
    SyncSource* sync_source() noexcept override { return this; }
    bool may_self_sync() const noexcept override { return true; }
    void collect_sync(SyncUses& uses) noexcept override { add_sync_uses(uses); }
    void tick() noexcept override { frame(); }
    const std::string& active_name() const noexcept override { return id(); }
    std::int64_t made = 0;

protected:
    bool can_generate() noexcept override { return true; }
    void generate(Frame& out, Ticks wanted) noexcept override {
        PcmBlock block(pcm_channels(), static_cast<std::size_t>(wanted.count));
        for (int c = 0; c < block.channels(); ++c) {
            auto samples = block.write(c);
            for (std::size_t i = 0; i < samples.size(); ++i)
                samples[i] = static_cast<float>(0.5 * std::sin(2 * std::numbers::pi * tone / 44100 * static_cast<double>(made + static_cast<std::int64_t>(i))));
        }
        out.track(Name("audio")) = std::move(block);
        out.set_length(wanted);
        made += wanted.count;
    }

private:
    const double rate_;
    Instant begin_{};
};

class Buffers : public testing::Test {
protected:
    Buffers() {
        set_stream_parameters({});
        set_scheduler(&scheduler_);
    }
    ~Buffers() override {
        stop_clocks();
        scheduler_.run_simulated(time_.now() + 1s);
        set_scheduler(nullptr);
    }
    static Value build(const std::string& name, std::vector<Value> arguments) {
        for (const lang::Builtin& builtin : lang::all_builtins())
            if (builtin.name == name) {
                EXPECT_EQ(builtin.params.size(), arguments.size()) << name;
                return builtin.closure(lang::BuiltinArgs(arguments, {}));
            }
        throw Error("no such operator");
    }
    static Value buffer(const SourcePtr& source, double seconds, double most) {
        return build("buffer", {Value::string("b"), Value::boolean(true), Value::floating(seconds), Value::boolean(true), Value::floating(most), Value::null(), Value::null(),
                                Value::boolean(true), Value::boolean(true), Value::boolean(true), script::to_value(source)});
    }
    static Value adaptative(const SourcePtr& source, double averaging = 30, double seconds = 1) {
        return build("buffer.adaptative", {Value::null(), Value::floating(averaging), Value::floating(seconds), Value::boolean(true), Value::floating(1.25), Value::floating(10),
                                           Value::null(), Value::null(), Value::boolean(true), Value::boolean(true), Value::boolean(false), Value::boolean(true),
                                           script::to_value(source)});
    }
    std::shared_ptr<Collector> play(const Value& source) {
        auto out = std::make_shared<Collector>(script::source_from_value(source), true);
        attach_output(out);
        start_clocks(scheduler_);
        return out;
    }
    static double query(const Value& source, const char* method) { return source.find_method(Name(method))->call().as_float(); }
    void run(Duration by) { scheduler_.run_simulated(time_.now() + by); }

    ManualTime time_;
    Scheduler scheduler_{{}, time_};
};

TEST(FrameQueue, GivesWhatItGot) {
    FrameQueue queue;
    std::int64_t written = 0, read = 0;
    const Name audio("audio");
    for (int round = 0; round < 200; ++round) {
        Frame in;
        const std::size_t length = static_cast<std::size_t>(1 + round * 37 % 900);
        PcmBlock block(1, length);
        for (float& sample : block.write(0)) sample = Ramp::value(written++);
        in.track(audio) = std::move(block);
        in.set_length(Ticks{static_cast<std::int64_t>(length)});
        in.track_marks().push_back(Ticks{0});
        queue.push(in);
        if (round % 50 == 49) {
            queue.drop_front(Ticks{100});
            read += 100;
        }
        Frame out;
        queue.pop(out, Ticks{round % 3 == 0 ? 300 : 500});
        const PcmBlock* pcm = out.pcm(audio);
        if (!pcm) continue;
        for (const float sample : pcm->channel(0)) ASSERT_EQ(sample, Ramp::value(read++));
        EXPECT_EQ(static_cast<std::int64_t>(pcm->samples()), out.length().count);
    }
    EXPECT_EQ(queue.length().count, written - read);
    queue.clear();
    EXPECT_EQ(queue.length().count, 0);
}

TEST(RateLoop, LearnsADriftAndHoldsTheLength) {
    castile::operators::RateLoop loop(1, 30, 1.25);
    double length = 1.05, least = 9, most = 0;
    for (int i = 0; i < 50 * 1200; ++i) {  // frames of 20 ms; bursts of 4 frames come in, the card is 0.1 % fast
        if (i % 4 == 0) length += 0.08 * 1.001;
        length -= 0.02 * loop.update(length, 0.02);
        least = std::min(least, length);
        most = std::max(most, length);
    }
    EXPECT_NEAR(loop.speed(), 1.001, 1e-5);
    EXPECT_NEAR(loop.length(), 1, 0.003);
    EXPECT_GT(least, 0.9);
    EXPECT_LT(most, 1.2);
}

TEST_F(Buffers, TwoClocksOfTheComputerLoseNothing) {
    const auto ramp = std::make_shared<Ramp>(Ticks{100'000});
    const Value b = buffer(ramp, 1, 10);
    const auto out = play(b);
    EXPECT_NE(ramp->clock(), out->clock());
    run(60s);
    EXPECT_GT(out->samples.size(), 58u * 44100);
    EXPECT_LT(out->samples.size(), 60u * 44100);
    EXPECT_TRUE(out->is_ramp_from(0));
    EXPECT_EQ(out->titles.front(), "track 0");
    EXPECT_EQ(out->title_positions[1], 100'000);
    EXPECT_EQ(script::source_from_value(b)->id(), "b");
    EXPECT_NE(dump_clocks().find("outputs: b.consumer [b.consumer]"), std::string::npos) << dump_clocks();
    EXPECT_NEAR(static_cast<double>(b.find_method(Name("buffer_length"))->call().as_int()), 44100, 5000);
}

TEST_F(Buffers, ASourceThatFailsIsHeardToItsEndAndComesBack) {
    const auto ramp = std::make_shared<Ramp>(Ticks{}, Ticks{100'000});
    const auto out = play(buffer(ramp, 0.5, 10));
    run(10s);
    EXPECT_EQ(out->samples.size(), 100'000u);
    EXPECT_TRUE(out->is_ramp_from(0));
    ramp->refill(Ticks{100'000});
    run(10s);
    EXPECT_EQ(out->samples.size(), 200'000u);
    EXPECT_TRUE(out->is_ramp_from(0));
    EXPECT_EQ(out->marks, (std::vector<std::int64_t>{0, 100'000}));
}

TEST_F(Buffers, TheOldestIsDroppedWhenNobodyReads) {
    const auto ramp = std::make_shared<Ramp>();
    const Value b = buffer(ramp, 0.5, 2);
    start_clocks(scheduler_);
    run(30s);
    EXPECT_EQ(b.find_method(Name("buffer_length"))->call().as_int(), 2 * 44100);
    const auto out = play(b);
    run(1s);
    ASSERT_FALSE(out->samples.empty());
    EXPECT_GT(out->samples.front(), Ramp::value(27 * 44100));
}

TEST_F(Buffers, ABufferThatGoesTakesItsOtherEndAlong) {
    const auto ramp = std::make_shared<Ramp>();
    const std::size_t before = all_sources().size();
    for (int i = 0; i < 20; ++i) {
        const Value b = buffer(ramp, 0.5, 2);
        start_clocks(scheduler_);
        run(1s);
    }
    run(1s);
    EXPECT_EQ(all_sources().size(), before);
}

TEST_F(Buffers, ACardThatIsFastIsReadFaster) {
    const auto card = std::make_shared<CardTone>(1.001);
    const Value b = adaptative(card, 10);
    const auto out = play(b);
    run(40s);
    EXPECT_TRUE(card->clock()->self_sync());
    out->samples.clear();
    double least = 9, most = 0;
    for (int i = 0; i < 80; ++i) {
        run(1s);
        least = std::min(least, query(b, "duration"));
        most = std::max(most, query(b, "duration"));
    }
    EXPECT_EQ(out->stopped_count, 0);  // it never ran dry
    EXPECT_NEAR(static_cast<double>(out->samples.size()), 80. * 44100, 8 * 882);
    EXPECT_GT(least, 0.85);
    EXPECT_LT(most, 1.2);
    EXPECT_NEAR(query(b, "ratio"), 1.001, 1e-4);
    EXPECT_NEAR(query(b, "estimated"), 1, 0.02);

    // The tone is one: 0.1 % higher, and nothing else. What a sine of that height leaves is 60 dB below.
    const std::size_t length = 44100, from = out->samples.size() - length;
    const auto fit = [&](double f, std::size_t begin, std::size_t count) {  // sine and cosine part
        double s = 0, c = 0;
        for (std::size_t i = begin; i < begin + count; ++i) {
            const double phase = 2 * std::numbers::pi * f / 44100 * static_cast<double>(i);
            s += out->samples[from + i] * std::sin(phase) * 2 / static_cast<double>(count);
            c += out->samples[from + i] * std::cos(phase) * 2 / static_cast<double>(count);
        }
        return std::pair{s, c};
    };
    double f = tone * 1.001;
    const auto [s1, c1] = fit(f, 0, length / 2);
    const auto [s2, c2] = fit(f, length / 2, length / 2);
    f += std::remainder(std::atan2(c2, s2) - std::atan2(c1, s1), 2 * std::numbers::pi) / std::numbers::pi;  // turns in half a second
    EXPECT_NEAR(f, tone * 1.001, 0.05);
    const auto [s, c] = fit(f, 0, length);
    double left = 0;
    for (std::size_t i = 0; i < length; ++i) {
        const double phase = 2 * std::numbers::pi * f / 44100 * static_cast<double>(i);
        left += std::pow(out->samples[from + i] - s * std::sin(phase) - c * std::cos(phase), 2);
    }
    EXPECT_LT(10 * std::log10(left / static_cast<double>(length) / 0.125), -60);
    float last = out->samples[from], jump = 0;
    for (std::size_t i = from; i < out->samples.size(); ++i) {
        jump = std::max(jump, std::abs(out->samples[i] - last));
        last = out->samples[i];
    }
    EXPECT_LT(jump, 0.033f);  // 0.5 * 2 pi / 100 at most between two samples
}

TEST_F(Buffers, ACardThatIsSlowIsReadSlower) {
    const auto card = std::make_shared<CardTone>(0.995);
    const Value b = adaptative(card, 10);
    const auto out = play(b);
    run(90s);
    EXPECT_EQ(out->stopped_count, 0);
    EXPECT_NEAR(query(b, "ratio"), 0.995, 2e-4);
}

TEST_F(Buffers, ACardNeedsABufferBeforeAnOperatorThatReadsAtItsOwnPace) {
    const SourcePtr card = std::make_shared<CardTone>(1);
    EXPECT_THROW(build("stretch", {Value::null(), Value::floating(2), script::to_value(card)}), lang::ScriptError);
    EXPECT_NO_THROW(build("stretch", {Value::null(), Value::floating(2), adaptative(card)}));
}

TEST_F(Buffers, StretchReadsItsInputAtItsOwnPace) {
    const auto ramp = std::make_shared<Ramp>(Ticks{44'100});
    const auto out = play(build("stretch", {Value::null(), Value::floating(2), script::to_value(SourcePtr(ramp))}));
    run(20s);
    EXPECT_NEAR(static_cast<double>(ramp->made), 10. * 44100, 5000);
    EXPECT_NE(ramp->clock(), out->clock());
    EXPECT_EQ(ramp->clock()->owner(), out->clock());
    for (std::size_t i = 1; i + 1 < out->marks.size(); ++i) EXPECT_NEAR(static_cast<double>(out->marks[i]), 88'200. * static_cast<double>(i), 100.);
    ASSERT_GT(out->marks.size(), 8u);
    EXPECT_EQ(out->titles[3], "track 3");
    const std::size_t middle = out->samples.size() / 2;
    for (std::size_t i = middle; i < middle + 1000; ++i) ASSERT_NEAR(out->samples[i], static_cast<double>(i) / 2 / (1 << 23), 1e-4);
}

TEST_F(Buffers, StretchEndsWithItsInputAndItsOtherReadersStop) {
    const SourcePtr ramp = std::make_shared<Ramp>(Ticks{}, Ticks{100'000});
    const auto beside = std::make_shared<Collector>(ramp, true);
    attach_output(beside);
    const auto out = play(build("stretch", {Value::null(), Value::floating(2), script::to_value(ramp)}));
    run(10s);
    EXPECT_EQ(beside->samples.size(), 100'000u);  // at its own pace: what it alone read, stretch has not heard
    EXPECT_GT(out->samples.size(), 90'000u);
    EXPECT_EQ(beside->stopped_count, 1);
    EXPECT_EQ(out->stopped_count, 1);
}

}  // namespace
}  // namespace castile
