// The log's own thread: takes lines from a bounded queue, folds repeats, writes to standard output and a file.
#include "base/log.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <ctime>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace castile {

namespace {

constexpr std::size_t queue_limit = 10'000;
constexpr auto fold_for = std::chrono::seconds(10);

struct Line {
    LogLevel level;
    std::string label, message;
    double when;   // seconds since 1970
};

void write_all(int fd, std::string_view text) noexcept {
    while (!text.empty()) {
        const ssize_t n = ::write(fd, text.data(), text.size());
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return;  // a full disk or a closed pipe costs log lines, never the station
        text.remove_prefix(static_cast<std::size_t>(n));
    }
}

double wall_now() noexcept { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

std::string date(double when) {
    const auto seconds = static_cast<std::time_t>(when);
    std::tm tm{};
    ::localtime_r(&seconds, &tm);
    char stamp[32];
    std::strftime(stamp, sizeof stamp, "%Y/%m/%d %H:%M:%S", &tm);
    return stamp;
}

class LogThread {
public:
    void configure(LogSettings settings) {
        std::lock_guard lock(queue_mutex_);
        level_ = static_cast<int>(settings.level);
        settings_ = std::move(settings);
        reopen_ = true;
        if (!std::exchange(held_, false)) return;
        std::erase_if(lines_, [this](const Line& line) { return static_cast<int>(line.level) > level_; });
        if (!lines_.empty()) start();
    }

    void hold() noexcept {
        std::lock_guard lock(queue_mutex_);
        held_ = true;
        level_ = static_cast<int>(LogLevel::info);
    }

    bool enabled(LogLevel level) const noexcept { return static_cast<int>(level) <= level_.load(std::memory_order_relaxed); }

    void add(LogLevel level, std::string_view label, std::string_view message) {
        std::lock_guard lock(queue_mutex_);
        if (lines_.size() >= queue_limit) {
            ++dropped_;
            return;
        }
        lines_.push_back({level, std::string(label), std::string(message), wall_now()});
        if (!held_) start();
    }

    void flush() noexcept {
        std::unique_lock lock(queue_mutex_);
        if (!thread_.joinable() || held_) return;
        flush_ = true;
        wake_.notify_one();
        idle_.wait(lock, [this] { return lines_.empty() && !flush_; });
    }

    void reopen() noexcept {
        std::lock_guard lock(queue_mutex_);
        reopen_ = true;
    }

    ~LogThread() {
        {
            std::lock_guard lock(queue_mutex_);
            stop_ = true;
            wake_.notify_one();
        }
        if (thread_.joinable()) thread_.join();
        if (file_ >= 0) ::close(file_);
    }

private:
    /// With the queue's lock: there is something to write.
    void start() {
        if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
        wake_.notify_one();
    }

    void run() {
        ::pthread_setname_np(::pthread_self(), "log");
        std::unique_lock lock(queue_mutex_);
        for (;;) {
            const auto wanted = [this] { return stop_ || flush_ || !lines_.empty(); };
            if (repeats_ > 0) {
                if (!wake_.wait_until(lock, fold_since_ + fold_for, wanted)) {
                    write_repeats();
                    continue;
                }
            } else {
                wake_.wait(lock, wanted);
            }
            std::deque<Line> batch;
            batch.swap(lines_);
            const std::size_t dropped = std::exchange(dropped_, 0);
            const bool flush = flush_, stop = stop_;
            if (std::exchange(reopen_, false)) open_file();
            to_stdout_ = settings_.to_stdout;
            unix_timestamps_ = settings_.unix_timestamps;
            lock.unlock();
            for (const Line& line : batch) take(line);
            if (dropped) write(LogLevel::severe, "log", fmt::format("{} lines were dropped: too many at once.", dropped), wall_now());
            if (flush || stop) write_repeats();
            lock.lock();
            if (flush) flush_ = false;
            idle_.notify_all();
            if (stop && lines_.empty()) return;
        }
    }

    void open_file() {
        if (file_ >= 0) ::close(file_);
        file_ = settings_.path.empty() ? -1 : ::open(settings_.path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        if (!settings_.path.empty() && file_ < 0)
            write_all(STDERR_FILENO, fmt::format("Cannot write the log file {}.\n", settings_.path));
    }

    void take(const Line& line) {
        if (line.message == last_.message && line.label == last_.label && line.level == last_.level &&
            std::chrono::steady_clock::now() < fold_since_ + fold_for) {
            ++repeats_;
            last_.when = line.when;
            return;
        }
        write_repeats();
        write(line.level, line.label, line.message, line.when);
        last_ = line;
        fold_since_ = std::chrono::steady_clock::now();
    }

    void write_repeats() {
        if (const auto count = std::exchange(repeats_, 0); count > 0)
            write(last_.level, last_.label, fmt::format("{} (x {})", last_.message, count), last_.when);
        fold_since_ = {};
    }

    void write(LogLevel level, std::string_view label, std::string_view message, double when) {
        const std::string stamp = unix_timestamps_ ? fmt::format("{:.6f}", when) : date(when);
        std::string text;
        for (std::size_t begin = 0; begin <= message.size();) {
            const std::size_t end = std::min(message.find('\n', begin), message.size());
            text += fmt::format("{} [{}:{}] {}\n", stamp, label, static_cast<int>(level), message.substr(begin, end - begin));
            begin = end + 1;
        }
        if (to_stdout_) write_all(STDOUT_FILENO, text);
        if (file_ >= 0) write_all(file_, text);
    }

    std::mutex queue_mutex_;
    std::condition_variable wake_, idle_;
    std::deque<Line> lines_;
    LogSettings settings_;
    std::size_t dropped_ = 0;
    bool stop_ = false, flush_ = false, reopen_ = true, held_ = false;
    std::thread thread_;
    std::atomic<int> level_ = static_cast<int>(LogLevel::important);

    // The thread's own.
    Line last_{};
    std::size_t repeats_ = 0;
    std::chrono::steady_clock::time_point fold_since_{};
    bool to_stdout_ = true;
    bool unix_timestamps_ = false;
    int file_ = -1;
};

LogThread& log_thread() {
    static LogThread thread;
    return thread;
}

}  // namespace

void configure_log(LogSettings settings) { log_thread().configure(std::move(settings)); }
void hold_log() noexcept { log_thread().hold(); }
void flush_log() noexcept { log_thread().flush(); }
void reopen_log() noexcept { log_thread().reopen(); }
bool log_enabled(LogLevel level) noexcept { return log_thread().enabled(level); }

void log_line(LogLevel level, std::string_view label, std::string_view message) noexcept {
    if (!log_enabled(level)) return;
    try {
        log_thread().add(level, label, message);
    } catch (...) {
        // Out of memory: a log line is not worth the process.
    }
}

}  // namespace castile
