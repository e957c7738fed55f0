#pragma once
// What a playlist picks next: the list, its order, its reloads.

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "request/feed.h"

namespace castile {

enum class PlaylistMode { normal, random, randomize };
enum class ReloadMode { never, rounds, seconds, watch };

struct PlaylistOptions {
    PlaylistMode mode = PlaylistMode::randomize;
    ReloadMode reload_mode = ReloadMode::never;
    int reload = 0;                                   ///< seconds or rounds
    bool loop = true;
    std::string prefix;                               ///< before each entry
    int max_fail = 10;
    RequestOptions request;
    std::function<bool(const RequestPtr&)> check_next;            ///< blocking pool; empty: all are good
    std::function<void()> on_done, on_loop;                       ///< must not wait
    std::function<std::vector<std::string>()> on_fail;            ///< blocking pool
    std::function<void(const std::string& uri)> on_reload;
    /// Reads the list. Blocking pool.
    std::function<std::expected<std::vector<std::string>, Failure>(const std::string& uri)> load;
};

/// The list is read on the blocking pool when the source starts, and swapped as a whole when read again. In the order of
/// the list, a reload goes on behind what plays when that is still in the list. An empty list is allowed: it is asked
/// again once a second. A list that cannot be read is tried again later and later, at most once a minute.
class PlaylistFeed : public RequestFeed {
public:
    PlaylistFeed(FeedOptions feed, PlaylistOptions options, std::string uri);

    void start() override;
    void stop() noexcept override;
    void playing(const RequestPtr& request) noexcept override;

    // Any thread.
    void reload(bool empty_queue = true, std::optional<std::string> uri = std::nullopt);   ///< Returns at once.
    void replace(std::vector<std::string> files, bool empty_queue = true);
    std::string uri() const;
    std::vector<std::string> remaining_files() const;
    std::size_t length() const;

protected:
    RequestPtr pick() override;
    void failed(const RequestPtr& request, int in_a_row) override;

private:
    using Files = std::vector<std::string>;
    std::shared_ptr<PlaylistFeed> self() { return std::static_pointer_cast<PlaylistFeed>(shared_from_this()); }
    bool load(bool first);
    void first_load();
    void put(Files files, bool empty_queue);
    void set_files(Files files, const std::string* after);   // list_mutex_ held
    void make_order();                                       // list_mutex_ held
    std::optional<std::string> next_entry();
    std::optional<std::string> entry_in_order();             // list_mutex_ held
    bool reload_due();
    std::optional<std::string> last_prepared_entry() const;  // list_mutex_ held
    void arm_timer();
    void watch();
    void changed();

    const PlaylistOptions options_;
    std::atomic<bool> loading_ = false;

    mutable std::mutex list_mutex_;   // guards what follows
    std::string uri_;
    Files files_;
    std::vector<std::uint32_t> order_;
    std::size_t position_ = 0;        // in order_, of the next
    bool loaded_ = false, done_ = false;
    int rounds_ = 0, failed_loads_ = 0;
    Instant next_load_{};
    std::vector<std::pair<int, std::string>> picked_;   // request and entry, of the last few
    std::optional<std::string> current_;                // the entry that plays
    std::mt19937_64 random_;
    std::function<void()> cancel_timer_, cancel_change_;
    std::shared_ptr<void> watch_;
    std::string watched_;
};

}  // namespace castile
