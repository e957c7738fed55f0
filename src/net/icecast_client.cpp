// The state machine of a source connection: idle -> connecting -> answering -> streaming -> waiting -> connecting ...

#include "net/icecast_client.h"

#include <fmt/format.h>

#include <algorithm>

#include "net/http_client.h"
#include "net/http_head.h"
#include "net/icy.h"
#include "net/network.h"
#include "sched/scheduler.h"

namespace castile {

namespace {

constexpr std::size_t max_queue = 512u << 10;   // half a minute of 128 kb/s: as long as the default time-out
constexpr std::size_t kept_capacity = 32u << 10;
constexpr auto closing_time = std::chrono::milliseconds(500);

Duration from_seconds(double seconds) { return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds)); }

Failure refusal(int status, const std::string& reason, const IcecastOptions& options) {
    switch (status) {
        case 401: return {Failure::Kind::denied, fmt::format("401 {}: authentication failed, the server refuses user \"{}\" and this password", reason, options.user)};
        case 403: return {Failure::Kind::denied, fmt::format("403 {}: the server refuses mount {} (is it in use by another source?)", reason, options.mount)};
        case 404: return {Failure::Kind::not_found, fmt::format("404 {}: the server knows no mount {}", reason, options.mount)};
        default: return {Failure::Kind::refused, status == 0 ? "the server's answer is not HTTP" : fmt::format("the server answered {} {}", status, reason)};
    }
}

}  // namespace

std::shared_ptr<IcecastClient> IcecastClient::create(IcecastOptions options, Logger log) {
    return std::shared_ptr<IcecastClient>(new IcecastClient(std::move(options), std::move(log)));
}

IcecastClient::IcecastClient(IcecastOptions options, Logger log) : options_(std::move(options)), log_(std::move(log)) {
    if (options_.transport && options_.transport->tls) tls_ = TlsContext::create(*options_.transport, TlsContext::Side::client);
}

IcecastClient::~IcecastClient() = default;

// --- The producer ----------------------------------------------------------------------------------------------------

void IcecastClient::write(ByteSpan data) noexcept {
    if (data.empty() || !(session() & 1)) return;
    std::lock_guard lock(queue_mutex_);
    if (queue_.size() + data.size() > max_queue) {
        dropped_now_ += data.size();
        bytes_dropped_ += data.size();
        return;
    }
    queue_.insert(queue_.end(), data.begin(), data.end());
}

void IcecastClient::send_soon() noexcept {
    if (flush_asked_.load(std::memory_order_relaxed)) return;
    {
        std::lock_guard lock(queue_mutex_);
        if (queue_.empty()) return;
    }
    if (!flush_asked_.exchange(true)) flush_soon(shared_from_this());
}

void IcecastClient::flush() noexcept {
    flush_asked_ = false;
    std::uint64_t dropped = 0;
    {
        std::lock_guard lock(queue_mutex_);
        dropped = std::exchange(dropped_now_, 0);
    }
    if (dropped) log_.severe("The server is too slow: data is dropped.");
    NetStreamPtr stream;
    {
        std::lock_guard lock(state_mutex_);
        stream = stream_;
    }
    if (stream) stream->run([self = shared_from_this()] {
        if (!self->waiting_) self->pump();
    });
}

// --- Connecting ------------------------------------------------------------------------------------------------------

void IcecastClient::start() {
    {
        std::lock_guard lock(state_mutex_);
        if (running_) return;
        running_ = true;
        stopping_ = false;
    }
    connect();
}

void IcecastClient::connect() {
    log_.important("Connecting mount {} for {}@{}...", options_.mount, options_.user, options_.host);
    ConnectOptions to;
    to.host = options_.host;
    to.port = options_.port;
    to.prefer = options_.prefer;
    to.tls = tls_;
    to.timeout = from_seconds(options_.connection_timeout > 0 ? options_.connection_timeout : 120);
    to.user_timeout = from_seconds(std::max(options_.timeout, 1.0));
    unsigned attempt = 0;
    {
        std::lock_guard lock(state_mutex_);
        if (!running_) return;
        attempt = ++attempt_;
        cancel_retry_ = nullptr;
    }
    auto cancel = connect_stream(to, [self = shared_from_this(), attempt](std::expected<NetStreamPtr, Failure> result) {
        {
            std::lock_guard lock(self->state_mutex_);
            if (!self->running_ || attempt != self->attempt_) {
                if (result) (*result)->close();
                return;
            }
            self->cancel_connect_ = nullptr;
            if (result) self->stream_ = *result;
        }
        if (result) self->connected(*result);
        else self->lost(result.error());
    });
    std::lock_guard lock(state_mutex_);
    if (running_ && attempt == attempt_ && !stream_) cancel_connect_ = std::move(cancel);
}

std::string IcecastClient::head() const {
    const bool source = options_.method == "SOURCE";
    std::string head = fmt::format("{} {} HTTP/1.{}\r\n", options_.method, options_.mount, source && !options_.chunked ? 0 : 1);
    const auto field = [&head](std::string_view name, std::string_view value) {
        if (value.empty() || name.empty() || value.find_first_of("\r\n") != value.npos || name.find_first_of("\r\n:") != name.npos) return;
        head += fmt::format("{}: {}\r\n", name, value);
    };
    field("Host", fmt::format("{}:{}", options_.host, options_.port));
    field("Authorization", "Basic " + base64_encode(options_.user + ":" + options_.password));
    field("User-Agent", options_.user_agent.empty() ? http_user_agent() : options_.user_agent);
    field("Content-Type", options_.content_type);
    field("ice-name", from_utf8(options_.name, options_.charset));
    field("ice-description", from_utf8(options_.description, options_.charset));
    field("ice-genre", from_utf8(options_.genre, options_.charset));
    field("ice-url", options_.url);
    field("ice-public", options_.is_public ? "1" : "0");
    field("ice-audio-info", options_.audio_info);
    for (const auto& [name, value] : options_.headers) {
        if (name != "User-Agent") field(name, value);
    }
    if (options_.chunked) field("Transfer-Encoding", "chunked");
    if (!source) field("Expect", "100-continue");
    return head + "\r\n";
}

void IcecastClient::connected(NetStreamPtr stream) {
    out_ = head();
    written_ = 0;
    answer_.clear();
    waiting_ = timed_ = progressed_ = go_on_seen_ = false;
    stream->after(from_seconds(std::max(options_.timeout, 0.1)), [self = shared_from_this()] {
        self->lost({Failure::Kind::timeout, fmt::format("no answer within {:.0f} seconds", self->options_.timeout)});
    });
    send_head();
}

void IcecastClient::send_head() {
    while (written_ < out_.size()) {
        const auto result = stream_->write({reinterpret_cast<const std::uint8_t*>(out_.data()) + written_, out_.size() - written_});
        if (result.state == NetStream::State::again) return stream_->wait_writable([self = shared_from_this()] { self->send_head(); });
        if (result.state != NetStream::State::ok) return lost({Failure::Kind::other, stream_->error().empty() ? "the server closed the connection" : stream_->error()});
        written_ += result.bytes;
    }
    out_.clear();
    written_ = 0;
    read_answer();
}

void IcecastClient::read_answer() {
    for (;;) {
        if (!answer_.empty()) {
            if (const auto line = parse_http_answer(answer_)) {
                if (line->status != 100 && (line->status < 200 || line->status > 299)) return lost(refusal(line->status, line->reason, options_));
                answer_.erase(0, line->length);
                return streaming();
            }
        }
        std::uint8_t block[2048];
        const auto result = stream_->read(block);
        if (result.state == NetStream::State::again) return stream_->wait_readable([self = shared_from_this()] { self->read_answer(); });
        if (result.state != NetStream::State::ok) {
            return lost({Failure::Kind::other, stream_->error().empty() ? "the server closed the connection without an answer" : stream_->error()});
        }
        answer_.append(reinterpret_cast<const char*>(block), result.bytes);
    }
}

void IcecastClient::streaming() {
    stream_->cancel_timer();
    {
        std::lock_guard lock(queue_mutex_);
        queue_.clear();
        dropped_now_ = 0;
    }
    log_.important("Connection setup was successful.");
    session_.fetch_add(1, std::memory_order_release);  // odd now: the producer begins
    if (resend_metadata_) {
        std::lock_guard lock(metadata_mutex_);
        metadata_dirty_ = metadata_known_;
    }
    push_metadata();
    if (options_.on_connect) options_.on_connect();
    watch_peer();
}

// --- Streaming -------------------------------------------------------------------------------------------------------

void IcecastClient::watch_peer() {
    const auto stream = stream_;
    for (;;) {
        std::uint8_t block[2048];
        const auto result = stream->read(block);
        if (result.state == NetStream::State::again) return stream->wait_readable([self = shared_from_this()] { self->watch_peer(); });
        if (result.state != NetStream::State::ok) {
            std::string reason = stream->error().empty() ? "the server closed the connection" : stream->error();
            if (const auto line = parse_http_answer(answer_); line && line->status >= 300) reason = refusal(line->status, line->reason, options_).message;
            return lost({Failure::Kind::other, std::move(reason)});
        }
        if (answer_.size() < max_http_head) answer_.append(reinterpret_cast<const char*>(block), result.bytes);
        if (const auto line = parse_http_answer(answer_); line && line->status < 300) answer_.erase(0, line->length ? line->length : answer_.size());
    }
}

void IcecastClient::pump() {
    if (!(session() & 1) || !stream_ || !stream_->is_open()) return;
    for (;;) {
        if (written_ == out_.size()) {
            written_ = 0;
            out_.clear();
            if (out_.capacity() > kept_capacity) std::string().swap(out_);
            std::lock_guard lock(queue_mutex_);
            if (queue_.empty()) break;
            if (options_.chunked) out_ = fmt::format("{:x}\r\n", queue_.size());
            out_.append(reinterpret_cast<const char*>(queue_.data()), queue_.size());
            if (options_.chunked) out_ += "\r\n";
            queue_.clear();
            if (queue_.capacity() > kept_capacity) std::vector<std::uint8_t>().swap(queue_);
        }
        const auto result = stream_->write({reinterpret_cast<const std::uint8_t*>(out_.data()) + written_, out_.size() - written_});
        if (result.state == NetStream::State::ok) {
            written_ += result.bytes;
            bytes_sent_ += result.bytes;
            progressed_ = true;
            continue;
        }
        if (result.state != NetStream::State::again) {
            return lost({Failure::Kind::other, stream_->error().empty() ? "the server closed the connection" : stream_->error()});
        }
        waiting_ = true;
        stream_->wait_writable([self = shared_from_this()] {
            self->waiting_ = false;
            self->pump();
        });
        if (timed_ && !progressed_) return;  // the timer runs since the last progress
        timed_ = true;
        progressed_ = false;
        stream_->after(from_seconds(std::max(options_.timeout, 0.1)), [self = shared_from_this()] {
            self->lost({Failure::Kind::timeout, fmt::format("the server took no data for {:.0f} seconds", self->options_.timeout)});
        });
        return;
    }
    if (timed_) stream_->cancel_timer();
    timed_ = false;
    bool stopping = false;
    {
        std::lock_guard lock(state_mutex_);
        stopping = stopping_;
    }
    if (stopping) finish();
}

void IcecastClient::lost(Failure failure) {
    NetStreamPtr stream;
    bool stopping = false;
    {
        std::lock_guard lock(state_mutex_);
        stream = std::move(stream_);
        stream_ = nullptr;
        stopping = stopping_ || !running_;
        ++attempt_;
    }
    const bool was_streaming = session() & 1;
    if (was_streaming) session_.fetch_add(1, std::memory_order_release);
    if (stream) stream->close();
    if (was_streaming && options_.on_disconnect) options_.on_disconnect();
    if (stopping) return;
    if (was_streaming) log_.severe("Error while sending data: {}!", failure.message);
    else log_.severe("Connection failed: {}.", failure.message);
    if (!options_.on_error) return retry_in(3);
    scheduler().blocking([self = shared_from_this(), failure = std::move(failure)] {
        std::optional<double> delay = 3;
        try {
            delay = self->options_.on_error(failure);
        } catch (const std::exception& error) {
            self->log_.severe("on_error failed: {}", error.what());
        }
        if (delay) return self->retry_in(*delay);
        self->log_.important("Will not try to reconnect.");
        std::lock_guard lock(self->state_mutex_);
        self->running_ = false;
    });
}

void IcecastClient::retry_in(double seconds) {
    std::lock_guard lock(state_mutex_);
    if (!running_) return;
    log_.important("Will try to reconnect in {:.2f} seconds.", seconds);
    // A server that is back serves hundreds of mounts: a small floor keeps a wrong "0" from spinning.
    cancel_retry_ = scheduler().after(from_seconds(std::clamp(seconds, 0.05, 86400.0)), [self = shared_from_this()] { self->connect(); });
}

// --- Stopping --------------------------------------------------------------------------------------------------------

void IcecastClient::stop() noexcept {
    try {
        NetStreamPtr stream;
        std::function<void()> cancel_connect, cancel_retry;
        {
            std::lock_guard lock(state_mutex_);
            if (!running_) return;
            running_ = false;
            stopping_ = true;
            stream = stream_;
            cancel_connect = std::move(cancel_connect_);
            cancel_retry = std::move(cancel_retry_);
            cancel_connect_ = cancel_retry_ = nullptr;
        }
        if (cancel_connect) cancel_connect();
        if (cancel_retry) cancel_retry();
        if (!stream) return;
        log_.important("Closing connection...");
        stream->run([self = shared_from_this(), stream, busy = network_busy()] {
            if (!stream->is_open()) return;
            if (!(self->session() & 1)) return self->finish();
            stream->after(closing_time, [self, busy] { self->finish(); });
            if (!self->waiting_) self->pump();
        });
    } catch (const std::exception& error) {
        log_.severe("Error while closing connection: {}", error.what());
    }
}

void IcecastClient::finish() {
    NetStreamPtr stream;
    {
        std::lock_guard lock(state_mutex_);
        stream = std::move(stream_);
        stream_ = nullptr;
    }
    if (!stream) return;
    const bool was_streaming = session() & 1;
    if (was_streaming) session_.fetch_add(1, std::memory_order_release);
    if (options_.chunked && was_streaming && written_ == out_.size()) {
        constexpr std::string_view last = "0\r\n\r\n";
        stream->write({reinterpret_cast<const std::uint8_t*>(last.data()), last.size()});
    }
    stream->close();
    if (was_streaming && options_.on_disconnect) options_.on_disconnect();
}

// --- Metadata --------------------------------------------------------------------------------------------------------

void IcecastClient::update_metadata(std::vector<std::pair<std::string, std::string>> fields) {
    {
        std::lock_guard lock(metadata_mutex_);
        metadata_ = std::move(fields);
        metadata_known_ = metadata_dirty_ = true;
    }
    push_metadata();
}

void IcecastClient::push_metadata() {
    HttpRequest request;
    {
        std::lock_guard lock(metadata_mutex_);
        if (!metadata_dirty_ || metadata_busy_ || !(session() & 1)) return;
        metadata_dirty_ = false;
        metadata_busy_ = true;
        const std::string charset = options_.charset.empty() ? "UTF-8" : options_.charset;
        const std::string host = options_.host.find(':') == std::string::npos ? options_.host : "[" + options_.host + "]";
        request.url = fmt::format("{}://{}:{}/admin/metadata?mode=updinfo&mount={}&charset={}", tls_ ? "https" : "http", host, options_.port,
                                  url_encode(options_.mount), url_encode(charset));
        for (const auto& [name, value] : metadata_) request.url += fmt::format("&{}={}", url_encode(name), url_encode(from_utf8(value, options_.charset)));
    }
    request.timeout_seconds = std::max(1.0, options_.timeout);
    request.max_bytes = 64u << 10;
    request.follow_redirects = false;
    if (tls_) request.ca_file = options_.transport->certificate;
    request.headers = {{"Authorization", "Basic " + base64_encode(options_.user + ":" + options_.password)},
                       {"User-Agent", options_.user_agent.empty() ? http_user_agent() : options_.user_agent}};
    scheduler().blocking([self = shared_from_this(), request = std::move(request)] {
        const auto answer = http_request(request);
        if (!answer) self->log_.severe("Metadata update may have failed with error: {}", answer.error().message);
        else if (answer->status != 200) self->log_.severe("Metadata update may have failed: the server answered {} {}.", answer->status, answer->reason);
        {
            std::lock_guard lock(self->metadata_mutex_);
            self->metadata_busy_ = false;
        }
        self->push_metadata();  // what came meanwhile
    });
}

}  // namespace castile
