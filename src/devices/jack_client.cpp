#include "devices/jack_client.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/settings.h"
#include "devices/jack_keeper.h"
#include "frame/ticks.h"
#include "sched/scheduler.h"

namespace castile::devices {

namespace {

const Logger logger("jack");

Setting<double> max_latency{"jack.max_latency", 0.5, "Seconds of sound that may wait between JACK and a clock; what is more is dropped."};

constexpr auto first_try_time = std::chrono::seconds(2);

int on_process(jack_nframes_t samples, void* session) { return static_cast<JackSession*>(session)->process(samples); }

void ask_for_a_round(void* given) {
    auto& session = *static_cast<JackSession*>(given);
    session.graph_changed.store(true);
    if (!session.released) JackKeeper::get().soon();
}

void on_shutdown(jack_status_t, const char*, void* session) {
    static_cast<JackSession*>(session)->lose();
    ask_for_a_round(session);
}

int on_period(jack_nframes_t samples, void* session) {
    static_cast<JackSession*>(session)->set_period(samples);
    return 0;
}

int on_xrun(void* session) {
    static_cast<JackSession*>(session)->counters().xruns.fetch_add(1, std::memory_order_relaxed);
    return 0;
}

// Also when periods become longer later on.
std::size_t capacity(int rate, int period) {
    constexpr int long_period = 8192;
    const auto frame = static_cast<double>(stream_parameters().frame_size.count) / stream_parameters().samplerate * rate;
    const double asked = std::clamp(max_latency.get(), 0., 60.) * rate;
    return static_cast<std::size_t>(std::max(asked, 2 * (frame + std::max(period, long_period)) + 1024));
}

}  // namespace

JackClient::~JackClient() = default;

// --- The operator ------------------------------------------------------------------------------------------------------

void JackClient::want(std::string name, int channels) {
    {
        std::lock_guard lock(session_mutex_);
        name_ = std::move(name);
        channels_ = std::max(1, channels);
        wanted_ = !scheduler().time().simulated();   // JACK does not wait for made-up time
        was_tried_ = !wanted_;
        if (!wanted_) return;
    }
    JackKeeper::get().add(shared_from_this());
}

void JackClient::wait_for_try() {
    std::unique_lock lock(session_mutex_);
    tried_.wait_for(lock, first_try_time, [this] { return was_tried_; });
}

void JackClient::release() noexcept {
    {
        std::lock_guard lock(session_mutex_);
        wanted_ = false;
        if (session_) {
            session_->released = true;
            session_->enable(false);
        }
    }
    JackKeeper::get().soon();
}

JackSession* JackClient::session() noexcept {
    if (changed_.load(std::memory_order_acquire)) {
        std::shared_ptr<JackSession> old;
        std::lock_guard lock(session_mutex_);
        changed_.store(false, std::memory_order_relaxed);
        old = std::exchange(seen_, session_);
    }
    return seen_.get();
}

// --- Any thread ----------------------------------------------------------------------------------------------------------

std::vector<std::string> JackClient::port_names() const {
    std::lock_guard lock(session_mutex_);
    return session_ && !session_->lost ? port_names_ : std::vector<std::string>();
}

std::string JackClient::name() const {
    std::lock_guard lock(session_mutex_);
    return name_;
}

bool JackClient::connected() const {
    std::lock_guard lock(session_mutex_);
    return session_ && session_->running();
}

JackSession::Shape JackClient::shape() const {
    std::lock_guard lock(session_mutex_);
    JackSession::Shape shape = session_ ? session_->shape() : JackSession::Shape{};
    if (session_) shape.period = static_cast<int>(session_->period());
    return shape;
}

bool JackClient::wanted() const {
    std::lock_guard lock(session_mutex_);
    return wanted_;
}

bool JackClient::opened() const {
    std::lock_guard lock(session_mutex_);
    return session_ != nullptr;
}

void JackClient::tried() noexcept {
    std::lock_guard lock(session_mutex_);
    was_tried_ = true;
    tried_.notify_all();
}

// --- The keeper ------------------------------------------------------------------------------------------------------------

void JackClient::open(const JackLibrary& library) {
    std::string name;
    int channels = 0;
    {
        std::lock_guard lock(session_mutex_);
        name = name_;
        channels = channels_;
    }
    jack_client_t* const client = open_jack_client(library, name, server_);
    try {
        JackSession::Shape shape{.kind = kind_, .channels = channels};
        shape.rate = static_cast<int>(library.get_sample_rate(client));
        shape.period = static_cast<int>(library.get_buffer_size(client));
        shape.capacity = capacity(shape.rate, shape.period);
        const auto session = std::make_shared<JackSession>(library, shape, counters_);
        session->client = client;
        std::vector<std::string> names;
        for (int c = 0; c < channels; ++c) {
            jack_port_t* port = library.port_register(client, fmt::format("{}_{}", jack_name(library, name), c).c_str(), JACK_DEFAULT_AUDIO_TYPE,
                                                      kind_ == JackKind::capture ? JackPortIsInput : JackPortIsOutput, 0);
            if (!port) throw Error(fmt::format("JACK gives {} no {} ports: there are too many (jackd --port-max).", name, channels));
            session->ports.push_back(port);
            names.emplace_back(library.port_name(port));
        }
        JackSession* const raw = session.get();
        library.set_process_callback(client, on_process, raw);
        library.on_info_shutdown(client, on_shutdown, raw);
        library.set_buffer_size_callback(client, on_period, raw);
        library.set_xrun_callback(client, on_xrun, raw);
        library.set_port_connect_callback(client, [](jack_port_id_t, jack_port_id_t, int, void* arg) { ask_for_a_round(arg); }, raw);
        library.set_port_registration_callback(client, [](jack_port_id_t, int, void* arg) { ask_for_a_round(arg); }, raw);
        session->activated();
        if (library.activate(client) != 0) throw Error(fmt::format("JACK does not let {} begin.", name));
        for (Peer& peer : peers_) peer.present = false;
        counters_->connections.fetch_add(1, std::memory_order_relaxed);
        const int ours = stream_parameters().samplerate;
        logger.important("{} is connected to {} as \"{}\": {} Hz, {} samples a period{}.", name, server_.name(), library.get_client_name(client), shape.rate,
                         shape.period, shape.rate == ours ? "" : fmt::format("; converted from and to {} Hz", ours));
        std::lock_guard lock(session_mutex_);
        session_ = session;
        port_names_ = std::move(names);
        changed_.store(true, std::memory_order_release);
    } catch (...) {
        library.client_close(client);
        throw;
    }
}

void JackClient::close(const JackLibrary& library) noexcept {
    std::shared_ptr<JackSession> session;
    {
        std::lock_guard lock(session_mutex_);
        session = std::exchange(session_, nullptr);
        port_names_.clear();
        changed_.store(true, std::memory_order_release);
    }
    if (!session) return;
    session->released = true;
    session->lose();
    library.client_close(session->client);
}

// What is connected by hand is noted. What comes back is connected again; what somebody disconnected is not.
void JackClient::keep_peers(const JackLibrary& library) {
    std::shared_ptr<JackSession> session;
    {
        std::lock_guard lock(session_mutex_);
        session = session_;
    }
    if (!session || session->lost || !session->graph_changed.exchange(false)) return;
    std::vector<Peer> now;
    for (std::size_t p = 0; p < session->ports.size(); ++p) {
        const char** found = library.port_get_all_connections(session->client, session->ports[p]);
        for (const char** name = found; name && *name; ++name) now.push_back({p, *name, true});
        if (found) library.free(found);
    }
    for (const Peer& peer : peers_) {
        if (std::any_of(now.begin(), now.end(), [&](const Peer& p) { return p.port == peer.port && p.name == peer.name; })) continue;
        if (!library.port_by_name(session->client, peer.name.c_str())) {
            now.push_back({peer.port, peer.name, false});
        } else if (!peer.present && peer.port < session->ports.size()) {
            const std::string own = library.port_name(session->ports[peer.port]);
            try {
                kind_ == JackKind::capture ? connect_jack_ports(library, session->client, peer.name, own) : connect_jack_ports(library, session->client, own, peer.name);
                now.push_back({peer.port, peer.name, true});
            } catch (const Error& error) {
                logger.info("{}", error.what());
            }
        }
    }
    if (!session->lost) peers_ = std::move(now);
}

}  // namespace castile::devices
