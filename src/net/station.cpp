// One Station a port that has mounts: its page, its status, and the events it pushes to who watches.

#include "net/station.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <list>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/settings.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "net/metrics.h"
#include "net/mount.h"
#include "sched/scheduler.h"
#include "station_page.inc"

namespace castile {

namespace {

using Json = nlohmann::json;

Setting<std::string> station_name{"station.name", "", "Name of the station on its page; empty: the name of its first mount."};
Setting<std::string> station_description{"station.description", "", "A line about the station on its page."};
Setting<bool> station_metrics{"station.metrics", true, "Serve /metrics, for Prometheus, on every port that has a mount."};

constexpr auto event_interval = std::chrono::milliseconds(100);
constexpr int events_per_heartbeat = 150;
constexpr std::size_t max_pending_events = 64u << 10, max_watchers = 256;

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::vector<MountStatus> statuses(unsigned short port) {
    std::vector<MountStatus> result;
    for (const auto& mount : open_mounts()) {
        if (port == 0 || mount->options().port == port) result.push_back(mount->status());
    }
    return result;
}

Json status_json(unsigned short port) {
    Json mounts = Json::array();
    int listeners = 0;
    std::string name = station_name.get(), description = station_description.get();
    for (const auto& m : statuses(port)) {
        listeners += m.listeners;
        if (name.empty()) name = m.name;
        if (description.empty()) description = m.description;
        mounts.push_back({{"path", m.path}, {"port", m.port}, {"tls", m.tls}, {"content_type", m.content_type}, {"name", m.name},
                          {"description", m.description}, {"genre", m.genre}, {"url", m.url}, {"bitrate", m.bitrate}, {"listeners", m.listeners},
                          {"listener_peak", m.peak_listeners}, {"connections", m.connections}, {"dropped_listeners", m.dropped_listeners},
                          {"bytes_sent", m.bytes_sent}, {"title", m.title}, {"artist", m.artist}, {"song", m.song}, {"title_since", m.title_since},
                          {"started", m.started}, {"burst_seconds", m.burst_seconds}, {"on_air", m.on_air}});
    }
    return {{"station", {{"name", name.empty() ? "Radio" : name}, {"description", description}}},
            {"server", http_user_agent()}, {"listeners", listeners}, {"mounts", std::move(mounts)}};
}

// What changes all the time does not make a new status worth sending.
Json without_counters(Json status) {
    for (auto& mount : status["mounts"]) mount.erase("bytes_sent");
    return status;
}

std::string event(std::string_view name, const std::string& data) { return fmt::format("event: {}\ndata: {}\n\n", name, data); }

/// Who has /api/events open.
class Watcher : public std::enable_shared_from_this<Watcher> {
public:
    explicit Watcher(NetStreamPtr stream) : stream_(std::move(stream)) {}

    /// Any thread. What a slow watcher cannot take is left out, it gets the next.
    void send(std::string text) {
        stream_->run([self = shared_from_this(), text = std::move(text)] {
            if (self->out_.size() + text.size() > max_pending_events) return;
            self->out_ += text;
            if (!self->waiting_) self->pump();
        });
    }
    void watch_peer() {
        std::uint8_t block[256];
        const auto result = stream_->read(block);
        if (result.state == NetStream::State::again) return stream_->wait_readable([self = shared_from_this()] { self->watch_peer(); });
        leave();
    }
    void end() {
        stream_->run([self = shared_from_this()] { self->leave(); });
    }
    std::function<void()> on_leave;

private:
    void pump() {
        while (!out_.empty()) {
            const auto result = stream_->write({reinterpret_cast<const std::uint8_t*>(out_.data()), out_.size()});
            if (result.state == NetStream::State::again) {
                waiting_ = true;
                return stream_->wait_writable([self = shared_from_this()] {
                    self->waiting_ = false;
                    self->pump();
                });
            }
            if (result.state != NetStream::State::ok) return leave();
            out_.erase(0, result.bytes);
        }
    }
    void leave() {
        stream_->close();
        if (on_leave) std::exchange(on_leave, nullptr)();
    }

    const NetStreamPtr stream_;
    std::string out_;
    bool waiting_ = false;
};

class Station : public std::enable_shared_from_this<Station> {
public:
    explicit Station(unsigned short port) : port_(port) {}
    ~Station() {
        for (const auto& watcher : watchers_) watcher->end();
    }

    void open(const TransportPtr& transport) {
        const auto serve = [&](const std::string& path, HttpHandler handler) {
            HttpRoute route;
            route.path = path;
            route.fallback = true;
            routes_.push_back(register_http(port_, transport, std::move(route), std::move(handler)));
        };
        serve_file(serve, "/", "text/html; charset=utf-8", {reinterpret_cast<const char*>(index_html), sizeof index_html});
        serve_file(serve, "/station.css", "text/css; charset=utf-8", {reinterpret_cast<const char*>(station_css), sizeof station_css});
        serve_file(serve, "/station.js", "text/javascript; charset=utf-8", {reinterpret_cast<const char*>(station_js), sizeof station_js});
        if (station_metrics.get()) routes_.push_back(serve_metrics(port_, transport));
        serve("/api/status", [port = port_](const HttpExchangePtr& exchange) { json(exchange, station_status_json(port)); });
        serve("/status-json.xsl", [port = port_](const HttpExchangePtr& exchange) {
            const auto* host = exchange->request().header("host");
            json(exchange, icecast_status_json(port, host ? *host : fmt::format("localhost:{}", port)));
        });
        serve("/api/events", [weak = weak_from_this()](const HttpExchangePtr& exchange) {
            if (const auto self = weak.lock()) self->watch(exchange);
        });
    }

private:
    template <class Serve>
    static void serve_file(const Serve& serve, const std::string& path, const char* type, std::string_view content) {
        serve(path, [type, content](const HttpExchangePtr& exchange) {
            exchange->reply({200, type, std::string(content),
                             {{"Cache-Control", "no-cache"}, {"X-Content-Type-Options", "nosniff"},
                              {"Content-Security-Policy", "default-src 'self'; media-src *; img-src 'self' data:; style-src 'self' 'unsafe-inline'"}}, ""});
        });
    }
    static void json(const HttpExchangePtr& exchange, std::string text) {
        exchange->reply({200, "application/json; charset=utf-8", std::move(text), {{"Access-Control-Allow-Origin", "*"}, {"Cache-Control", "no-cache"}}, ""});
    }

    void watch(const HttpExchangePtr& exchange) {
        {
            std::lock_guard lock(watchers_mutex_);
            if (watchers_.size() >= max_watchers) return exchange->reply({503, "text/plain; charset=utf-8", "Too many watchers.\n", {{"Retry-After", "30"}}, ""});
        }
        const std::string head = fmt::format("HTTP/1.1 200 OK\r\nServer: {}\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache, no-transform\r\n"
                                             "Access-Control-Allow-Origin: *\r\nX-Accel-Buffering: no\r\nConnection: close\r\n\r\n", http_user_agent());
        if (exchange->request().method == "HEAD") return exchange->reply_raw(head);
        const auto stream = exchange->take_stream();
        if (!stream) return;
        auto watcher = std::make_shared<Watcher>(stream);
        watcher->on_leave = [weak = weak_from_this(), raw = watcher.get()] {
            const auto self = weak.lock();
            if (!self) return;
            std::lock_guard lock(self->watchers_mutex_);
            self->watchers_.remove_if([raw](const auto& w) { return w.get() == raw; });
        };
        watcher->send(head + "retry: 2000\n\n" + event("status", station_status_json(port_)));
        watcher->watch_peer();
        std::lock_guard lock(watchers_mutex_);
        watchers_.push_back(watcher);
        if (timer_) return;
        timer_ = std::make_unique<boost::asio::steady_timer>(scheduler().io());
        tick_later();
    }

    void tick_later() {  // watchers_mutex_ held
        timer_->expires_after(event_interval);
        timer_->async_wait([weak = weak_from_this()](boost::system::error_code error) {
            const auto self = weak.lock();
            if (!error && self) self->tick();
        });
    }

    void tick() {
        std::string text;
        Json levels = Json::object();
        for (const auto& mount : open_mounts()) {
            if (mount->options().port != port_) continue;
            const Levels now = mount->meter().take();
            if (now.channels == 0) continue;
            Json peak = Json::array(), rms = Json::array();
            const auto short_form = [](float x) { return std::round(x * 10000) / 10000.0; };
            for (int i = 0; i < now.channels; ++i) {
                peak.push_back(short_form(now.peak[static_cast<std::size_t>(i)]));
                rms.push_back(short_form(now.rms[static_cast<std::size_t>(i)]));
            }
            levels[mount->options().path] = {{"peak", std::move(peak)}, {"rms", std::move(rms)}};
        }
        if (!levels.empty()) text += event("levels", dump(levels));
        if (++ticks_ % 3 == 0) {
            const Json status = status_json(port_);
            std::string comparable = dump(without_counters(status));
            if (comparable != last_status_ || ticks_ >= events_per_heartbeat) {
                last_status_ = std::move(comparable);
                text += event("status", dump(status));
                ticks_ = 0;
            }
        }
        std::vector<std::shared_ptr<Watcher>> all;
        {
            std::lock_guard lock(watchers_mutex_);
            if (watchers_.empty()) {
                timer_.reset();
                return;
            }
            all.assign(watchers_.begin(), watchers_.end());
            tick_later();
        }
        if (text.empty()) return;
        for (const auto& watcher : all) watcher->send(text);
    }

    const unsigned short port_;
    std::vector<std::shared_ptr<void>> routes_;
    std::mutex watchers_mutex_;
    std::list<std::shared_ptr<Watcher>> watchers_;
    std::unique_ptr<boost::asio::steady_timer> timer_;
    int ticks_ = 0;
    std::string last_status_;
};

struct Stations {
    std::mutex stations_mutex;
    std::map<unsigned short, std::weak_ptr<Station>> by_port;
};

}  // namespace

std::shared_ptr<void> show_station(unsigned short port, const TransportPtr& transport) {
    static auto* stations = new Stations;
    std::lock_guard lock(stations->stations_mutex);
    auto& known = stations->by_port[port];
    if (auto station = known.lock()) return station;
    auto station = std::make_shared<Station>(port);
    station->open(transport);
    known = station;
    return station;
}

std::string station_status_json(unsigned short port) {
    Json status = status_json(port);
    status["time"] = scheduler().time().wall();
    return dump(status);
}

std::string icecast_status_json(unsigned short port, const std::string& host) {
    Json sources = Json::array();
    for (const auto& m : statuses(port)) {
        if (!m.on_air) continue;
        // Panels take an empty title for "stream offline": there is always one.
        const std::string title = !m.song.empty() ? m.song : !m.name.empty() ? m.name : m.path;
        Json source = {{"listenurl", fmt::format("{}://{}{}", m.tls ? "https" : "http", host, m.path)}, {"listeners", m.listeners},
                       {"listener_peak", m.peak_listeners}, {"server_type", m.content_type}, {"server_name", m.name},
                       {"server_description", m.description}, {"genre", m.genre}, {"server_url", m.url}, {"title", title}};
        if (!m.artist.empty()) source["artist"] = m.artist;
        if (m.bitrate > 0) source["bitrate"] = m.bitrate / 1000;
        sources.push_back(std::move(source));
    }
    Json stats = {{"server_id", http_user_agent()}, {"host", host.substr(0, host.rfind(':'))}};
    if (sources.size() == 1) stats["source"] = sources[0];  // Icecast's own habit, which its readers expect
    else if (!sources.empty()) stats["source"] = std::move(sources);
    return dump({{"icestats", std::move(stats)}});
}

}  // namespace castile
