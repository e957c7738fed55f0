// The shared log of a mount's bytes, its listeners as positions in it.

#include "net/mount.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "net/http_client.h"
#include "net/icy.h"
#include "net/listener.h"
#include "net/network.h"
#include "net/station.h"
#include "sched/scheduler.h"

namespace castile {

namespace {

constexpr std::size_t max_queue = 4u << 20;       // bytes between two flushes: more means that nobody flushes

struct Registry {
    std::mutex mounts_mutex;
    std::vector<std::weak_ptr<Mount>> mounts;
};

Registry& registry() {
    static auto* registry = new Registry;
    return *registry;
}

}  // namespace

std::shared_ptr<Mount> Mount::create(MountOptions options, Logger log) {
    return std::shared_ptr<Mount>(new Mount(std::move(options), std::move(log)));
}

Mount::Mount(MountOptions options, Logger log) : options_(std::move(options)), logger_(std::move(log)), log_(std::make_shared<MountLog>()) {}

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
        std::lock_guard lock(log_->log_mutex);
        log_->closed = false;
        log_->status.started = scheduler().time().wall();
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
        std::scoped_lock lock(log_->listeners_mutex, log_->log_mutex);
        log_->closed = true;
        leaving.swap(log_->listeners);
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
    meter_.tick();
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
        logger_.severe("Data for listeners is lost: {}", error.what());
    }
    flushing_.bytes.clear();
    flushing_.titles.clear();
    flushing_.header = nullptr;
    flushing_.seconds = 0;
    std::vector<std::shared_ptr<Listener>> awake;  // a copy: a listener that leaves takes itself off the list
    {
        std::lock_guard lock(log_->listeners_mutex);
        awake.assign(log_->listeners.begin(), log_->listeners.end());
    }
    for (const auto& listener : awake) listener->more();
}

void Mount::take_batch(const Batch& batch) {
    auto& log = *log_;
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
            self->logger_.info("Listener {} failed to authenticate.", exchange->request().peer);
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
    auto listener = std::make_shared<Listener>(stream, shared_from_this(), log_, icy, std::move(head));
    listener->on_leave = [self = shared_from_this(), weak = std::weak_ptr(listener)](const std::string& reason) {
        const auto listener = weak.lock();
        if (!listener) return;
        if (reason == "too slow" || reason.starts_with("no progress")) {
            self->logger_.important("Listener {} is dropped: {}.", listener->id(), reason);
            std::lock_guard lock(self->log_->log_mutex);
            ++self->log_->status.dropped_listeners;
        } else {
            self->logger_.info("Listener {} disconnected ({}).", listener->id(), reason);
        }
        {
            std::lock_guard lock(self->log_->listeners_mutex);
            self->log_->listeners.remove(listener);
        }
        if (self->options_.on_disconnect) self->options_.on_disconnect(listener->id());
    };
    {
        std::scoped_lock lock(log_->listeners_mutex, log_->log_mutex);
        auto& log = *log_;
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
    logger_.info("New listener {}.", listener->id());
    if (options_.on_connect) options_.on_connect({request.headers, request.target, request.http_version, request.peer});
    listener->watch_peer();
    listener->more();
}

MountStatus Mount::status() const {
    MountStatus status;
    {
        std::scoped_lock lock(log_->listeners_mutex, log_->log_mutex);
        status = log_->status;
        status.listeners = static_cast<int>(log_->listeners.size());
        status.on_air = !log_->closed && log_->end > 0;
        status.burst_seconds = std::min(options_.burst_seconds, log_->time);
        if (options_.burst_bytes && !log_->chunks.empty() && log_->time > log_->chunks.front().time) {
            const double rate = static_cast<double>(log_->end - log_->begin()) / (log_->time - log_->chunks.front().time);
            if (rate > 0) status.burst_seconds = static_cast<double>(*options_.burst_bytes) / rate;
        }
    }
    status.bytes_sent = log_->bytes_sent;
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
