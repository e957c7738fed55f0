#include "request/request.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <map>
#include <mutex>

#include "base/log.h"
#include "base/settings.h"
#include "request/annotate.h"
#include "request/file_readers.h"
#include "sched/scheduler.h"

namespace castile {

namespace {

Setting<double> timeout_setting("request.timeout", 29., "Seconds that a request may take to be resolved.");
Setting<int> prefetch_setting("request.prefetch", 1, "How many requests a source prepares ahead.");
Setting<int> leak_setting("request.leak_warning", 100, "A warning is logged at each multiple of that number of live requests.");
Setting<bool> on_air_setting("request.deprecated_on_air_metadata", false,
                             "Add `on_air` and `on_air_timestamp` to the metadata of requests.");
Setting<bool> duration_setting("request.metadata_decoders.duration", false, "Add `duration` to the metadata when the tags have none.");

constexpr std::size_t max_log_lines = 200;
constexpr int max_steps = 50;   // protocols leading to protocols
constexpr std::size_t max_indicators = 1000;

const Logger& logger() {
    static const Logger log("request");
    return log;
}

struct Pool {
    std::mutex requests_mutex;
    std::map<int, std::weak_ptr<Request>> requests;
    int next_id = 0;
};

Pool& pool() {
    static Pool* pool = new Pool;  // outlives every static
    return *pool;
}

std::string date(double wall) {
    const std::time_t seconds = static_cast<std::time_t>(wall);
    std::tm local{};
    localtime_r(&seconds, &local);
    char text[32];
    std::strftime(text, sizeof text, "%Y/%m/%d %H:%M:%S", &local);
    return text;
}

double wall_now() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

Failure failure(Failure::Kind kind, std::string message) { return {kind, std::move(message)}; }

std::optional<double> number(const std::string& text) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (end == text.c_str()) return std::nullopt;
    return value;
}

}  // namespace

struct Request::Inner {
    struct Indicator {
        std::string uri;
        bool temporary = false;
    };

    mutable std::mutex resolve_mutex;   // held while resolving: a second caller waits
    std::optional<std::expected<void, Failure>> outcome;   // guarded by resolve_mutex

    mutable std::mutex data_mutex;      // guards all below
    RequestOptions options;
    Metadata annotations, tags;
    std::vector<Indicator> indicators;
    std::deque<std::string> log;
    std::string filename;
    std::unique_ptr<Decoder> decoder;
    double resolving_since = 0;
    int airings = 0;
    std::optional<double> first_airing;

    void say(int id, std::string line) {
        if (log_enabled(LogLevel::info)) log_line(LogLevel::info, "request." + std::to_string(id), line);
        std::lock_guard lock(data_mutex);
        log.push_back("[" + date(wall_now()) + "] " + line);
        if (log.size() > max_log_lines) log.pop_front();
    }

    void push(int id, std::string uri, bool temporary) {
        say(id, "Pushed [\"" + uri + "\";...].");
        std::lock_guard lock(data_mutex);
        if (indicators.size() < max_indicators) indicators.push_back({std::move(uri), temporary});
    }

    void remove_temporary_files() {
        std::vector<std::string> paths;
        {
            std::lock_guard lock(data_mutex);
            for (Indicator& indicator : indicators)
                if (std::exchange(indicator.temporary, false)) paths.push_back(local_path(indicator.uri));
        }
        for (const std::string& path : paths)
            if (unlink(path.c_str()) != 0 && errno != ENOENT)
                logger().severe("Could not remove the temporary file \"{}\".", path);
    }
};

double default_request_timeout() { return timeout_setting.get(); }
int default_request_prefetch() { return std::max(1, prefetch_setting.get()); }

const char* to_string(Request::State state) noexcept {
    switch (state) {
        case Request::State::idle: return "idle";
        case Request::State::resolving: return "resolving";
        case Request::State::ready: return "ready";
        case Request::State::playing: return "playing";
        case Request::State::failed: return "failed";
        case Request::State::destroyed: return "destroyed";
    }
    return "";
}

RequestPtr Request::create(std::string uri, RequestOptions options) {
    RequestPtr request(new Request);
    request->uri_ = std::move(uri);
    request->inner_ = std::make_unique<Inner>();
    request->inner_->annotations = std::move(options.metadata);
    const bool temporary = options.temporary;
    request->inner_->options = std::move(options);
    std::size_t alive = 0;
    {
        std::lock_guard lock(pool().requests_mutex);
        request->id_ = pool().next_id++;
        pool().requests.emplace(request->id_, request);
        alive = pool().requests.size();
    }
    const int leak = leak_setting.get();
    if (leak > 0 && alive % static_cast<std::size_t>(leak) == 0)
        logger().severe("There are {} requests alive: something creates them without playing or destroying them.", alive);
    request->inner_->push(request->id_, request->uri_, temporary);
    return request;
}

Request::~Request() {
    inner_->remove_temporary_files();
    std::lock_guard lock(pool().requests_mutex);
    pool().requests.erase(id_);
}

std::vector<RequestPtr> all_requests() {
    std::vector<RequestPtr> all;
    std::lock_guard lock(pool().requests_mutex);
    for (const auto& [id, weak] : pool().requests)
        if (RequestPtr request = weak.lock()) all.push_back(std::move(request));
    return all;
}

RequestPtr find_request(int id) {
    std::lock_guard lock(pool().requests_mutex);
    const auto found = pool().requests.find(id);
    return found == pool().requests.end() ? nullptr : found->second.lock();
}

std::string Request::filename() const {
    std::lock_guard lock(inner_->data_mutex);
    return inner_->filename;
}

Metadata Request::metadata() const {
    std::lock_guard lock(inner_->data_mutex);
    Metadata all = inner_->tags;
    for (const auto& [label, value] : inner_->annotations.entries()) all.set(label, value);
    all.set("rid", std::to_string(id_));
    all.set("initial_uri", uri_);
    all.set("temporary", !inner_->indicators.empty() && inner_->indicators.back().temporary ? "true" : "false");
    if (!inner_->filename.empty()) all.set("filename", inner_->filename);
    if (inner_->first_airing && on_air_setting.get()) {
        all.set("on_air", date(*inner_->first_airing));
        all.set("on_air_timestamp", fmt::format("{:.2f}", *inner_->first_airing));
    }
    const State state = state_;
    if (state == State::resolving) all.set("resolving", date(inner_->resolving_since));
    // A request that plays is still "ready" to whoever reads its metadata, as it always was.
    all.set("status", to_string(state == State::playing ? State::ready : state));
    return all;
}

void Request::set_metadata(Metadata m) {
    std::lock_guard lock(inner_->data_mutex);
    for (const auto& [label, value] : m.entries()) inner_->annotations.set(label, value);
}

std::vector<std::string> Request::log() const {
    std::lock_guard lock(inner_->data_mutex);
    return {inner_->log.begin(), inner_->log.end()};
}

namespace {

// What following protocols led to.
struct Found {
    std::string path;
};

}  // namespace

/// The steps of a resolution. One thread, the resolver's.
struct RequestAccess {
    Request& request;
    std::chrono::steady_clock::time_point deadline;
    double timeout;
    int steps = 0;

    void say(std::string line) { request.inner_->say(request.id_, std::move(line)); }
    double left() const { return std::chrono::duration<double>(deadline - std::chrono::steady_clock::now()).count(); }

    std::expected<Found, Failure> fail(Failure::Kind kind, std::string message) {
        say(message);
        return std::unexpected(failure(kind, std::move(message)));
    }

    std::expected<Found, Failure> follow(const std::string& uri) {
        if (++steps > max_steps) return fail(Failure::Kind::invalid, "Too many protocols, each leading to the next!");
        if (left() <= 0) return fail(Failure::Kind::timeout, fmt::format("No answer within {:.0f} seconds.", timeout));
        const std::string path = local_path(uri);
        if (!path.empty() && access(path.c_str(), F_OK) == 0) return file(path);
        const auto split = split_uri(uri);
        if (!split || uri.starts_with('/'))
            return fail(Failure::Kind::not_found, fmt::format("Nonexistent file or ill-formed URI \"{}\"!", uri));
        const auto protocol = find_protocol(split->first);
        if (!protocol) return fail(Failure::Kind::not_found, fmt::format("Nonexistent file or unknown protocol \"{}\"!", uri));
        say(fmt::format("Resolving \"{}\" (timeout {:.0f}s)...", uri, left()));
        return ask(*protocol, split->second);
    }

    std::expected<Found, Failure> file(const std::string& path) {
        if (access(path.c_str(), R_OK) != 0)
            return fail(Failure::Kind::denied, fmt::format("Read permission denied for \"{}\"!", path));
        struct stat status{};
        if (stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode))
            return fail(Failure::Kind::unsupported, fmt::format("\"{}\" is a folder, not a file!", path));
        for (const FileDecoder& decoder : file_decoders_for(path))
            if (const auto decoded = decode_by_script(decoder, path)) {
                request.inner_->push(request.id_, decoded->uri, decoded->temporary);
                return follow(decoded->uri);
            }
        return Found{path};
    }

    std::optional<FileDecoder::Result> decode_by_script(const FileDecoder& decoder, const std::string& path) {
        if (++steps > max_steps || left() <= 0) return std::nullopt;
        try {
            return decoder.decode(path, left());
        } catch (const std::exception& error) {
            say(fmt::format("The decoder {} failed: {}", decoder.name, error.what()));
            return std::nullopt;
        }
    }

    std::expected<Found, Failure> ask(const Protocol& protocol, const std::string& rest) {
        std::expected<ProtocolResult, Failure> result = std::unexpected(Failure{});
        try {
            result = protocol.function(rest, left());
        } catch (const std::exception& error) {
            result = std::unexpected(failure(Failure::Kind::other, error.what()));
        }
        if (!result) return fail(result.error().kind, result.error().message);
        request.set_metadata(std::move(result->metadata));
        for (const std::string& uri : result->uris) request.inner_->push(request.id_, uri, result->temporary);
        std::expected<Found, Failure> last = std::unexpected(failure(Failure::Kind::not_found, "Nothing was found."));
        for (const std::string& uri : result->uris) {
            last = follow(uri);
            if (last || last.error().kind == Failure::Kind::timeout) break;
        }
        return last;
    }

    std::optional<double> cue(const std::optional<std::string>& label) const {
        if (!label) return std::nullopt;
        const Metadata all = request.metadata();
        const std::string* text = all.find(*label);
        if (!text) return std::nullopt;
        const auto value = number(*text);
        if (!value) logger().important("Invalid cue metadata {}: {}", *label, *text);
        return value;
    }

    DecoderOptions decoder_options() const {
        DecoderOptions options{cue(request.inner_->options.cue_in_metadata), cue(request.inner_->options.cue_out_metadata)};
        if (options.cue_in && *options.cue_in <= 0) options.cue_in.reset();
        return options;
    }

    void read_tags(const std::string& path) {
        Metadata tags;
        const Metadata read = read_file_metadata(path);
        for (const auto& [label, value] : read.entries()) {
            std::string lower = label;
            for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
            if (!tags.find(lower)) tags.set(lower, utf8_or_latin1(value));
        }
        if (duration_setting.get() && !tags.find("duration"))
            if (const auto seconds = file_duration(path)) tags.set("duration", fmt::format("{}", *seconds));
        tags = with_script_metadata(std::move(tags), request.metadata(), path);
        std::lock_guard lock(request.inner_->data_mutex);
        request.inner_->tags = std::move(tags);
    }

    std::expected<void, Failure> run() {
        const auto found = follow(request.uri_);
        if (!found) return std::unexpected(found.error());
        Request::Inner& inner = *request.inner_;
        {
            std::lock_guard lock(inner.data_mutex);
            inner.filename = found->path;
        }
        if (!inner.options.open) return {};
        if (inner.options.resolve_metadata) read_tags(found->path);
        auto decoder = open_decoder(found->path, decoder_options());
        if (!decoder) {
            say(decoder.error().message);
            return std::unexpected(decoder.error());
        }
        std::lock_guard lock(inner.data_mutex);
        inner.decoder = std::move(*decoder);
        return {};
    }
};

std::expected<void, Failure> Request::resolve(double timeout_seconds) {
    std::lock_guard resolving(inner_->resolve_mutex);
    if (state_ == State::destroyed) return std::unexpected(failure(Failure::Kind::invalid, "The request was destroyed."));
    if (inner_->outcome) return *inner_->outcome;
    {
        std::lock_guard lock(inner_->data_mutex);
        inner_->resolving_since = wall_now();
    }
    state_ = State::resolving;
    const auto limit = std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(timeout_seconds));
    RequestAccess access{*this, std::chrono::steady_clock::now() + limit, timeout_seconds};
    try {
        inner_->outcome = access.run();
    } catch (const std::exception& error) {
        inner_->outcome = std::unexpected(failure(Failure::Kind::other, error.what()));
    }
    State expected = State::resolving;   // not if destroyed meanwhile
    state_.compare_exchange_strong(expected, *inner_->outcome ? State::ready : State::failed);
    if (!*inner_->outcome) inner_->say(id_, "Every possibility failed!");
    if (expected == State::destroyed) destroy(true);
    return *inner_->outcome;
}

namespace {

// Calls `done` once: when resolved, or when that took too long.
struct Once {
    explicit Once(std::function<void(bool)> f) : done(std::move(f)) {}
    std::atomic<bool> called = false;
    std::function<void(bool)> done;
    void call(bool ok) {
        if (!called.exchange(true)) std::exchange(done, nullptr)(ok);
    }
};

}  // namespace

void Request::resolve_async(double timeout_seconds, std::function<void(bool ok)> done) {
    auto once = std::make_shared<Once>(std::move(done));
    const auto limit = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(timeout_seconds + 1));
    auto cancel = scheduler().after(limit, [once] { once->call(false); });
    scheduler().blocking([self = shared_from_this(), once, timeout_seconds, cancel = std::move(cancel)] {
        const bool ok = self->resolve(timeout_seconds).has_value();
        cancel();
        scheduler().post([once, ok] { once->call(ok); });
    });
}

std::unique_ptr<Decoder> Request::take_decoder() {
    std::lock_guard lock(inner_->data_mutex);
    return std::move(inner_->decoder);
}

std::expected<std::unique_ptr<Decoder>, Failure> Request::open_again() const {
    const std::string path = filename();
    if (path.empty()) return std::unexpected(failure(Failure::Kind::invalid, "The request is not resolved."));
    RequestAccess access{const_cast<Request&>(*this), {}, 0};
    return open_decoder(path, access.decoder_options());
}

void Request::on_air() {
    {
        std::lock_guard lock(inner_->data_mutex);
        ++inner_->airings;
        if (!inner_->first_airing) inner_->first_airing = wall_now();
    }
    State expected = State::ready;
    state_.compare_exchange_strong(expected, State::playing);
}

void Request::off_air() {
    {
        std::lock_guard lock(inner_->data_mutex);
        if (--inner_->airings > 0) return;
        inner_->first_airing.reset();
    }
    State expected = State::playing;
    state_.compare_exchange_strong(expected, State::ready);
}

void Request::destroy(bool force) {
    if (inner_->options.persistent && !force) return;
    const bool again = state_.exchange(State::destroyed) == State::destroyed;
    inner_->remove_temporary_files();
    {
        std::lock_guard lock(inner_->data_mutex);
        inner_->decoder.reset();
    }
    if (!again) inner_->say(id_, "Request destroyed.");
}

}  // namespace castile
