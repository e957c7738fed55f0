#pragma once
// Output: the active end of a graph. EncodedOutput: an output that turns frames into bytes for a peer or a file.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <mutex>
#include <string>
#include <vector>

#include "codec/format.h"
#include "source/source.h"

namespace castile {

/// What an output did since it was made. What does not apply is absent.
struct OutputStatistics {
    std::optional<bool> connected;                  ///< to a server
    std::optional<std::uint64_t> bytes, dropped;    ///< sent or written; lost because the peer or the disk was too slow
    std::optional<int> listeners;
};

/// Pulls its input each tick while started and passes frames through, so that an output can be used as a source too.
/// A subclass says what a frame means (`send`) and how to open and close (`start`, `stop`). All on the clock's worker.
class Output : public Source, public Active {
public:
    struct Options {
        bool fallible = false;     ///< false: the input must be infallible (checked at build: error 7, "That source is fallible.").
        bool start = true;         ///< Start with the clock?
        std::function<void()> on_start, on_stop;
    };
    Output(std::string operator_name, SourcePtr input, Options options);
    ~Output() override;

    void tick() noexcept final;
    void activate() final;
    void deactivate() noexcept final;
    void collect_sync(SyncUses& uses) noexcept final { add_sync_uses(uses); }
    bool tolerates_lead() noexcept final { return takes_early() && input_->may_run_ahead(); }
    const std::string& active_name() const noexcept final { return id(); }

    // Any thread (telnet, script, signal): takes effect between two ticks.
    void request_start();
    void request_stop();
    bool started() const noexcept { return started_; }
    virtual OutputStatistics statistics() const noexcept { return {}; }
    bool start_wanted() const noexcept { return wanted_; }            ///< Is it to run whenever it can?
    std::vector<MetadataPtr> metadata_history() const;                ///< The last ten that went out, oldest first.
    // Clock's worker, or before the start. Called after those of the options.
    void on_start_do(std::function<void()> f) { start_hooks_.push_back(std::move(f)); }
    void on_stop_do(std::function<void()> f) { stop_hooks_.push_back(std::move(f)); }

    bool fallible() const noexcept override { return options_.fallible; }
    void skip() noexcept override { input().skip(); }
    Ticks seek(Ticks by) noexcept override { return input().seek(by); }
    std::optional<Ticks> remaining() noexcept override { return input().remaining(); }
    Source* effective_source() noexcept override { return input().effective_source(); }

protected:
    Source& input() noexcept { return *input_; }
    bool can_generate() noexcept override { return input().ready(); }
    void generate(Frame& out, Ticks wanted) noexcept override;

    /// May throw Error: it is logged, and the output waits for request_start() (the subclass's own policy, or an order).
    /// A fallible output starts when its input is ready and stops when it is not any more.
    virtual void start() {}
    virtual void stop() noexcept {}                  ///< Flush and close. Also at shutdown, before the process ends.
    /// Does it take frames half a second early without harm? Not when somebody waits at the other end.
    virtual bool takes_early() const noexcept { return false; }
    virtual void send(const Frame& frame) noexcept = 0;

private:
    void try_start() noexcept;
    void do_stop() noexcept;
    void run_hook(const std::function<void()>& hook) noexcept;
    void remember(const Frame& frame) noexcept;

    SourcePtr input_;
    Options options_;
    bool activated_ = false;   ///< its clock may have joined another one, which activates it again
    std::vector<std::function<void()>> start_hooks_, stop_hooks_;
    std::atomic<bool> started_ = false, wanted_;
    std::atomic<bool> start_failed_ = false;   ///< until it is asked to start again
    mutable std::mutex history_mutex_;         // guards history_
    std::vector<MetadataPtr> history_;
};

/// Registers with the input's clock once fully built (shared_from_this must work): the last step of every output's build.
void attach_output(const std::shared_ptr<Output>& output);

/// An output with an encoder of its own: one StreamEncoder, opened at start(), closed at stop(). The encoder runs in
/// the tick; what it makes goes to `write`, which must only queue.
class EncodedOutput : public Output, protected ByteSink {
public:
    EncodedOutput(std::string operator_name, SourcePtr input, FormatPtr format, Options options);

protected:
    const Format& format() const noexcept { return *format_; }
    StreamEncoder* encoder() noexcept { return encoder_.get(); }
    void start() override;
    void stop() noexcept override;
    void send(const Frame& frame) noexcept override;
    void restart_encoder();                       ///< Flushes, then opens a new one (a new file, a new connection).
    virtual EncoderOptions encoder_options() const { return {}; }
    bool takes_early() const noexcept override { return true; }   ///< A file, or a listener with seconds of buffer.
    // ByteSink: void write(ByteSpan) noexcept; void boundary(...) noexcept; implemented by the subclass.
    virtual void metadata_changed(const MetadataPtr&) noexcept {}  ///< For ICY and the like.

private:
    FormatPtr format_;
    std::unique_ptr<StreamEncoder> encoder_;
    bool failing_ = false;   ///< the encoder failed and was opened anew; a second time in a row stops the output
};

}  // namespace castile
