// output.jack: a source to the ports of a JACK client.

#include <algorithm>

#include "base/settings.h"
#include "devices/jack_values.h"
#include "script/operator.h"
#include "source/output.h"

namespace castile::devices {

namespace {

using script::Args;

const Name audio("audio");

Setting<double> latency{"jack.latency", 0., "Seconds of sound that output.jack keeps ready besides what it needs."};
constexpr double unpaced_lead = 0.15;   // seconds: a clock of the computer's makes frames in bursts

class JackOutput final : public Output {
public:
    JackOutput(SourcePtr input, JackServer& server, bool self_sync, Options options)
        : Output("output.jack", std::move(input), std::move(options)), client_(std::make_shared<JackClient>(server, JackKind::playback)), self_sync_(self_sync) {
        require_content(content(), audio, {ContentFormat::Kind::pcm, 0});
    }

    const std::shared_ptr<JackClient>& client() const noexcept { return client_; }

    SyncSource* sync_source() noexcept override {
        if (!self_sync_ || !(started() || (!ticked_ && start_wanted()))) return nullptr;
        const JackSession* session = client_->session();
        return session && session->running() ? &client_->server() : nullptr;
    }
    // Also what paces its inputs: two devices on one clock are to be seen.
    void add_sync_uses(SyncUses& uses) noexcept override {
        Output::add_sync_uses(uses);
        if (!sync_source()) return;
        for (const SourcePtr& input : inputs())
            if (input->awake()) input->add_sync_uses(uses);
    }
    bool may_self_sync() const noexcept override { return self_sync_ || Output::may_self_sync(); }
    OutputStatistics statistics() const noexcept override { return {.connected = client_->connected(), .bytes = {}, .dropped = {}, .listeners = {}}; }

    // All outputs of the clock have their frame: now it may wait.
    void after_tick() noexcept override {
        ticked_ = true;
        if (!primed_ || !paced()) return;
        primed_->wait(usual_fill());
    }

protected:
    void on_wake_up() override {
        channels_ = pcm_channels();
        planes_.assign(static_cast<std::size_t>(std::max(1, channels_)), nullptr);
        ticked_ = false;
        client_->want(id(), channels_);
        if (!clock()->running()) client_->wait_for_try();
    }
    void on_sleep() noexcept override {
        primed_ = nullptr;
        client_->release();
    }
    void stop() noexcept override {
        if (JackSession* session = client_->session()) session->enable(false);
        primed_ = nullptr;
    }

    void send(const Frame& frame) noexcept override {
        JackSession* const session = client_->session();
        if (!session || !session->running()) {
            primed_ = nullptr;
            return;
        }
        if (session != primed_) prime(*session);
        const auto samples = static_cast<std::size_t>(frame.length().count);
        const PcmBlock* block = frame.pcm(audio);
        const bool fits = block && block->channels() == channels_ && block->samples() >= samples && channels_ > 0;
        for (int c = 0; fits && c < channels_; ++c) planes_[static_cast<std::size_t>(c)] = block->channel(c).data();
        std::size_t made = samples, written = 0;
        if (ffmpeg::Resampler* resampler = fits ? session->resampler() : nullptr) {
            const int converted = resampler->convert(reinterpret_cast<const std::uint8_t* const*>(planes_.data()), static_cast<int>(samples));
            made = static_cast<std::size_t>(std::max(0, converted));
            written = session->write(reinterpret_cast<const float* const*>(resampler->planes()), made);
        } else {
            if (!fits) made = session->in_server_samples(samples);
            written = session->write(fits ? planes_.data() : nullptr, made);
        }
        if (written < made) session->counters().dropped.fetch_add(static_cast<std::int64_t>(made - written), std::memory_order_relaxed);
    }

private:
    bool paced() noexcept { return clock()->self_sync() && sync_source() != nullptr; }

    std::size_t usual_fill() noexcept {
        const double more = std::clamp(latency.get(), 0., 60.) + (paced() ? 0. : unpaced_lead);
        const auto frame = static_cast<std::size_t>(stream_parameters().frame_size.count);
        const std::size_t wanted = primed_->usual_fill(frame) + static_cast<std::size_t>(more * primed_->shape().rate);
        const std::size_t room_for_a_frame = primed_->in_server_samples(frame) + 256;
        return std::min(wanted, primed_->shape().capacity - std::min(primed_->shape().capacity, room_for_a_frame));
    }

    // Silence first: JACK takes from now on, and the first frames must not come too late.
    void prime(JackSession& session) noexcept {
        primed_ = &session;
        const std::size_t wanted = usual_fill(), there = session.fill();
        if (there < wanted) session.write(nullptr, wanted - there);
        session.enable(true);
    }

    const std::shared_ptr<JackClient> client_;
    const bool self_sync_;
    JackSession* primed_ = nullptr;          ///< the one that takes samples
    bool ticked_ = false;
    int channels_ = 0;
    std::vector<const float*> planes_;
};

const script::RegisterOperator output_jack{{
    .name = "output.jack",
    .category = script::Category::output,
    .doc = "Give a stream to a JACK server, which then paces the stream. While there is no server the stream goes on at the computer's pace; the server is looked for every second.",
    .params = {
        {"fallible", "bool", "false", "Allow a source that may fail: the output then stops and starts with it."},
        {"on_start", "(() -> unit)?", "null", "Called when the output starts."},
        {"on_stop", "(() -> unit)?", "null", "Called when the output stops."},
        {"register_telnet", "bool", "true", "Give it commands on the server?"},
        {"self_sync", "bool", "true", "Is the stream paced by JACK? Else samples that come too late are silence, and those that are too many are lost."},
        {"server", "string?", "null", "Name of the JACK server; `null` or \"\": the default one. A process talks to one at a time."},
        {"start", "bool", "true", "Start at once? Else when asked to."},
        {"", "source(audio=pcm('a), 'b)", nullptr, "The source."},
    },
    .result = "unit",
    .build = [](Args& args) -> SourcePtr {
        enum : unsigned { fallible, on_start, on_stop, register_telnet, self_sync, server, start, input };
        return std::make_shared<JackOutput>(args.source(input), JackServer::named(args.optional_string(server)), args.boolean(self_sync),
                                            Output::Options{.fallible = args.boolean(fallible),
                                                            .start = args.boolean(start),
                                                            .on_start = args.callback(on_start),
                                                            .on_stop = args.callback(on_stop)});
    },
    .methods = {{"connect", "('c.{ports : () -> [jack_input_port]}) -> unit",
                 "Connect the output's ports to those of an `input.jack`, or of `jack.server.playback()`, once both are there.",
                 [](const SourcePtr& source) { return connect_method(static_cast<JackOutput&>(*source).client()); }},
                {"ports", "() -> [jack_output_port.{connect : (jack_input_port) -> unit, name : string}]", "The output's ports; none while there is no server.",
                 [](const SourcePtr& source) { return ports_method(static_cast<JackOutput&>(*source).client()); }}},
}};

}  // namespace

}  // namespace castile::devices
