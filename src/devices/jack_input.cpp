// input.jack: a source from the ports of a JACK client.

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>

#include "devices/jack_values.h"
#include "script/operator.h"
#include "source/output.h"

namespace castile::devices {

namespace {

using script::Args;

const Name audio("audio");

struct InputOptions {
    bool fallible = false, self_sync = true, start = true;
    std::function<void()> on_start, on_stop;
};

/// It drives its clock too, as a device does: what nobody reads is taken from JACK and thrown away.
class JackInput final : public Source, public Active {
public:
    JackInput(JackServer& server, InputOptions options)
        : Source("input.jack"), client_(std::make_shared<JackClient>(server, JackKind::capture)), options_(std::move(options)), wanted_(options_.start) {
        require_content(content(), audio, {ContentFormat::Kind::pcm, 0});
        on_start_do(options_.on_start);
        on_stop_do(options_.on_stop);
    }

    const std::shared_ptr<JackClient>& client() const noexcept { return client_; }
    void request(bool start) noexcept { wanted_ = start; }
    bool started() const noexcept { return started_; }
    void on_start_do(std::function<void()> f) { add_hook(start_hooks_, std::move(f)); }
    void on_stop_do(std::function<void()> f) { add_hook(stop_hooks_, std::move(f)); }

    bool fallible() const noexcept override { return options_.fallible; }
    bool live() const noexcept override { return true; }
    SyncSource* sync_source() noexcept override { return options_.self_sync && wanted_ && usable() ? &client_->server() : nullptr; }
    bool may_self_sync() const noexcept override { return options_.self_sync; }

    // --- As what drives a clock ---------------------------------------------------------------------------------------
    void tick() noexcept override { follow_orders(); }
    void after_tick() noexcept override {
        if (read_in_ == clock()->tick_count()) return;
        JackSession* const session = started_ ? usable() : nullptr;
        if (!session) return;
        session->enable(true);
        const std::size_t frame = session->in_server_samples(frame_size());
        if (paced()) session->wait(frame);
        session->skip(paced() ? frame : session->fill());
    }
    void collect_sync(SyncUses& uses) noexcept override { add_sync_uses(uses); }
    const std::string& active_name() const noexcept override { return id(); }

protected:
    void on_wake_up() override {
        pointers_.assign(static_cast<std::size_t>(std::max(1, pcm_channels())), nullptr);
        scratch_ = PcmBlock();
        begun_ = false;
        client_->want(id(), pcm_channels());
        clock()->attach(std::static_pointer_cast<JackInput>(shared_from_this()));
        if (!clock()->running()) client_->wait_for_try();
    }
    void on_sleep() noexcept override {
        clock()->detach(*this);
        client_->release();
        reading_ = nullptr;
        pending_.clear();
    }

    bool can_generate() noexcept override {
        follow_orders();
        return !options_.fallible || (started_ && usable());
    }

    void generate(Frame& out, Ticks wanted) noexcept override {
        follow_orders();
        const auto samples = static_cast<std::size_t>(wanted.count);
        PcmBlock block(pcm_channels(), samples);
        std::size_t made = 0;
        if (JackSession* session = started_ && block.channels() > 0 ? usable() : nullptr) made = fill(*session, block, samples);
        read_in_ = clock()->tick_count();
        for (int c = 0; c < block.channels(); ++c) std::ranges::fill(block.write(c).subspan(made), 0.f);
        if (!begun_) out.track_marks().push_back({});
        begun_ = true;
        out.track(audio) = std::move(block);
        out.set_length(wanted);
    }

private:
    static std::size_t frame_size() noexcept { return static_cast<std::size_t>(stream_parameters().frame_size.count); }
    bool paced() noexcept { return clock()->self_sync() && sync_source() != nullptr; }

    JackSession* usable() noexcept {
        JackSession* const session = client_->session();
        return session && session->running() ? session : nullptr;
    }

    void add_hook(std::vector<std::function<void()>>& hooks, std::function<void()> f) {
        if (!f) return;
        std::lock_guard lock(hooks_mutex_);
        hooks.push_back(std::move(f));
    }

    void follow_orders() noexcept {
        const bool wanted = wanted_;
        if (wanted == started_) return;
        started_ = wanted;
        if (JackSession* session = client_->session(); session && !wanted) session->enable(false);
        reading_ = nullptr;
        std::vector<std::function<void()>> hooks;
        {
            std::lock_guard lock(hooks_mutex_);
            hooks = wanted ? start_hooks_ : stop_hooks_;
        }
        for (const auto& hook : hooks) hook();   // callbacks of the script: they log their errors
    }

    /// Fills the block's first samples; returns how many.
    std::size_t fill(JackSession& session, PcmBlock& block, std::size_t samples) noexcept {
        if (&session != reading_ || read_in_ + 1 < clock()->tick_count()) begin(session);
        const bool waits = paced();
        if (!waits && starved_) {   // as much as a burst of frames first
            if (session.fill() < session.usual_fill(5 * frame_size())) return 0;
            starved_ = false;
        }
        const std::size_t made = session.resampler() ? fill_converted(session, block, samples, waits) : fill_plain(session, block, samples, waits);
        if (made < samples && !starved_) {
            session.counters().missing.fetch_add(static_cast<std::int64_t>(session.in_server_samples(samples - made)), std::memory_order_relaxed);
            starved_ = !waits;
        }
        return made;
    }

    void begin(JackSession& session) noexcept {
        if (&session == reading_) session.skip(session.fill());   // it is old
        reading_ = &session;
        starved_ = true;
        pending_.clear();
        if (session.resampler()) session.resampler()->reset();
        session.enable(true);
        if (paced()) starved_ = false;
    }

    std::size_t fill_plain(JackSession& session, PcmBlock& block, std::size_t samples, bool waits) noexcept {
        if (waits) session.wait(samples);
        for (int c = 0; c < block.channels(); ++c) pointers_[static_cast<std::size_t>(c)] = block.write(c).data();
        return session.read(pointers_.data(), samples);
    }

    // What a conversion makes too much waits in pending_, interleaved.
    std::size_t fill_converted(JackSession& session, PcmBlock& block, std::size_t samples, bool waits) noexcept {
        const auto count = static_cast<std::size_t>(block.channels());
        while (pending_.size() < samples * count) {
            const std::size_t missing = session.in_server_samples(samples - pending_.size() / count) + 1;
            if (waits) session.wait(missing);
            if (scratch_.samples() < missing || scratch_.channels() != block.channels()) scratch_ = PcmBlock(block.channels(), std::max(missing, session.in_server_samples(frame_size()) + 1));
            for (int c = 0; c < block.channels(); ++c) pointers_[static_cast<std::size_t>(c)] = scratch_.write(c).data();
            const std::size_t got = session.read(pointers_.data(), missing);
            if (got == 0) break;
            ffmpeg::Resampler& resampler = *session.resampler();
            const int made = resampler.convert(reinterpret_cast<const std::uint8_t* const*>(pointers_.data()), static_cast<int>(got));
            if (made < 0) break;
            const auto planes = reinterpret_cast<const float* const*>(resampler.planes());
            for (std::size_t i = 0; i < static_cast<std::size_t>(made); ++i)
                for (std::size_t c = 0; c < count; ++c) pending_.push_back(planes[c][i]);
        }
        const std::size_t made = std::min(samples, pending_.size() / count);
        for (std::size_t c = 0; c < count; ++c) {
            const auto channel = block.write(static_cast<int>(c));
            for (std::size_t i = 0; i < made; ++i) channel[i] = pending_[i * count + c];
        }
        pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(made * count));
        return made;
    }

    const std::shared_ptr<JackClient> client_;
    const InputOptions options_;
    std::atomic<bool> wanted_, started_ = false;
    std::mutex hooks_mutex_;  // guards the next two
    std::vector<std::function<void()>> start_hooks_, stop_hooks_;

    JackSession* reading_ = nullptr;     ///< the one that was read last
    std::int64_t read_in_ = -1;          ///< the tick in which it was
    bool begun_ = false;
    bool starved_ = false;               ///< not paced by JACK: it waits until enough is there
    std::vector<float*> pointers_;
    std::vector<float> pending_;         ///< converted, interleaved, for the next tick
    PcmBlock scratch_;                   ///< as JACK has it
};

JackInput& input_of(const SourcePtr& source) { return static_cast<JackInput&>(*source); }

lang::Value order(const SourcePtr& source, bool start) {
    return lang::Value::function([weak = std::weak_ptr(source), start](std::span<const lang::CallArgument>) {
        if (const SourcePtr s = weak.lock()) input_of(s).request(start);
        return lang::Value::unit();
    });
}

lang::Value hook(const SourcePtr& source, bool start) {
    return lang::Value::function([weak = std::weak_ptr(source), start](std::span<const lang::CallArgument> arguments) {
        lang::Value function;
        bool synchronous = false;
        for (const auto& argument : arguments) {
            if (argument.label == Name("synchronous")) synchronous = argument.value.as_bool();
            else function = argument.value;
        }
        const script::Callback callback(std::move(function), synchronous, start ? "on_start" : "on_stop");
        if (const SourcePtr s = weak.lock())
            start ? input_of(s).on_start_do([callback] { callback(); }) : input_of(s).on_stop_do([callback] { callback(); });
        return lang::Value::unit().with_method("release", lang::Value::function([callback](std::span<const lang::CallArgument>) {
            callback.release();
            return lang::Value::unit();
        }));
    });
}

constexpr const char* hook_type = "(?synchronous : bool, (() -> unit)) -> {release : () -> unit}";

const script::RegisterOperator input_jack{{
    .name = "input.jack",
    .category = script::Category::input,
    .doc = "Take a stream from a JACK server, which then paces it. While there is no server it is silent, or fails when it may; the server is looked for every second.",
    .params = {
        {"fallible", "bool", "false", "Fail while there is no server, rather than be silent?"},
        {"on_start", "(() -> unit)?", "null", "Called when the source starts."},
        {"on_stop", "(() -> unit)?", "null", "Called when the source stops."},
        {"self_sync", "bool", "true", "Is the stream paced by JACK? Else samples that come too late are silence, and those that are too many are lost."},
        {"server", "string?", "null", "Name of the JACK server; `null` or \"\": the default one. A process talks to one at a time."},
        {"start", "bool", "true", "Start at once? Else when asked to."},
    },
    .result = "source(audio=pcm('a))",
    .build = [](Args& args) -> SourcePtr {
        enum : unsigned { fallible, on_start, on_stop, self_sync, server, start };
        return std::make_shared<JackInput>(JackServer::named(args.optional_string(server)),
                                           InputOptions{.fallible = args.boolean(fallible),
                                                        .self_sync = args.boolean(self_sync),
                                                        .start = args.boolean(start),
                                                        .on_start = args.callback(on_start),
                                                        .on_stop = args.callback(on_stop)});
    },
    .methods = {{"connect", "('c.{ports : () -> [jack_output_port]}) -> unit",
                 "Connect the source's ports to those of an `output.jack`, or of `jack.server.capture()`, once both are there.",
                 [](const SourcePtr& source) { return connect_method(input_of(source).client()); }},
                {"is_started", "() -> bool", "Is the source started?",
                 [](const SourcePtr& source) {
                     return lang::Value::function([weak = std::weak_ptr(source)](std::span<const lang::CallArgument>) {
                         const SourcePtr s = weak.lock();
                         return lang::Value::boolean(s && input_of(s).started());
                     });
                 }},
                {"on_start", hook_type, "Call a function when the source starts.", [](const SourcePtr& source) { return hook(source, true); }},
                {"on_stop", hook_type, "Call a function when the source stops.", [](const SourcePtr& source) { return hook(source, false); }},
                {"ports", "() -> [jack_input_port.{connect : (jack_output_port) -> unit, name : string}]", "The source's ports; none while there is no server.",
                 [](const SourcePtr& source) { return ports_method(input_of(source).client()); }},
                {"start", "() -> unit", "Start the source.", [](const SourcePtr& source) { return order(source, true); }},
                {"stop", "() -> unit", "Stop the source: it is silent, or fails when it may.", [](const SourcePtr& source) { return order(source, false); }}},
}};

}  // namespace

}  // namespace castile::devices
