#include "source/output.h"

#include <utility>

#include "base/error.h"

namespace castile {

Output::Output(std::string operator_name, SourcePtr input, Options options)
    : Source(std::move(operator_name)), input_(std::move(input)), options_(std::move(options)), wanted_(options_.start) {
    if (!options_.fallible && input_->fallible()) throw Error("That source is fallible.");
    add_input(input_, true);
}

Output::~Output() = default;

void Output::request_start() {
    start_failed_ = false;
    wanted_ = true;
}

void Output::request_stop() { wanted_ = false; }

void Output::tick() noexcept {
    if (!wanted_.load(std::memory_order_relaxed)) {
        if (started_.load(std::memory_order_relaxed)) do_stop();
        return;
    }
    if (!ready()) {
        if (started_.load(std::memory_order_relaxed) && options_.fallible) {
            log().info("Source failed (no more tracks): stopping output.");
            do_stop();
        }
        return;
    }
    if (!started_.load(std::memory_order_relaxed)) {
        if (!start_failed_.load(std::memory_order_relaxed)) try_start();
        if (!started_.load(std::memory_order_relaxed)) {
            frame();  // what is missed by a closed output is missed: the input goes on
            return;
        }
    }
    const Frame& made = frame();
    if (!made.metadata().empty()) remember(made);
    send(made);
}

void Output::remember(const Frame& made) noexcept {
    constexpr std::size_t most = 10;
    std::lock_guard lock(history_mutex_);
    for (const FrameMetadata& m : made.metadata()) {
        if (!m.metadata) continue;
        if (history_.size() == most) history_.erase(history_.begin());
        history_.push_back(m.metadata);
    }
}

std::vector<MetadataPtr> Output::metadata_history() const {
    std::lock_guard lock(history_mutex_);
    return history_;
}

void Output::generate(Frame& out, Ticks) noexcept { out = input().frame(); }

void Output::try_start() noexcept {
    try {
        start();
        started_ = true;
    } catch (const std::exception& e) {
        start_failed_ = true;
        if (!clock()->report_error(e.what())) log().severe("Could not start: {}", e.what());
        return;
    } catch (...) {
        start_failed_ = true;
        log().severe("Could not start.");
        return;
    }
    run_hook(options_.on_start);
    for (const auto& hook : start_hooks_) run_hook(hook);
}

void Output::do_stop() noexcept {
    started_ = false;
    stop();
    run_hook(options_.on_stop);
    for (const auto& hook : stop_hooks_) run_hook(hook);
}

void Output::run_hook(const std::function<void()>& hook) noexcept {
    if (!hook) return;
    try {
        hook();
    } catch (const std::exception& e) {
        log().severe("A callback failed: {}", e.what());
    }
}

void Output::activate() {
    if (activated_) return;
    wake_up(this);
    activated_ = true;
}

void Output::deactivate() noexcept {
    if (started_) do_stop();
    if (std::exchange(activated_, false)) sleep(this);
}

void attach_output(const std::shared_ptr<Output>& output) { output->clock()->attach(output); }

// --- Encoded -------------------------------------------------------------------------------------------------------

EncodedOutput::EncodedOutput(std::string operator_name, SourcePtr input, FormatPtr format, Options options)
    : Output(std::move(operator_name), std::move(input), std::move(options)), format_(std::move(format)) {
    for (const FormatTrack& track : format_->tracks()) require_content(content(), track.field, track.content);
}

void EncodedOutput::start() {
    encoder_ = format_->open(encoder_options());
    failing_ = false;
}

void EncodedOutput::stop() noexcept {
    if (!encoder_) return;
    try {
        encoder_->flush(*this);
    } catch (const std::exception& e) {
        log().severe("Could not finish the encoding: {}", e.what());
    }
    encoder_.reset();
}

void EncodedOutput::restart_encoder() {
    EncodedOutput::stop();
    encoder_ = format_->open(encoder_options());
}

void EncodedOutput::send(const Frame& frame) noexcept {
    for (const FrameMetadata& m : frame.metadata()) metadata_changed(m.metadata);
    if (!encoder_) return;
    try {
        encoder_->encode(frame, *this);
        failing_ = false;
        return;
    } catch (const std::exception& e) {
        if (!clock()->report_error(e.what())) log().severe("Encoding failed: {}", e.what());
    }
    encoder_.reset();
    if (!failing_) {
        failing_ = true;
        try {
            encoder_ = format_->open(encoder_options());
            return;
        } catch (const std::exception& e) {
            log().severe("Could not open the encoder again: {}", e.what());
        }
    }
    request_stop();
}

}  // namespace castile
