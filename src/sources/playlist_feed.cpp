#include "sources/playlist_feed.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "request/watch.h"
#include "sched/scheduler.h"

namespace castile {

namespace {

using namespace std::chrono_literals;

constexpr Duration settle = 500ms;        // a file is written in several steps
constexpr std::size_t remembered = 64;    // picked requests, more than are ever prepared

Duration load_delay(int failures) { return std::min<Duration>(1min, 1s * (1 << std::min(failures, 6))); }

}  // namespace

PlaylistFeed::PlaylistFeed(FeedOptions feed, PlaylistOptions options, std::string uri)
    : RequestFeed(feed), options_(std::move(options)), uri_(std::move(uri)), random_(std::random_device{}()) {}

void PlaylistFeed::start() {
    RequestFeed::start();
    if (options_.reload_mode == ReloadMode::seconds && options_.reload > 0) arm_timer();
}

void PlaylistFeed::stop() noexcept {
    RequestFeed::stop();
    std::function<void()> timer, change;
    std::shared_ptr<void> watch;
    {
        std::lock_guard lock(list_mutex_);
        timer = std::exchange(cancel_timer_, nullptr);
        change = std::exchange(cancel_change_, nullptr);
        watch = std::exchange(watch_, nullptr);
        watched_.clear();
        current_.reset();
    }
    if (timer) timer();
    if (change) change();
}

void PlaylistFeed::playing(const RequestPtr& request) noexcept {
    std::lock_guard lock(list_mutex_);
    const auto found = std::ranges::find(picked_, request->id(), &std::pair<int, std::string>::first);
    if (found == picked_.end()) return;
    current_ = std::move(found->second);
    picked_.erase(picked_.begin(), found + 1);
}

// --- The list --------------------------------------------------------------------------------------------------------

void PlaylistFeed::make_order() {
    order_.resize(files_.size());
    std::iota(order_.begin(), order_.end(), 0u);
    position_ = 0;
    if (options_.mode != PlaylistMode::randomize) return;
    std::ranges::shuffle(order_, random_);
    // Not the same twice in a row from one round to the next.
    const std::string* last = !picked_.empty() ? &picked_.back().second : current_ ? &*current_ : nullptr;
    if (order_.size() > 1 && last && files_[order_.front()] == *last) std::swap(order_.front(), order_.back());
}

void PlaylistFeed::set_files(Files files, const std::string* after) {
    files_ = std::move(files);
    make_order();
    loaded_ = true;
    done_ = false;
    if (!after || options_.mode != PlaylistMode::normal) return;
    const auto found = std::ranges::find(files_, *after);
    if (found != files_.end()) position_ = static_cast<std::size_t>(found - files_.begin()) + 1;
}

std::optional<std::string> PlaylistFeed::last_prepared_entry() const {
    return picked_.empty() ? current_ : std::optional(picked_.back().second);
}

bool PlaylistFeed::load(bool first) {
    const std::string from = uri();
    log().info("Reading the playlist \"{}\".", from);
    auto files = options_.load(from);
    if (!files) {
        log().important("Could not read the playlist: {}", files.error().message);
        int failures = 0;
        {
            std::lock_guard lock(list_mutex_);
            failures = ++failed_loads_;
            next_load_ = scheduler().time().now() + load_delay(failures);
        }
        if (failures < options_.max_fail || !options_.on_fail) return false;
        files = options_.on_fail();
    } else {
        log().important("Playlist with {} entries.", files->size());
    }
    std::lock_guard lock(list_mutex_);
    failed_loads_ = 0;
    if (first) {
        set_files(std::move(*files), nullptr);
    } else {
        const auto current = current_;
        set_files(std::move(*files), current ? &*current : nullptr);
    }
    return true;
}

void PlaylistFeed::first_load() {
    load(true);
    if (options_.reload_mode == ReloadMode::watch) watch();
}

void PlaylistFeed::replace(Files files, bool empty_queue) {
    put(std::move(files), empty_queue);
    wake();
}

void PlaylistFeed::put(Files files, bool empty_queue) {
    {
        std::lock_guard lock(list_mutex_);
        const auto after = empty_queue ? current_ : last_prepared_entry();
        set_files(std::move(files), after ? &*after : nullptr);
        if (empty_queue) picked_.clear();
    }
    if (empty_queue) drop_all();
}

void PlaylistFeed::reload(bool empty_queue, std::optional<std::string> new_uri) {
    if (new_uri) {
        std::lock_guard lock(list_mutex_);
        uri_ = std::move(*new_uri);
    }
    if (loading_.exchange(true)) return;
    scheduler().blocking([self = self(), empty_queue] {
        const std::string from = self->uri();
        auto files = self->options_.load(from);
        if (!files) {
            self->log().important("Could not read the playlist again: {}", files.error().message);
        } else {
            self->log().important("Playlist reloaded, with {} entries.", files->size());
            self->replace(std::move(*files), empty_queue);
            if (self->options_.on_reload) self->options_.on_reload(from);
        }
        if (self->options_.reload_mode == ReloadMode::watch && self->started()) self->watch();
        self->loading_ = false;
    });
}

// --- Picking -----------------------------------------------------------------------------------------------------------

bool PlaylistFeed::reload_due() {
    std::lock_guard lock(list_mutex_);
    if (position_ < order_.size() || !options_.loop || options_.mode == PlaylistMode::random) return false;
    if (options_.reload_mode != ReloadMode::rounds || options_.reload <= 0 || ++rounds_ < options_.reload) return false;
    rounds_ = 0;
    return true;
}

std::optional<std::string> PlaylistFeed::entry_in_order() {
    if (files_.empty()) return std::nullopt;
    if (options_.mode == PlaylistMode::random)
        return files_[std::uniform_int_distribution<std::size_t>(0, files_.size() - 1)(random_)];
    if (position_ >= order_.size()) {
        if (!options_.loop) return std::nullopt;
        make_order();
    }
    return files_[order_[position_++]];
}

std::optional<std::string> PlaylistFeed::next_entry() {
    bool ended = false, looping = false;
    if (reload_due()) load(true);
    {
        std::lock_guard lock(list_mutex_);
        looping = options_.loop && !files_.empty() && position_ >= order_.size();
    }
    if (looping && options_.on_loop) options_.on_loop();
    std::optional<std::string> entry;
    {
        std::lock_guard lock(list_mutex_);
        entry = entry_in_order();
        if (!entry && !options_.loop && loaded_) ended = !std::exchange(done_, true);
    }
    if (ended) {
        log().info("Playlist ended.");
        if (options_.on_done) options_.on_done();
    }
    return entry;
}

RequestPtr PlaylistFeed::pick() {
    bool needed = false;
    std::size_t tries = 1;
    {
        std::lock_guard lock(list_mutex_);
        needed = !loaded_ && scheduler().time().now() >= next_load_;
    }
    if (needed) first_load();
    {
        std::lock_guard lock(list_mutex_);
        tries = files_.size();
    }
    // Each entry is offered once: a check_next that refuses all does not spin.
    for (; tries > 0 && started(); --tries) {
        const auto entry = next_entry();
        if (!entry) return nullptr;
        RequestPtr request = Request::create(options_.prefix + *entry, options_.request);
        if (options_.check_next && !options_.check_next(request)) {
            log().info("Request \"{}\" refused by check_next.", request->initial_uri());
            request->destroy();
            continue;
        }
        std::lock_guard lock(list_mutex_);
        picked_.emplace_back(request->id(), *entry);
        if (picked_.size() > remembered) picked_.erase(picked_.begin());
        return request;
    }
    if (!options_.loop) next_entry();   // an empty list that does not loop is done
    return nullptr;
}

void PlaylistFeed::failed(const RequestPtr& request, int in_a_row) {
    {
        std::lock_guard lock(list_mutex_);
        std::erase_if(picked_, [&](const auto& p) { return p.first == request->id(); });
    }
    if (in_a_row != options_.max_fail) return;
    log().severe("{} requests in a row could not be resolved.", in_a_row);
    if (options_.on_fail) put(options_.on_fail(), true);   // not woken: the pause after failures stays
}

// --- Reloads -----------------------------------------------------------------------------------------------------------

void PlaylistFeed::arm_timer() {
    auto cancel = scheduler().after(std::chrono::seconds(options_.reload), [weak = std::weak_ptr(self())] {
        const auto self = weak.lock();
        if (!self || !self->started()) return;
        self->reload();
        self->arm_timer();
    });
    std::lock_guard lock(list_mutex_);
    cancel_timer_ = std::move(cancel);
}

void PlaylistFeed::watch() {
    const std::string path = local_path(uri());
    if (split_uri(path)) return;   // nothing on this disk
    {
        std::lock_guard lock(list_mutex_);
        if (watched_ == path && watch_) return;
    }
    auto handle = watch_path(path, [weak = std::weak_ptr(self())] {
        if (const auto self = weak.lock()) self->changed();
    });
    std::lock_guard lock(list_mutex_);
    watch_.swap(handle);
    watched_ = path;
}

void PlaylistFeed::changed() {
    {
        std::lock_guard lock(list_mutex_);
        if (cancel_change_) return;   // one is on its way
        cancel_change_ = [] {};
    }
    auto cancel = scheduler().after(settle, [weak = std::weak_ptr(self())] {
        const auto self = weak.lock();
        if (!self) return;
        {
            std::lock_guard lock(self->list_mutex_);
            self->cancel_change_ = nullptr;
        }
        if (self->started()) self->reload();
    });
    std::lock_guard lock(list_mutex_);
    if (cancel_change_) cancel_change_ = std::move(cancel);
}

// --- Questions -----------------------------------------------------------------------------------------------------------

std::string PlaylistFeed::uri() const {
    std::lock_guard lock(list_mutex_);
    return uri_;
}

std::vector<std::string> PlaylistFeed::remaining_files() const {
    std::lock_guard lock(list_mutex_);
    if (options_.mode == PlaylistMode::random) return files_;
    std::vector<std::string> files;
    for (std::size_t i = position_; i < order_.size(); ++i) files.push_back(options_.prefix + files_[order_[i]]);
    return files;
}

std::size_t PlaylistFeed::length() const {
    std::lock_guard lock(list_mutex_);
    return files_.size();
}

}  // namespace castile
