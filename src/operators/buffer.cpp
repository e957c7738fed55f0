// buffer: some seconds between two clocks.

#include <algorithm>
#include <atomic>

#include "operators/two_clocks.h"
#include "script/operator.h"
#include "source/frame_queue.h"

namespace castile::operators {

namespace {

using script::Args;
using script::Category;

/// What both ends share. Held for the time of a frame's hand-over.
struct Between {
    Between(Ticks wanted, Ticks greatest) : ready_from(wanted), most(greatest) {}
    const Ticks ready_from, most;
    std::mutex frames_mutex;  // guards everything below
    FrameQueue frames;
    bool buffering = true;
    std::int64_t dropped = 0;   ///< ticks, since it was last said
};

class Consumer final : public BufferConsumer {
public:
    Consumer(const std::string& name, SourcePtr input, Options options, std::shared_ptr<Between> between)
        : BufferConsumer(name, std::move(input), std::move(options)), between_(std::move(between)) {}

protected:
    void send(const Frame& frame) noexcept override {
        std::int64_t dropped = 0;
        {
            std::lock_guard lock(between_->frames_mutex);
            between_->frames.push(frame);
            if (between_->frames.length() > between_->ready_from) between_->buffering = false;
            if (const Ticks over = between_->frames.length() - between_->most; over.count > 0) {
                between_->frames.drop_front(over);
                dropped = over.count;
            }
        }
        if (dropped > 0 && dropped_ == 0) log().important("Buffer overrun: nobody reads it as fast as it is filled. The oldest is dropped.");
        dropped_ = dropped > 0 ? dropped_ + dropped : 0;
    }

private:
    const std::shared_ptr<Between> between_;
    std::int64_t dropped_ = 0;   ///< ticks, in a row
};

class Producer final : public BufferProducer<Source> {
public:
    Producer(std::shared_ptr<Between> between, bool add_mark, bool replay) : BufferProducer("buffer"), between_(std::move(between)), add_mark_(add_mark), replay_(replay) {}

    void connect(SourcePtr input, Output::Options options) {
        const ContentPtr theirs = input->content();
        auto consumer = std::make_shared<Consumer>(operator_name(), std::move(input), std::move(options), between_);
        unify_content(content(), theirs);
        keep(std::move(consumer));
    }
    Ticks length() const {
        std::lock_guard lock(between_->frames_mutex);
        return between_->frames.length();
    }
    Ticks seek(Ticks by) noexcept override {
        std::lock_guard lock(between_->frames_mutex);
        const Ticks possible = std::clamp(by, Ticks{0}, between_->frames.length());
        between_->frames.drop_front(possible);
        return possible;
    }

protected:
    bool can_generate() noexcept override {
        std::lock_guard lock(between_->frames_mutex);
        return !between_->buffering && between_->frames.length().count > 0;
    }

    void generate(Frame& out, Ticks wanted) noexcept override {
        bool emptied = false;
        {
            std::lock_guard lock(between_->frames_mutex);
            between_->frames.pop(out, wanted);
            if (between_->frames.length().count == 0 && out.length() < wanted) emptied = between_->buffering = true;
        }
        if (fresh_ && out.length().count > 0) {
            fresh_ = false;
            auto& marks = out.track_marks();
            if (add_mark_ && (marks.empty() || marks.front().count != 0)) marks.insert(marks.begin(), Ticks{});
            if (replay_ && last_ && out.metadata().empty()) out.metadata().push_back({Ticks{}, last_});
        }
        if (!out.metadata().empty()) last_ = out.metadata().back().metadata;
        if (emptied) {
            fresh_ = true;
            log().important("Buffer emptied, start buffering...");
        }
    }

private:
    const std::shared_ptr<Between> between_;
    const bool add_mark_, replay_;
    bool fresh_ = true;          ///< it begins, or begins again
    MetadataPtr last_;
};

SourcePtr build(Args& args) {
    enum : unsigned { add_track_mark, buffer, fallible, most, on_start, on_stop, register_telnet, replay_metadata, start, input };
    const double wanted = std::max(0., args.floating(buffer));
    const double greatest = std::max(args.floating(most), 1.1 * wanted);
    auto between = std::make_shared<Between>(ticks_from_seconds(std::min(wanted, 1e6)), ticks_from_seconds(std::min(greatest, 2e6)));
    auto producer = std::make_shared<Producer>(between, args.boolean(add_track_mark), args.boolean(replay_metadata));
    producer->connect(args.source(input), {.fallible = args.boolean(fallible),
                                           .start = args.boolean(start),
                                           .on_start = args.callback(on_start),
                                           .on_stop = args.callback(on_stop)});
    return producer;
}

const script::RegisterOperator buffer{{
    .name = "buffer",
    .category = Category::source,
    .doc = "Keep some seconds of a source in store, so that it may have a clock of its own: what reads it is not held up when the source is, and the other way round.",
    .params = {
        {"add_track_mark", "bool", "true", "Begin a track when there is enough in the buffer again?"},
        {"buffer", "float", "1.", "Seconds to have in store before it is read."},
        {"fallible", "bool", "true", "Allow a source that may fail?"},
        {"max", "float", "10.", "Seconds to have in store at most: the oldest is dropped."},
        {"on_start", "(() -> unit)?", "null", "Called when the filling starts."},
        {"on_stop", "(() -> unit)?", "null", "Called when the filling stops."},
        {"register_telnet", "bool", "true", "Give it commands on the server?"},
        {"replay_metadata", "bool", "true", "Give the last metadata again when there is enough in the buffer again?"},
        {"start", "bool", "true", "Start filling at once? Else when asked to."},
        {"", "source('a)", nullptr, "The source."},
    },
    .result = "source('a)",
    .build = build,
    .methods = {{"buffer_length", "() -> int", "Length of what is in store, in ticks (samples).",
                 [](const SourcePtr& source) {
                     const std::weak_ptr<Source> weak = source;
                     return lang::Value::function([weak](std::span<const lang::CallArgument>) {
                         const SourcePtr s = weak.lock();
                         return lang::Value::integer(s ? static_cast<Producer&>(*s).length().count : 0);
                     });
                 }}},
}};

}  // namespace

}  // namespace castile::operators
