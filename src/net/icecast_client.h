#pragma once
// An Icecast source connection: log in, send, reconnect for ever. The producer only queues.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "base/log.h"
#include "net/flush.h"
#include "net/stream.h"

namespace castile {

struct IcecastOptions {
    std::string host = "localhost", mount, user = "source", password = "hackme";
    unsigned short port = 8000;
    ConnectOptions::Prefer prefer = ConnectOptions::Prefer::system;
    TransportPtr transport;                  ///< null: plain
    std::string method = "SOURCE";           ///< SOURCE, PUT or POST
    bool chunked = false;
    std::string content_type, user_agent, name, description, genre, url, audio_info;
    bool is_public = true;
    std::vector<std::pair<std::string, std::string>> headers;
    double connection_timeout = 5;           ///< seconds; negative: the system's own
    double timeout = 30;                     ///< seconds without an answer, or without taking data
    std::string charset;                     ///< of metadata; empty: UTF-8
    /// After a failure or a lost connection: seconds until the next try, nullopt = give up. On the blocking pool.
    std::function<std::optional<double>(const Failure&)> on_error;
    std::function<void()> on_connect, on_disconnect;
};

class IcecastClient : public Flushable, public std::enable_shared_from_this<IcecastClient> {
public:
    static std::shared_ptr<IcecastClient> create(IcecastOptions options, Logger log);
    ~IcecastClient() override;

    void start();                             ///< Connects, and again after each loss, until stop().
    void stop() noexcept;                     ///< Sends what is queued (at most half a second), closes.

    /// Odd while a connection takes data, another number for each: the producer starts a stream afresh (new headers) when it
    /// sees a new odd number. Any thread, cheap.
    unsigned session() const noexcept { return session_.load(std::memory_order_acquire); }
    /// The tick: queues for this session; dropped and counted when the peer is too slow, ignored when the session is over.
    void write(ByteSpan data) noexcept;
    void send_soon() noexcept;                ///< After the tick: asks for the socket work.
    /// ICY metadata: fields for /admin/metadata, UTF-8. Sent when connected, and again after each connection.
    void update_metadata(std::vector<std::pair<std::string, std::string>> fields);
    void set_resend_metadata(bool resend) noexcept { resend_metadata_ = resend; }

    std::uint64_t bytes_sent() const noexcept { return bytes_sent_; }
    std::uint64_t bytes_dropped() const noexcept { return bytes_dropped_; }
    void flush() noexcept override;

private:
    IcecastClient(IcecastOptions options, Logger log);
    // All below on `strand_`-like order: the connection's stream, or the timer's handler when there is none.
    void connect();
    void connected(NetStreamPtr stream);
    void send_head();
    void read_answer();
    void streaming();
    void pump();
    void watch_peer();
    void lost(Failure failure);
    void retry_in(double seconds);
    void finish();
    void push_metadata();
    std::string head() const;

    const IcecastOptions options_;
    const Logger log_;
    std::shared_ptr<TlsContext> tls_;
    std::atomic<unsigned> session_ = 0;
    std::atomic<bool> flush_asked_ = false, resend_metadata_ = true;
    std::atomic<std::uint64_t> bytes_sent_ = 0, bytes_dropped_ = 0;

    std::mutex queue_mutex_;          // guards queue_ and its limits; held for a few instructions
    std::vector<std::uint8_t> queue_;
    std::uint64_t dropped_now_ = 0;

    mutable std::mutex state_mutex_;  // guards what follows down to the next blank line; never held for a call out
    NetStreamPtr stream_;
    bool running_ = false, stopping_ = false;
    unsigned attempt_ = 0;
    std::function<void()> cancel_connect_, cancel_retry_;

    // The stream's strand only.
    std::string out_, answer_;
    std::size_t written_ = 0;
    bool waiting_ = false, timed_ = false, progressed_ = false, go_on_seen_ = false;

    std::mutex metadata_mutex_;
    std::vector<std::pair<std::string, std::string>> metadata_;
    bool metadata_known_ = false, metadata_dirty_ = false, metadata_busy_ = false;
};

}  // namespace castile
