#pragma once
// A mount: one encoded stream on a port, shared by all its listeners.

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
#include "base/log.h"
#include "net/flush.h"
#include "net/http_server.h"
#include "net/level_meter.h"

namespace castile {

struct ListenerInfo {
    std::vector<std::pair<std::string, std::string>> headers;
    std::string uri, protocol, ip;
};

struct MountOptions {
    unsigned short port = 8000;
    TransportPtr transport;
    std::string path;                       ///< "/live.mp3"
    std::string content_type = "audio/mpeg";
    std::string name, description, genre, url;
    std::string charset;                    ///< of the titles; empty: UTF-8
    int bitrate = 0;                        ///< bits per second; 0 = unknown
    double burst_seconds = 4;               ///< what a new listener gets at once
    std::optional<std::size_t> burst_bytes; ///< the same in bytes, when the script says it so
    std::size_t buffer_bytes = 5 * 65535;   ///< how far a listener may fall behind before it is dropped
    std::size_t metaint = 8192;
    double timeout = 30;                    ///< seconds without progress before a listener is dropped
    std::vector<std::pair<std::string, std::string>> headers;
    /// Decides on a listener; answers through the function, from any thread. Absent: everybody may listen.
    std::function<void(const std::string& user, const std::string& password, const std::string& address, std::function<void(bool)>)> authorise;
    std::function<void(const ListenerInfo&)> on_connect;
    std::function<void(const std::string& address_and_port)> on_disconnect;
};

struct MountStatus {
    std::string path, content_type, name, description, genre, url, title, artist, song;
    int bitrate = 0, listeners = 0, peak_listeners = 0;
    std::uint64_t bytes_sent = 0, dropped_listeners = 0, connections = 0;
    double started = 0, title_since = 0, burst_seconds = 0;  ///< wall clock; 0 = never
    bool on_air = false, tls = false;
    unsigned short port = 0;
};

struct MountLog;

class Mount : public Flushable, public std::enable_shared_from_this<Mount> {
public:
    static std::shared_ptr<Mount> create(MountOptions options, Logger log);
    ~Mount() override;

    /// Opens the port when need be, and shows the station page there. Throws Error (port in use).
    void open();
    void close() noexcept;      ///< Listeners get what is queued, then end of file.

    // --- The tick's thread: only queues --------------------------------------------------------------------------
    void append(ByteSpan data) noexcept;
    void set_header(Bytes header) noexcept;                ///< What who joins after this tick gets first.
    void set_title(std::string artist, std::string title, std::string song) noexcept;
    void advance(double seconds) noexcept;                 ///< Ends the tick: it stands for so much stream time.
    LevelMeter& meter() noexcept { return meter_; }

    // --- Any thread ----------------------------------------------------------------------------------------------
    MountStatus status() const;
    const MountOptions& options() const noexcept { return options_; }
    void flush() noexcept override;

private:
    struct Batch;
    Mount(MountOptions options, Logger log);
    void accept(const HttpExchangePtr& exchange);
    void add_listener(const HttpExchangePtr& exchange);
    void take_batch(const Batch& batch);
    std::string answer_head(const HttpServerRequest& request, bool icy) const;

    struct Title { std::string artist, title, song; };
    struct Batch {
        std::vector<std::uint8_t> bytes;
        double seconds = 0;
        Bytes header;                                      ///< holds from the end of the batch's last tick on
        std::size_t header_at = 0;
        std::vector<std::pair<std::size_t, Title>> titles;
    };

    const MountOptions options_;
    const Logger logger_;
    const std::shared_ptr<MountLog> log_;
    std::shared_ptr<void> route_, page_;
    std::atomic<bool> flush_asked_ = false;

    Batch tick_;              // this tick's, by the clock's worker only
    std::mutex queue_mutex_;  // guards queue_; held for a few instructions
    Batch queue_;
    std::mutex flush_mutex_;  // one flush at a time
    Batch flushing_;

    LevelMeter meter_;
};

/// Mounts that are open, for status pages. Any thread.
std::vector<std::shared_ptr<Mount>> open_mounts();

}  // namespace castile
