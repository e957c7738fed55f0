// The shared log of a mount's bytes, its listeners as positions in it.

#include "net/mount.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <list>

#include "base/error.h"
#include "net/http_client.h"
#include "net/icy.h"
#include "net/network.h"
#include "net/station.h"
#include "sched/scheduler.h"

namespace castile {

namespace {

constexpr std::size_t write_block = 16u << 10;    // a listener's own buffer, at most this and a title
constexpr std::size_t max_queue = 4u << 20;       // bytes between two flushes: more means that nobody flushes
constexpr int watched_for_ticks = 150;            // levels are measured so long after the last look

struct Registry {
    std::mutex mounts_mutex;
    std::vector<std::weak_ptr<Mount>> mounts;
};

Registry& registry() {
    static auto* registry = new Registry;
    return *registry;
}

class Listener;

}  // namespace

/// What the flush appends to and listeners read from. Positions count bytes since the mount was made.
struct Mount::Shared {
    struct Chunk { Bytes data; std::uint64_t begin; double time; };   // stream time of its first byte
    struct Change { std::uint64_t at; std::string block, song; };
    mutable std::mutex log_mutex;
    std::deque<Chunk> chunks;
    std::deque<Change> titles;
    std::deque<std::pair<std::uint64_t, Bytes>> headers;
    std::uint64_t end = 0;
    double time = 0;
    bool closed = false;
    MountStatus status;

    std::mutex listeners_mutex;
    std::list<std::shared_ptr<Listener>> listeners;
    std::atomic<std::uint64_t> bytes_sent = 0;

    std::uint64_t begin() const noexcept { return chunks.empty() ? end : chunks.front().begin; }
};

namespace {

class Listener : public std::enable_shared_from_this<Listener> {
public:
    Listener(NetStreamPtr stream, std::shared_ptr<Mount> mount, std::shared_ptr<Mount::Shared> shared, bool icy, std::string head)
        : stream_(std::move(stream)), mount_(std::move(mount)), shared_(std::move(shared)), out_(std::move(head)) {
        if (icy) icy_.emplace(mount_->options().metaint);
        id_ = fmt::format("{}:{}", stream_->peer(), stream_->peer_port());
    }

    const std::string& id() const noexcept { return id_; }

    /// Where to begin: `burst` behind the end. log_mutex held.
    void join(std::uint64_t position, const Bytes& header) {
        position_ = position;
        if (!header || header->empty()) return;
        append({header->data(), header->size()});
    }

    /// On the strand: as much as the socket takes.
    void pump() {
        while (!done_) {
            if (written_ == out_.size()) {
                out_.clear();
                written_ = 0;
                if (!fetch()) break;
            }
            const auto result = stream_->write({reinterpret_cast<const std::uint8_t*>(out_.data()) + written_, out_.size() - written_});
            if (result.state == NetStream::State::ok) {
                written_ += result.bytes;
                shared_->bytes_sent += result.bytes;
                progressed_ = true;
                continue;
            }
            if (result.state != NetStream::State::again) return leave(stream_->error().empty() ? "closed" : stream_->error());
            waiting_ = true;
            stream_->wait_writable([self = shared_from_this()] {
                self->waiting_ = false;
                self->pump();
            });
            if (!ending_) watch_progress();
            return;
        }
        if (done_) return;
        if (out_.capacity() > 4096) std::string().swap(out_);
        if (timed_) stream_->cancel_timer();
        timed_ = false;
        if (ending_) leave("end of the stream");
    }

    /// Any thread: there is more in the log.
    void more() {
        stream_->run([self = shared_from_this()] {
            if (!self->waiting_) return self->pump();
            if (self->late()) self->leave("too slow");  // its socket may never take another byte
        });
    }

    /// Any thread: sends what is left, then ends.
    void end() {
        stream_->run([self = shared_from_this(), busy = network_busy()] {
            self->ending_ = true;
            if (!self->waiting_) self->pump();
            if (!self->done_) self->stream_->after(std::chrono::milliseconds(500), [self, busy] { self->leave("end of the stream"); });
        });
    }

    /// On the strand, from the start: notices that the peer went.
    void watch_peer() {
        std::uint8_t block[512];
        for (int rounds = 0; rounds < 16; ++rounds) {
            const auto result = stream_->read(block);
            if (result.state == NetStream::State::ok) continue;  // what a listener says is not listened to
            if (result.state == NetStream::State::again) {
                stream_->wait_readable([self = shared_from_this()] { self->watch_peer(); });
                return;
            }
            return leave("closed");
        }
        leave("sends data");
    }

    std::function<void(const std::string& reason)> on_leave;

private:
    void append(ByteSpan data) {
        if (!icy_) {
            out_.append(reinterpret_cast<const char*>(data.data()), data.size());
            return;
        }
        icy_->append(data, out_, [this] { return title_block(); });
    }

    // The title that holds at the current position, once. log_mutex held.
    std::string title_block() {
        const Mount::Shared::Change* current = nullptr;
        for (const auto& change : shared_->titles) {
            if (change.at <= block_position_) current = &change;
        }
        if (!current || (title_sent_ && title_sent_at_ == current->at)) return {};
        title_sent_ = true;
        title_sent_at_ = current->at;
        return current->block;
    }

    bool late() {
        std::lock_guard lock(shared_->log_mutex);
        return !done_ && position_ < shared_->begin();
    }

    // The next bytes of the log into out_; false: none, or this listener is too late.
    bool fetch() {
        std::unique_lock lock(shared_->log_mutex);
        if (position_ >= shared_->end) return false;
        if (position_ < shared_->begin()) {
            lock.unlock();
            leave("too slow");
            return false;
        }
        const auto first = std::ranges::upper_bound(shared_->chunks, position_, {}, &Mount::Shared::Chunk::begin) - 1;
        for (auto chunk = first; chunk != shared_->chunks.end() && out_.size() < write_block; ++chunk) {
            ByteSpan data{chunk->data->data(), chunk->data->size()};
            data = data.subspan(static_cast<std::size_t>(position_ - chunk->begin));
            data = data.first(std::min(data.size(), write_block - out_.size()));
            while (!data.empty()) {  // cut at block positions, so that a title is asked for where it stands
                const auto part = icy_ ? data.first(std::min(data.size(), icy_->until_block())) : data;
                block_position_ = position_ + part.size();
                append(part);
                position_ += part.size();
                data = data.subspan(part.size());
            }
            if (position_ < chunk->begin + chunk->data->size()) break;
        }
        return !out_.empty();
    }

    void watch_progress() {
        if (timed_ && !progressed_) return;
        timed_ = true;
        progressed_ = false;
        stream_->after(std::chrono::duration_cast<Duration>(std::chrono::duration<double>(mount_->options().timeout)), [self = shared_from_this()] {
            if (!self->done_) self->leave(fmt::format("no progress for {:.0f} seconds", self->mount_->options().timeout));
        });
    }

    void leave(const std::string& reason) {
        if (std::exchange(done_, true)) return;
        stream_->close();
        if (on_leave) std::exchange(on_leave, nullptr)(reason);
    }

    const NetStreamPtr stream_;
    const std::shared_ptr<Mount> mount_;
    const std::shared_ptr<Mount::Shared> shared_;
    std::string id_, out_;
    std::size_t written_ = 0;
    std::uint64_t position_ = 0, block_position_ = 0, title_sent_at_ = 0;
    std::optional<IcyInterleaver> icy_;
    bool title_sent_ = false, waiting_ = false, ending_ = false, done_ = false, timed_ = false, progressed_ = false;
};

}  // namespace

std::shared_ptr<Mount> Mount::create(MountOptions options, Logger log) {
    return std::shared_ptr<Mount>(new Mount(std::move(options), std::move(log)));
}

Mount::Mount(MountOptions options, Logger log) : options_(std::move(options)), log_(std::move(log)), shared_(std::make_shared<Shared>()) {}

Mount::~Mount() { close(); }

// --- Opening and closing ---------------------------------------------------------------------------------------------

void Mount::open() {
    if (route_) return;
    HttpRoute route;
    route.path = options_.path;
    route_ = register_http(options_.port, options_.transport, std::move(route), [weak = weak_from_this()](const HttpExchangePtr& exchange) {
        if (const auto self = weak.lock()) return self->accept(exchange);
        exchange->reply({404, "text/plain; charset=utf-8", "Not Found\n", {}, ""});
    });
    page_ = show_station(options_.port, options_.transport);
    {
        std::lock_guard lock(shared_->log_mutex);
        shared_->closed = false;
        shared_->status.started = scheduler().time().wall();
    }
    std::lock_guard lock(registry().mounts_mutex);
    std::erase_if(registry().mounts, [](const auto& weak) { return weak.expired(); });
    registry().mounts.push_back(weak_from_this());
}

void Mount::close() noexcept {
    if (!route_) return;
    flush();
    std::list<std::shared_ptr<Listener>> leaving;
    {
        std::scoped_lock lock(shared_->listeners_mutex, shared_->log_mutex);
        shared_->closed = true;
        leaving.swap(shared_->listeners);
    }
    for (const auto& listener : leaving) listener->end();
    {
        std::lock_guard lock(registry().mounts_mutex);
        std::erase_if(registry().mounts, [this](const auto& weak) { return weak.expired() || weak.lock().get() == this; });
    }
    page_.reset();
    route_.reset();
}

std::vector<std::shared_ptr<Mount>> open_mounts() {
    std::vector<std::shared_ptr<Mount>> result;
    std::lock_guard lock(registry().mounts_mutex);
    for (const auto& weak : registry().mounts) {
        if (auto mount = weak.lock()) result.push_back(std::move(mount));
    }
    return result;
}

// --- The tick --------------------------------------------------------------------------------------------------------

void Mount::append(ByteSpan data) noexcept {
    if (tick_.bytes.size() + data.size() <= max_queue) tick_.bytes.insert(tick_.bytes.end(), data.begin(), data.end());
}

void Mount::set_header(Bytes header) noexcept { tick_.header = std::move(header); }

void Mount::set_title(std::string artist, std::string title, std::string song) noexcept {
    tick_.titles.emplace_back(tick_.bytes.size(), Title{std::move(artist), std::move(title), std::move(song)});
}

void Mount::advance(double seconds) noexcept {
    tick_.seconds += seconds;
    if (watched_ticks_.load(std::memory_order_relaxed) > 0) watched_ticks_.fetch_sub(1, std::memory_order_relaxed);
    if (tick_.bytes.empty() && tick_.titles.empty() && !tick_.header) return;
    {
        std::lock_guard lock(queue_mutex_);
        if (queue_.bytes.size() > max_queue) queue_.bytes.clear();  // nobody flushes: the process is on its way out
        for (auto& [at, title] : tick_.titles) queue_.titles.emplace_back(queue_.bytes.size() + at, std::move(title));
        queue_.bytes.insert(queue_.bytes.end(), tick_.bytes.begin(), tick_.bytes.end());
        queue_.seconds += tick_.seconds;
        if (tick_.header) {
            queue_.header = std::move(tick_.header);
            queue_.header_at = queue_.bytes.size();
        }
    }
    tick_.bytes.clear();
    tick_.titles.clear();
    tick_.header = nullptr;
    tick_.seconds = 0;
    if (!flush_asked_.exchange(true)) flush_soon(shared_from_this());
}

void Mount::add_levels(int channel, std::span<const float> samples) noexcept {
    if (channel < 0 || channel >= static_cast<int>(meters_.size())) return;
    float peak = 0;
    double squares = 0;
    for (const float x : samples) {
        peak = std::max(peak, std::fabs(x));
        squares += static_cast<double>(x) * x;
    }
    std::lock_guard lock(levels_mutex_);
    auto& meter = meters_[static_cast<std::size_t>(channel)];
    meter.peak = std::max(meter.peak, peak);
    meter.squares += squares;
    meter.count += samples.size();
}

Levels Mount::take_levels() noexcept {
    Levels levels;
    watched_ticks_ = watched_for_ticks;
    std::lock_guard lock(levels_mutex_);
    for (std::size_t i = 0; i < meters_.size(); ++i) {
        auto& meter = meters_[i];
        if (meter.count == 0) break;
        levels.peak[i] = meter.peak;
        levels.rms[i] = static_cast<float>(std::sqrt(meter.squares / static_cast<double>(meter.count)));
        levels.channels = static_cast<int>(i) + 1;
        meter = {};
    }
    return levels;
}

// --- From the queue to the listeners ---------------------------------------------------------------------------------

void Mount::flush() noexcept {
    std::lock_guard flush_lock(flush_mutex_);
    flush_asked_ = false;
    {
        std::lock_guard lock(queue_mutex_);
        std::swap(queue_, flushing_);
    }
    try {
        take_batch(flushing_);
    } catch (const std::exception& error) {
        log_.severe("Data for listeners is lost: {}", error.what());
    }
    flushing_.bytes.clear();
    flushing_.titles.clear();
    flushing_.header = nullptr;
    flushing_.seconds = 0;
    std::vector<std::shared_ptr<Listener>> awake;  // a copy: a listener that leaves takes itself off the list
    {
        std::lock_guard lock(shared_->listeners_mutex);
        awake.assign(shared_->listeners.begin(), shared_->listeners.end());
    }
    for (const auto& listener : awake) listener->more();
}

void Mount::take_batch(const Batch& batch) {
    auto& log = *shared_;
    std::lock_guard lock(log.log_mutex);
    if (batch.header) log.headers.emplace_back(log.end + batch.header_at, batch.header);
    for (const auto& [at, title] : batch.titles) {
        log.titles.push_back({log.end + at, icy_block(from_utf8(title.song, options_.charset), options_.url), title.song});
        log.status.artist = title.artist;
        log.status.title = title.title;
        log.status.song = title.song;
        log.status.title_since = scheduler().time().wall();
    }
    if (!batch.bytes.empty()) {
        log.chunks.push_back({make_bytes(batch.bytes), log.end, log.time});
        log.end += batch.bytes.size();
    }
    log.time += batch.seconds;
    // The first chunk stays while a burst may begin in it or a slow listener may be there.
    while (log.chunks.size() > 1) {
        const auto& second = log.chunks[1];
        const bool burst = options_.burst_bytes ? log.end - second.begin < *options_.burst_bytes : log.time - second.time < options_.burst_seconds;
        if ((burst || log.end - second.begin < options_.buffer_bytes) && log.end - second.begin < max_queue * 4) break;
        log.chunks.pop_front();
    }
    while (log.titles.size() > 1 && log.titles[1].at <= log.begin()) log.titles.pop_front();
    while (log.headers.size() > 1 && log.headers[1].first <= log.begin()) log.headers.pop_front();
}

// --- Listeners -------------------------------------------------------------------------------------------------------

std::string Mount::answer_head(const HttpServerRequest& request, bool icy) const {
    std::string head = fmt::format("HTTP/{} 200 OK\r\nServer: {}\r\nContent-Type: {}\r\nConnection: close\r\nCache-Control: no-cache, no-store\r\n"
                                   "Access-Control-Allow-Origin: *\r\nAccess-Control-Expose-Headers: *\r\n",
                                   request.http_version, http_user_agent(), options_.content_type);
    const auto field = [&head](std::string_view name, std::string_view value) {
        if (value.empty() || value.find_first_of("\r\n") != value.npos) return;
        head += fmt::format("{}: {}\r\n", name, value);
    };
    field("icy-name", options_.name);
    field("icy-description", options_.description);
    field("icy-genre", options_.genre);
    field("icy-url", options_.url);
    if (options_.bitrate > 0) field("icy-br", std::to_string(options_.bitrate / 1000));
    if (icy) field("icy-metaint", std::to_string(options_.metaint));
    for (const auto& [name, value] : options_.headers) {
        if (!name.empty() && name.find_first_of("\r\n:") == name.npos) field(name, value);
    }
    return head + "\r\n";
}

void Mount::accept(const HttpExchangePtr& exchange) {
    if (!options_.authorise) return add_listener(exchange);
    const auto refuse = [realm = options_.path](const HttpExchangePtr& e) {
        e->reply({401, "text/plain; charset=utf-8", "Unauthorized\n", {{"WWW-Authenticate", fmt::format("Basic realm=\"{}\"", realm)}}, ""});
    };
    const auto& request = exchange->request();
    auto credentials = request.credentials();
    if (!credentials) {
        const auto *user = request.argument("user"), *password = request.argument("password");
        if (!user && !password) return refuse(exchange);
        credentials.emplace(user ? *user : "", password ? *password : "");
    }
    options_.authorise(credentials->first, credentials->second, request.peer, [self = shared_from_this(), exchange, refuse](bool granted) {
        exchange->stream()->run([self, exchange, refuse, granted] {
            if (granted) return self->add_listener(exchange);
            self->log_.info("Listener {} failed to authenticate.", exchange->request().peer);
            refuse(exchange);
        });
    });
}

void Mount::add_listener(const HttpExchangePtr& exchange) {
    const auto& request = exchange->request();
    const auto* wants_icy = request.header("icy-metadata");
    const bool icy = wants_icy && *wants_icy == "1" && options_.metaint > 0;
    std::string head = answer_head(request, icy);
    if (request.method == "HEAD") return exchange->reply_raw(std::move(head));
    const auto stream = exchange->take_stream();
    if (!stream) return;
    auto listener = std::make_shared<Listener>(stream, shared_from_this(), shared_, icy, std::move(head));
    listener->on_leave = [self = shared_from_this(), weak = std::weak_ptr(listener)](const std::string& reason) {
        const auto listener = weak.lock();
        if (!listener) return;
        if (reason == "too slow" || reason.starts_with("no progress")) {
            self->log_.important("Listener {} is dropped: {}.", listener->id(), reason);
            std::lock_guard lock(self->shared_->log_mutex);
            ++self->shared_->status.dropped_listeners;
        } else {
            self->log_.info("Listener {} disconnected ({}).", listener->id(), reason);
        }
        {
            std::lock_guard lock(self->shared_->listeners_mutex);
            self->shared_->listeners.remove(listener);
        }
        if (self->options_.on_disconnect) self->options_.on_disconnect(listener->id());
    };
    {
        std::scoped_lock lock(shared_->listeners_mutex, shared_->log_mutex);
        auto& log = *shared_;
        if (log.closed) return stream->close();
        auto first = log.chunks.begin();
        while (first != log.chunks.end() && (options_.burst_bytes ? log.end - first->begin > *options_.burst_bytes
                                                                  : log.time - first->time > options_.burst_seconds)) ++first;
        const std::uint64_t position = first == log.chunks.end() ? log.end : first->begin;
        Bytes header;
        for (const auto& [at, bytes] : log.headers) {
            if (at <= position) header = bytes;
        }
        listener->join(position, header);
        log.listeners.push_back(listener);
        ++log.status.connections;
        log.status.peak_listeners = std::max(log.status.peak_listeners, static_cast<int>(log.listeners.size()));
    }
    log_.info("New listener {}.", listener->id());
    if (options_.on_connect) options_.on_connect({request.headers, request.target, request.http_version, request.peer});
    listener->watch_peer();
    listener->more();
}

MountStatus Mount::status() const {
    MountStatus status;
    {
        std::scoped_lock lock(shared_->listeners_mutex, shared_->log_mutex);
        status = shared_->status;
        status.listeners = static_cast<int>(shared_->listeners.size());
        status.on_air = !shared_->closed && shared_->end > 0;
        status.burst_seconds = std::min(options_.burst_seconds, shared_->time);
        if (options_.burst_bytes && !shared_->chunks.empty() && shared_->time > shared_->chunks.front().time) {
            const double rate = static_cast<double>(shared_->end - shared_->begin()) / (shared_->time - shared_->chunks.front().time);
            if (rate > 0) status.burst_seconds = static_cast<double>(*options_.burst_bytes) / rate;
        }
    }
    status.bytes_sent = shared_->bytes_sent;
    status.path = options_.path;
    status.content_type = options_.content_type;
    status.name = options_.name;
    status.description = options_.description;
    status.genre = options_.genre;
    status.url = options_.url;
    status.bitrate = options_.bitrate;
    status.port = options_.port;
    status.tls = options_.transport && options_.transport->tls;
    return status;
}

}  // namespace castile
