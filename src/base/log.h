#pragma once
// The log: Liquidsoap's five levels and line format, "2026/11/30 12:00:00 [label:3] message". Repeats are folded ("x 240").

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace castile {

enum class LogLevel : int { critical = 1, severe = 2, important = 3, info = 4, debug = 5 };

/// Where log lines go. Any thread; a line is queued and written by the log's own thread, never by the caller.
struct LogSettings {
    LogLevel level = LogLevel::important;
    bool to_stdout = true;
    std::string path;  ///< Empty: no file. Reopened on SIGUSR1.
    bool unix_timestamps = false;  ///< Seconds since 1970 in place of the date.
};

void configure_log(LogSettings settings);
/// Keeps lines up to level 4 until configure_log says where they go, and which of them; before that the log writes nothing.
void hold_log() noexcept;
void flush_log() noexcept;                       ///< Returns when every line so far is written.
void reopen_log() noexcept;
void log_line(LogLevel level, std::string_view label, std::string_view message) noexcept;
bool log_enabled(LogLevel level) noexcept;

/// A labelled handle: `Logger log("clock.main"); log.important("Starting {}", n);`
class Logger {
public:
    explicit Logger(std::string label) : label_(std::move(label)) {}
    const std::string& label() const noexcept { return label_; }

    template <class... A> void critical(fmt::format_string<A...> f, A&&... a) const { write(LogLevel::critical, f, std::forward<A>(a)...); }
    template <class... A> void severe(fmt::format_string<A...> f, A&&... a) const { write(LogLevel::severe, f, std::forward<A>(a)...); }
    template <class... A> void important(fmt::format_string<A...> f, A&&... a) const { write(LogLevel::important, f, std::forward<A>(a)...); }
    template <class... A> void info(fmt::format_string<A...> f, A&&... a) const { write(LogLevel::info, f, std::forward<A>(a)...); }
    template <class... A> void debug(fmt::format_string<A...> f, A&&... a) const { write(LogLevel::debug, f, std::forward<A>(a)...); }

private:
    template <class... A> void write(LogLevel level, fmt::format_string<A...> f, A&&... a) const {
        if (log_enabled(level)) log_line(level, label_, fmt::format(f, std::forward<A>(a)...));
    }
    std::string label_;
};

}  // namespace castile
