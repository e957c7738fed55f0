#include "request/watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "base/log.h"
#include "sched/scheduler.h"

namespace castile {

namespace {

constexpr std::size_t max_folders = 10'000;
constexpr std::uint32_t events = IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF;

const Logger& logger() {
    static const Logger log("file.watch");
    return log;
}

// One user of a kernel watch. `name` empty: everything in the folder counts.
struct Watch {
    std::string name;
    bool recursive = false;
    std::function<void()> changed;
};
using WatchPtr = std::shared_ptr<Watch>;

class Watcher {
public:
    static Watcher& instance() {
        static Watcher* watcher = new Watcher;   // its thread never ends
        return *watcher;
    }

    bool add(const std::string& folder, const WatchPtr& watch) {
        std::lock_guard lock(watches_mutex_);
        const int descriptor = inotify_add_watch(fd_, folder.c_str(), events);
        if (descriptor < 0) {
            logger().severe("Could not watch \"{}\": {}.", folder, std::strerror(errno));
            return false;
        }
        Folder& entry = folders_[descriptor];
        entry.path = folder;
        if (std::ranges::find(entry.watches, watch) == entry.watches.end()) entry.watches.push_back(watch);
        return true;
    }

    void remove(const WatchPtr& watch) noexcept {
        std::lock_guard lock(watches_mutex_);
        for (auto it = folders_.begin(); it != folders_.end();) {
            std::erase(it->second.watches, watch);
            if (it->second.watches.empty()) {
                inotify_rm_watch(fd_, it->first);
                it = folders_.erase(it);
            } else {
                ++it;
            }
        }
    }

private:
    struct Folder {
        std::string path;
        std::vector<WatchPtr> watches;
    };

    Watcher() : fd_(inotify_init1(IN_CLOEXEC)) {
        if (fd_ >= 0) std::thread([this] { loop(); }).detach();
    }

    void loop() noexcept {
        alignas(inotify_event) char buffer[16384];
        for (;;) {
            const ssize_t size = read(fd_, buffer, sizeof buffer);
            if (size < 0 && errno == EINTR) continue;
            if (size <= 0) return;
            std::vector<WatchPtr> called;
            for (ssize_t at = 0; at < size;) {
                const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
                handle(*event, called);
                at += static_cast<ssize_t>(sizeof(inotify_event)) + event->len;
            }
            for (const WatchPtr& watch : called) scheduler().post([watch] { watch->changed(); });
        }
    }

    void handle(const inotify_event& event, std::vector<WatchPtr>& called) {
        const std::string name = event.len > 0 ? event.name : "";
        std::vector<std::pair<std::string, WatchPtr>> new_folders;
        {
            std::lock_guard lock(watches_mutex_);
            const auto found = folders_.find(event.wd);
            if (found == folders_.end()) return;
            for (const WatchPtr& watch : found->second.watches) {
                if (!watch->name.empty() && watch->name != name) continue;
                if (std::ranges::find(called, watch) == called.end()) called.push_back(watch);
                if (watch->recursive && (event.mask & IN_ISDIR) && (event.mask & (IN_CREATE | IN_MOVED_TO)))
                    new_folders.emplace_back(found->second.path + "/" + name, watch);
            }
            if (event.mask & IN_IGNORED) folders_.erase(found);
        }
        for (const auto& [folder, watch] : new_folders) add(folder, watch);
    }

    const int fd_;
    std::mutex watches_mutex_;   // guards folders_
    std::map<int, Folder> folders_;
};

}  // namespace

std::shared_ptr<void> watch_path(const std::string& path, std::function<void()> changed) {
    auto watch = std::make_shared<Watch>();
    watch->changed = std::move(changed);
    std::error_code error;
    bool added = false;
    if (std::filesystem::is_directory(path, error)) {
        watch->recursive = true;
        added = Watcher::instance().add(path, watch);
        std::filesystem::recursive_directory_iterator it(path, std::filesystem::directory_options::skip_permission_denied, error);
        std::size_t folders = 0;
        for (; added && !error && it != std::filesystem::recursive_directory_iterator(); it.increment(error))
            if (std::error_code ignored; it->is_directory(ignored) && ++folders <= max_folders && !Watcher::instance().add(it->path().string(), watch))
                break;
    } else {
        const std::filesystem::path file(path);
        watch->name = file.filename().string();
        const std::string folder = file.parent_path().string();
        added = Watcher::instance().add(folder.empty() ? "." : folder, watch);
    }
    if (!added) return nullptr;
    return std::shared_ptr<void>(watch.get(), [watch](void*) { Watcher::instance().remove(watch); });
}

}  // namespace castile
