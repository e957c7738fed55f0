// output.file: the encoded stream in a file, or one file after the other.

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "outputs/file_queue.h"
#include "outputs/file_writer.h"
#include "sched/scheduler.h"
#include "script/callback_list.h"
#include "script/operator.h"

namespace castile {
namespace {

using lang::Value;
using std::chrono::seconds;

constexpr std::size_t chunk_size = 32 * 1024;     // bytes handed to the disk at once
constexpr std::size_t most_pending = 8 << 20;     // bytes that may wait for a slow disk
constexpr Duration longest_wait = seconds(2);     // until a byte is on its way to the disk
constexpr Duration unnamed_retry = seconds(1);    // an empty name means no file now
constexpr Duration first_retry = seconds(1), last_retry = seconds(60);  // after an error, doubling
constexpr Duration healthy = seconds(10);         // a file that lived so long starts the doubling anew

struct Settings {
    script::Getter<std::string> name;
    script::Getter<double> reopen_delay;
    Value reopen_when, reopen_on_metadata, reopen_on_error;
    Value on_close;
    bool append = false, flush = false;
    int perm = 0666, dir_perm = 0777;
};

class FileOutput final : public EncodedOutput {
public:
    FileOutput(SourcePtr input, FormatPtr format, Options options, Settings settings)
        : EncodedOutput("output.file", std::move(input), std::move(format), std::move(options)),
          settings_(std::move(settings)), queue_(FileQueue::create()) {}

    OutputStatistics statistics() const noexcept override { return {.bytes = bytes_.load(), .dropped = dropped_.load()}; }
    void request_reopen() noexcept { reopen_wanted_ = true; }
    void on_reopen(script::Callback callback) {
        std::lock_guard lock(watchers_mutex_);
        reopen_watchers_.push_back(std::move(callback));
    }

protected:
    void start() override {
        if (!writer_) make_writer();
        retry_delay_ = first_retry;
        if (const MetadataPtr last = last_metadata()) metadata_ = last;
        retry_at_ = Instant{};  // with the first frame, whose metadata may be part of the name
    }

    void stop() noexcept override {
        end_file(true);
        hand_over();
    }

    void send(const Frame& frame) noexcept override {
        const Instant now = scheduler().time().now();
        bool reopen = reopen_wanted_.exchange(false);
        for (const FrameMetadata& change : frame.metadata()) {
            metadata_ = change.metadata;
            reopen = asks_to_reopen(settings_.reopen_on_metadata, "reopen_on_metadata", {script::to_value(change.metadata)}) || reopen;
        }
        if (open_ && writer_->failed(run_)) {
            give_up(now);
        } else if (open_ && !reopen && now - opened_at_ >= std::chrono::duration<double>(settings_.reopen_delay.get())) {
            reopen = asks_to_reopen(settings_.reopen_when, "reopen_when", {});
        }
        if (open_ ? reopen : now >= retry_at_) begin_anew(now, open_);
        if (open_) EncodedOutput::send(frame);
        if (buffer_.size() >= chunk_size || (!buffer_.empty() && (settings_.flush || now - handed_over_at_ >= longest_wait))) {
            handed_over_at_ = now;
            hand_over_buffer();
        }
        hand_over();
    }

    void write(ByteSpan data) noexcept override {
        if (open_) buffer_.insert(buffer_.end(), data.begin(), data.end());
    }

private:
    void make_writer() {
        // The last file's is called on the file's own thread: nothing is written behind it, and at the end of the process
        // tasks are not run any more.
        const script::Callback task(settings_.on_close, false, "on_close"), at_once(settings_.on_close, true, "on_close");
        writer_ = std::make_shared<FileWriter>(
            settings_.perm, settings_.dir_perm,
            [task, at_once](const std::string& path, bool last) { (last ? at_once : task)({{Name(), Value::string(path)}}); }, log());
    }

    std::string file_name() const {
        static const Metadata none;
        const std::string pattern = expand_time(settings_.name.get(), scheduler().time().wall());
        return expand_home(interpolate_metadata(pattern, metadata_ ? *metadata_ : none));
    }

    /// Opens an encoder and, off the clock, a file. Without a name there is none for now. Throws Error (the encoder).
    void begin_file() {
        const Instant now = scheduler().time().now();
        std::string path = file_name();
        retry_at_ = now + unnamed_retry;
        if (path.empty()) return;
        EncodedOutput::start();
        open_ = true;
        opened_at_ = handed_over_at_ = now;
        jobs_.push_back([writer = writer_, path = std::move(path), append = settings_.append, run = ++run_] {
            writer->open(path, append, run);
        });
    }

    /// The encoder's last bytes, then the end of the file.
    void end_file(bool last) noexcept {
        EncodedOutput::stop();
        if (!open_) return;
        hand_over_buffer();
        open_ = false;
        jobs_.push_back([writer = writer_, last] { writer->close(last); });
    }

    void begin_anew(Instant now, bool reopening) noexcept {
        if (reopening) log().important("Re-opening output pipe.");
        try {
            end_file(false);
            begin_file();
        } catch (const std::exception& error) {
            log().severe("Could not re-open: {}", error.what());
            retry_at_ = now + last_retry;
            return;
        }
        if (!reopening) return;
        std::lock_guard lock(watchers_mutex_);
        for (const script::Callback& callback : reopen_watchers_) callback();
    }

    /// After an error of the disk: what the encoder holds is lost; when to try again is the script's choice or ours.
    void give_up(Instant now) noexcept {
        buffer_.clear();
        open_ = false;
        EncodedOutput::stop();
        if (now - opened_at_ >= healthy) retry_delay_ = first_retry;
        Duration delay = retry_delay_;
        retry_delay_ = std::min(retry_delay_ * 2, last_retry);
        try {
            const Value wanted = settings_.reopen_on_error.call({Value::null()});
            if (!wanted.is_null()) delay = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(std::max(wanted.as_float(), 0.1)));
        } catch (...) {
            script::log_script_error("reopen_on_error");
        }
        retry_at_ = now + delay;
    }

    bool asks_to_reopen(const Value& function, const char* what, std::vector<Value> arguments) noexcept {
        try {
            std::vector<lang::CallArgument> list;
            for (Value& argument : arguments) list.push_back({Name(), std::move(argument)});
            return function.call(list).as_bool();
        } catch (...) {
            if (!std::exchange(callback_failed_, true)) script::log_script_error(what);
            return false;
        }
    }

    void hand_over_buffer() noexcept {
        if (buffer_.empty()) return;
        if (queue_->pending() > most_pending) {
            dropped_ += buffer_.size();
            log().severe("The disk is too slow: {} bytes were lost.", buffer_.size());
            return buffer_.clear();
        }
        job_bytes_ += buffer_.size();
        bytes_ += buffer_.size();
        // Written out, a buffer comes back: the disk's thread holds it no longer.
        auto& full = buffers_[next_buffer_];
        next_buffer_ = 1 - next_buffer_;
        if (!full || full.use_count() > 1) full = std::make_shared<std::vector<std::uint8_t>>();
        std::atomic_thread_fence(std::memory_order_acquire);
        full->swap(buffer_);
        buffer_.clear();
        jobs_.push_back([writer = writer_, data = full] { writer->write(*data); });
    }

    void hand_over() noexcept {
        if (!jobs_.empty()) queue_->push(std::exchange(jobs_, {}), std::exchange(job_bytes_, 0));
    }

    const Settings settings_;
    std::shared_ptr<FileWriter> writer_;
    std::shared_ptr<FileQueue> queue_;
    std::vector<FileQueue::Job> jobs_;
    std::size_t job_bytes_ = 0;
    std::vector<std::uint8_t> buffer_;
    std::shared_ptr<std::vector<std::uint8_t>> buffers_[2];   // handed over, the last ones
    std::size_t next_buffer_ = 0;
    std::atomic<std::uint64_t> bytes_ = 0, dropped_ = 0;
    MetadataPtr metadata_;
    bool open_ = false;             // a file was asked for, and is not known to have failed
    std::int64_t run_ = 0;          // numbers the files
    Instant opened_at_{}, retry_at_{}, handed_over_at_{};
    Duration retry_delay_ = first_retry;
    bool callback_failed_ = false;
    std::atomic<bool> reopen_wanted_ = false;
    std::mutex watchers_mutex_;     // guards reopen_watchers_
    std::vector<script::Callback> reopen_watchers_;
};

enum : unsigned {
    append, dir_perm, export_cover_metadata, fallible, flush, on_close, on_reopen, on_start, on_stop, perm, register_telnet,
    reopen_delay, reopen_on_error, reopen_on_metadata, reopen_when, start, format, name, source,
};

SourcePtr build(script::Args& args) {
    Settings settings{args.getter<std::string>(name), args.getter<double>(reopen_delay, 120.), args.value(reopen_when),
                      args.value(reopen_on_metadata), args.value(reopen_on_error), args.value(on_close),
                      args.boolean(append), args.boolean(flush), args.integer(perm), args.integer(dir_perm)};
    Output::Options options{args.boolean(fallible), args.boolean(start), args.callback(on_start), args.callback(on_stop)};
    auto output = std::make_shared<FileOutput>(args.source(source), args.format(format), std::move(options), std::move(settings));
    if (!args.is_null(on_reopen)) output->on_reopen(script::Callback(args.value(on_reopen), false, "on_reopen"));
    return output;
}

std::shared_ptr<FileOutput> file(const std::weak_ptr<Source>& source) { return std::dynamic_pointer_cast<FileOutput>(source.lock()); }

Value reopener(const SourcePtr& source) {
    return Value::function([weak = std::weak_ptr(source)](std::span<const lang::CallArgument>) {
        if (const auto output = file(weak)) output->request_reopen();
        return Value::unit();
    });
}

Value reopen_watcher(const SourcePtr& source) {
    return script::watch_method(
        [weak = std::weak_ptr(source)](const script::Callback& callback) {
            if (const auto output = file(weak)) output->on_reopen(callback);
        },
        "on_reopen");
}

const script::RegisterOperator file_output{{
    .name = "output.file",
    .category = script::Category::output,
    .doc = "Write the stream to a file. The name may hold strftime conversions (%Y-%m-%d) and labels of the metadata ($(title)); it is "
           "looked at each time that a file is opened, and an empty name means no file for now. A disk error never stops the stream: "
           "it is tried again.",
    .params = {
        {"append", "bool", "false", "Go on with a file that exists rather than begin it anew."},
        {"dir_perm", "int", "511", "Permissions of folders that have to be made (in octal, 0o777), less the umask."},
        {"export_cover_metadata", "bool", "true", "Pass cover art on to the encoder."},
        {"fallible", "bool", "false", "Accept a source that may fail; the file is closed while it does."},
        {"flush", "bool", "false", "Hand each frame's bytes to the system at once."},
        {"on_close", "(string) -> unit", "fun (_) -> ()", "Called with the name of each file that was finished."},
        {"on_reopen", "(() -> unit)?", "null", "Called when another file was begun."},
        {"on_start", "(() -> unit)?", "null", "Called when the output starts."},
        {"on_stop", "(() -> unit)?", "null", "Called when the output stops."},
        {"perm", "int", "438", "Permissions of the file (in octal, 0o666), less the umask."},
        {"register_telnet", "bool", "true", "Register server commands."},
        {"reopen_delay", "{float}", "120.", "Least time between two files begun by `reopen_when`, in seconds."},
        {"reopen_on_error", "(error?) -> float?", "fun (_) -> null",
         "Asked after a disk error for the seconds until the next try; null: 1, 2, 4 and so on, up to 60."},
        {"reopen_on_metadata", "([string * string]) -> bool", "fun (_) -> false", "Begin another file at this metadata?"},
        {"reopen_when", "() -> bool", "fun () -> false", "Begin another file now? Asked at each frame once `reopen_delay` is over."},
        {"start", "bool", "true", "Start with the clock."},
        {"", "format('a)", nullptr, "The encoder."},
        {"", "{string}", nullptr, "The file's name."},
        {"", "source('a)", nullptr, "What to output."},
    },
    .result = "unit",
    .build = build,
    .methods = {
        {"on_reopen", "(?synchronous : bool, (() -> unit)) -> {release : () -> unit}", "Calls a function when another file was begun.",
         reopen_watcher},
        {"reopen", "() -> unit", "Begins another file with the next frame.", reopener},
    },
}};

}  // namespace
}  // namespace castile
