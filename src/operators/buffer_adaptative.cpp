// buffer.adaptative: some seconds between two clocks that drift, read a little faster or slower than they come.

#include <algorithm>
#include <atomic>
#include <deque>
#include <utility>

#include "base/error.h"
#include "operators/rate_loop.h"
#include "operators/two_clocks.h"
#include "operators/variable_resampler.h"
#include "sched/scheduler.h"
#include "script/operator.h"

namespace castile::operators {

namespace {

using script::Args;
using script::Category;

const Name audio("audio");

struct Options {
    double buffer = 1, most = 10, averaging = 30, limit = 1.25;
    bool resample = true, reset = false;
};

/// What both ends share. Positions are in samples since the start, as they were written.
struct Between {
    explicit Between(Ticks wanted, Ticks greatest) : ready_from(wanted), most(greatest) {}
    const Ticks ready_from, most;

    std::mutex blocks_mutex;  // guards everything below
    std::deque<PcmBlock> blocks;
    struct Event {
        std::int64_t at;
        MetadataPtr metadata;   ///< null: a track mark
    };
    std::deque<Event> events;
    std::int64_t written = 0, read = 0;
    bool buffering = true;

    // How much lies between the ends, averaged over the time and not over the looks at it: both clocks work in bursts, and
    // looks that keep step with these would see too much or too little.
    std::int64_t used = 0;      ///< of what was read: made into output
    Instant accounted{};
    double area = 0, seconds = 0;

    std::int64_t length() const noexcept { return written - read; }
    void account(Instant now) noexcept {
        const double passed = std::chrono::duration<double>(now - accounted).count();
        if (accounted != Instant{} && passed > 0) {
            area += passed * to_seconds(Ticks{written - used});
            seconds += passed;
        }
        accounted = now;
    }
    bool take(PcmBlock& block) {
        if (blocks.empty()) return false;
        block = std::move(blocks.front());
        blocks.pop_front();
        read += static_cast<std::int64_t>(block.samples());
        return true;
    }
};

class Consumer final : public BufferConsumer {
public:
    Consumer(const std::string& name, SourcePtr input, Output::Options options, std::shared_ptr<Between> between)
        : BufferConsumer(name, std::move(input), std::move(options)), between_(std::move(between)) {}

protected:
    void send(const Frame& frame) noexcept override {
        const PcmBlock* pcm = frame.pcm(audio);
        if (!pcm || pcm->empty()) return;
        bool full = false;
        {
            const Instant now = scheduler().time().now();
            std::lock_guard lock(between_->blocks_mutex);
            Between& b = *between_;
            b.account(now);
            PcmBlock dropped;
            while (b.length() + static_cast<std::int64_t>(pcm->samples()) > b.most.count && b.take(dropped)) {
                full = true;
                b.used += static_cast<std::int64_t>(dropped.samples());
            }
            for (const Ticks mark : frame.track_marks()) b.events.push_back({b.written + mark.count, nullptr});
            for (const FrameMetadata& m : frame.metadata()) b.events.push_back({b.written + m.position.count, m.metadata});
            b.blocks.push_back(*pcm);
            b.written += static_cast<std::int64_t>(pcm->samples());
            if (b.buffering && b.length() > b.ready_from.count) {
                b.buffering = false;
                b.area = b.seconds = 0;
            }
        }
        if (full && !full_) log().important("Buffer full, dropping the oldest.");
        full_ = full;
    }

private:
    const std::shared_ptr<Between> between_;
    bool full_ = false;
};

class Producer final : public BufferProducer<Source> {
public:
    Producer(std::shared_ptr<Between> between, Options options)
        : BufferProducer("buffer.adaptative"), between_(std::move(between)), options_(options), loop_(options.buffer, options.averaging, options.limit) {
        require_content(content(), audio, {ContentFormat::Kind::pcm, 0});
    }

    void connect(SourcePtr input, Output::Options options) {
        const ContentPtr theirs = input->content();
        auto consumer = std::make_shared<Consumer>(operator_name(), std::move(input), std::move(options), between_);
        unify_content(content(), theirs);
        keep(std::move(consumer));
    }

    // Any thread.
    double duration() const {
        std::lock_guard lock(between_->blocks_mutex);
        return to_seconds(Ticks{between_->length()});
    }
    double ratio() const noexcept { return ratio_now_.load(std::memory_order_relaxed); }
    double estimated() const noexcept { return estimated_now_.load(std::memory_order_relaxed); }

protected:
    void on_wake_up() override {
        if (!resampler_ || resampler_->channels() != pcm_channels()) resampler_ = std::make_unique<VariableResampler>(pcm_channels());
    }

    bool can_generate() noexcept override {
        std::lock_guard lock(between_->blocks_mutex);
        return !between_->buffering && (between_->length() > 0 || resampler_->waiting() > 0);
    }

    void generate(Frame& out, Ticks wanted) noexcept override {
        const Instant now = scheduler().time().now();
        double length = 0, passed = 0;
        std::int64_t from = 0;
        {
            std::lock_guard lock(between_->blocks_mutex);
            Between& b = *between_;
            b.account(now);
            from = b.used;
            passed = std::exchange(b.seconds, 0);
            length = std::exchange(b.area, 0) / std::max(passed, 1e-9);
        }
        if (options_.limit > 1 && passed > 0) loop_.update(length, passed);
        const double speed = loop_.speed();
        ratio_now_.store(speed, std::memory_order_relaxed);
        estimated_now_.store(loop_.length(), std::memory_order_relaxed);

        const auto samples = static_cast<std::size_t>(wanted.count);
        PcmBlock made(resampler_->channels(), samples);
        std::size_t done = 0;
        while (done < samples) {
            done += resampler_->make(made, done, samples - done, 1 / speed);
            if (done >= samples || !feed()) break;
        }
        const std::int64_t to = reached();
        out.track(audio) = done == samples ? std::move(made) : made.slice(0, done);
        out.set_length(Ticks{static_cast<std::int64_t>(done)});
        add_events(out, from, to);
        if (done < samples) run_dry();
    }

private:
    bool feed() {
        PcmBlock block;
        {
            std::lock_guard lock(between_->blocks_mutex);
            if (!between_->take(block)) return false;
        }
        resampler_->feed(block);
        return true;
    }

    /// Of the input: how far it is used up.
    std::int64_t reached() const {
        std::lock_guard lock(between_->blocks_mutex);
        return between_->used = between_->read - static_cast<std::int64_t>(resampler_->waiting());
    }

    // What stood at a sample of the input stands at the same part of what was made of it.
    void add_events(Frame& out, std::int64_t from, std::int64_t to) {
        const std::int64_t length = out.length().count;
        if (length == 0) return;
        std::lock_guard lock(between_->blocks_mutex);
        auto& events = between_->events;
        while (!events.empty() && events.front().at < to) {
            const double part = static_cast<double>(events.front().at - from) / static_cast<double>(std::max<std::int64_t>(1, to - from));
            const Ticks at{std::clamp<std::int64_t>(static_cast<std::int64_t>(part * static_cast<double>(length)), 0, length - 1)};
            if (events.front().metadata) out.metadata().push_back({at, std::move(events.front().metadata)});
            else if (out.track_marks().empty() || out.track_marks().back() < at) out.track_marks().push_back(at);
            events.pop_front();
        }
    }

    void run_dry() {
        {
            std::lock_guard lock(between_->blocks_mutex);
            between_->buffering = true;
            between_->used = between_->read;
        }
        loop_.reset(options_.reset);
        resampler_->reset();
        log().important("Buffer emptied, start buffering...");
    }

    const std::shared_ptr<Between> between_;
    const Options options_;
    RateLoop loop_;
    std::unique_ptr<VariableResampler> resampler_;
    std::atomic<double> ratio_now_ = 1, estimated_now_ = 0;
};

SourcePtr build(Args& args) {
    enum : unsigned { averaging, buffer, fallible, limit, most, on_start, on_stop, register_telnet, resample, reset, start, input };
    Options options{.buffer = std::clamp(args.floating(buffer), 0.05, 1e5), .most = args.floating(most), .averaging = args.floating(averaging),
                    .limit = args.floating(limit), .resample = args.boolean(resample), .reset = args.boolean(reset)};
    if (options.limit <= 0) throw Error("The limit must be more than 0.");
    if (options.limit < 1) options.limit = 1 / options.limit;
    options.most = std::clamp(options.most, 1.1 * options.buffer, 2e5);
    auto between = std::make_shared<Between>(ticks_from_seconds(options.buffer), ticks_from_seconds(options.most));
    auto producer = std::make_shared<Producer>(between, options);
    producer->connect(args.source(input), {.fallible = args.boolean(fallible),
                                           .start = args.boolean(start),
                                           .on_start = args.callback(on_start),
                                           .on_stop = args.callback(on_stop)});
    return producer;
}

template <class F>
lang::Value query(const SourcePtr& source, F f) {
    const std::weak_ptr<Source> weak = source;
    return lang::Value::function([weak, f](std::span<const lang::CallArgument>) {
        const SourcePtr s = weak.lock();
        return lang::Value::floating(s ? f(static_cast<const Producer&>(*s)) : 0.);
    });
}

const script::RegisterOperator adaptative{{
    .name = "buffer.adaptative",
    .category = Category::source,
    .doc = "Keep some seconds between two clocks that drift apart, two sound cards say: the store is read a little faster or slower than it is filled, so that it "
           "neither empties nor overflows. The pitch follows, by what cannot be heard when the clocks are nearly the same.",
    .params = {
        {"averaging", "float", "30.", "Time constant, in seconds, with which the speed follows: the longer, the calmer."},
        {"buffer", "float", "1.", "Seconds to keep in store."},
        {"fallible", "bool", "false", "Allow a source that may fail?"},
        {"limit", "float", "1.25", "Greatest speed; the slowest is its inverse."},
        {"max", "float", "10.", "Seconds to have in store at most: the oldest is dropped."},
        {"on_start", "(() -> unit)?", "null", "Called when the filling starts."},
        {"on_stop", "(() -> unit)?", "null", "Called when the filling stops."},
        {"register_telnet", "bool", "true", "Give it commands on the server?"},
        {"resample", "bool", "true", "Kept for scripts that set it: samples are always interpolated."},
        {"reset", "bool", "false", "Forget the drift of the clocks when the store was empty?"},
        {"start", "bool", "true", "Start filling at once? Else when asked to."},
        {"", "source(audio=pcm('a), 'b)", nullptr, "The source."},
    },
    .result = "source(audio=pcm('a), 'b)",
    .build = build,
    .methods = {
        {"duration", "() -> float", "Seconds in store now.", [](const SourcePtr& s) { return query(s, [](const Producer& p) { return p.duration(); }); }},
        {"estimated", "() -> float", "Seconds in store, smoothed.", [](const SourcePtr& s) { return query(s, [](const Producer& p) { return p.estimated(); }); }},
        {"ratio", "() -> float", "Speed at which it is read: 1 as it comes.", [](const SourcePtr& s) { return query(s, [](const Producer& p) { return p.ratio(); }); }},
    },
}};

}  // namespace

}  // namespace castile::operators
