// output.file.hls: variants of one source as HLS playlists and segments in a folder.

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "outputs/file_queue.h"
#include "outputs/hls_writer.h"
#include "sched/scheduler.h"
#include "script/callback_list.h"
#include "script/operator.h"
#include "script/source_methods.h"

namespace castile {
namespace {

using lang::Value;

constexpr std::size_t chunk_size = 32 * 1024;   // bytes handed to the disk at once
constexpr std::size_t small_chunk = 4 * 1024;   // goes along when another variant's is handed over
constexpr std::size_t most_pending = 4 << 20;   // bytes that may wait for a slow disk
constexpr double farthest_drift = 2;            // seconds between stream time and the wall clock before the dates follow
constexpr double drift_time = 10;               // seconds that it must last: a clock that catches up is late for a moment only
constexpr double encoder_retry = 2;             // seconds
constexpr double latest_start = 0.25;           // seconds: an encoder that began earlier than we did is not just its own delay

class HlsOutput final : public Output {
public:
    struct Stream {
        HlsVariant variant;
        FormatPtr format;
        bool id3 = true, replay_id3 = true;
    };

    HlsOutput(SourcePtr input, HlsSettings settings, std::vector<Stream> streams, Options options)
        : Output("output.file.hls", std::move(input), std::move(options)), settings_(std::move(settings)), queue_(FileQueue::create()) {
        for (Stream& stream : streams) {
            for (const FormatTrack& track : stream.format->tracks())
                if (track.content.kind != ContentFormat::Kind::none) require_content(content(), track.field, track.content);
            variants_.push_back(std::make_unique<Variant>(*this, variants_.size(), std::move(stream)));
        }
    }

    void insert_tag(std::size_t variant, std::string tag) {
        std::lock_guard lock(tags_mutex_);
        variants_[variant]->tags.push_back(std::move(tag));
    }
    std::size_t stream_count() const noexcept { return variants_.size(); }
    const Stream& stream(std::size_t index) const { return variants_[index]->stream; }
    int discontinuities(std::size_t index) const { return writer_ ? writer_->discontinuities(index) : 0; }
    void on_file_change(script::Callback callback) { watchers_->add(std::move(callback)); }
    OutputStatistics statistics() const noexcept override { return {.bytes = bytes_.load(), .dropped = dropped_.load()}; }

protected:
    bool takes_early() const noexcept override { return true; }
    void start() override {
        if (!writer_) make_writer();
        length_ = Ticks{0};
        epoch_ = scheduler().time().wall();
        drifted_since_.reset();
        for (auto& variant : variants_) variant->open(0);
        push([](HlsWriter& writer) { writer.begin(); });
        hand_over();
    }

    void stop() noexcept override {
        for (auto& variant : variants_) {
            if (!variant->encoder) continue;
            try {
                variant->encoder->flush(*variant);
            } catch (const std::exception& error) {
                log().severe("{}: {}", variant->stream.variant.name, error.what());
            }
            variant->end();
            variant->encoder.reset();
        }
        push([](HlsWriter& writer) { writer.finish(); });
        hand_over();
    }

    void send(const Frame& frame) noexcept override {
        for (auto& variant : variants_) variant->encode(frame);
        length_ += frame.length();
        const bool full = std::ranges::any_of(variants_, [](const auto& v) { return v->buffer.size() >= chunk_size; });
        if (full)
            for (auto& variant : variants_)
                if (variant->buffer.size() >= small_chunk) variant->hand_over_buffer();
        hand_over();
    }

private:
    using Job = std::function<void(HlsWriter&)>;

    struct Variant final : ByteSink {
        Variant(HlsOutput& owner, std::size_t index, Stream stream) : output(owner), index(index), stream(std::move(stream)) {}

        void open(double at) {
            EncoderOptions options;
            options.segment = output.settings_.segment_duration;
            options.global_header = stream.variant.kind == Format::Segments::fmp4;
            buffer.clear();
            base = at;
            offset.reset();
            encoder = stream.format->open(options);
        }

        void encode(const Frame& frame) noexcept {
            try {
                if (!encoder) {
                    if (output.length_ < retry_at) return;
                    open(to_seconds(output.length_));
                }
                encoder->encode(frame, *this);
            } catch (const std::exception& error) {
                output.log().severe("{}: {} Trying again.", stream.variant.name, error.what());
                encoder.reset();
                buffer.clear();
                retry_at = output.length_ + ticks_from_seconds(encoder_retry);
                output.push([i = index, at = to_seconds(retry_at)](HlsWriter& writer) { writer.abort(i, at); });
            }
        }

        void write(ByteSpan data) noexcept override { buffer.insert(buffer.end(), data.begin(), data.end()); }
        void boundary(double at) noexcept override { end_segment(base + at); }

        /// The end of the stream.
        void end() noexcept { end_segment(to_seconds(output.length_) + offset.value_or(0)); }

        void end_segment(double at) noexcept {
            hand_over_buffer();
            HlsCut cut;
            if (!offset) {
                // The first cut tells where we joined a shared encoder's time line: it may have run for a while.
                const double joined = at - to_seconds(output.length_);
                offset = joined > latest_start ? joined : 0;
                cut.start = base + *offset;
            }
            cut.at = at;
            cut.epoch = output.epoch() - *offset;
            cut.bitrate = encoder->bitrate();
            cut.codecs = encoder->codecs();
            cut.init = encoder->init_segment();
            cut.damaged = std::exchange(damaged, false);
            {
                std::lock_guard lock(output.tags_mutex_);
                cut.tags.swap(tags);
            }
            output.push([i = index, cut = std::move(cut)](HlsWriter& writer) { writer.cut(i, cut); });
        }

        void hand_over_buffer() noexcept {
            if (buffer.empty()) return;
            if (output.queue_->pending() + output.job_bytes_ > most_pending) damaged = true;
            if (damaged) {
                output.dropped_ += buffer.size();
                return buffer.clear();
            }
            output.bytes_ += buffer.size();
            output.job_bytes_ += buffer.size();
            output.push([i = index, data = std::make_shared<const std::vector<std::uint8_t>>(std::move(buffer))](HlsWriter& writer) {
                writer.write(i, *data);
            });
            buffer = {};
            buffer.reserve(chunk_size + small_chunk);
        }

        HlsOutput& output;
        const std::size_t index;
        const Stream stream;
        std::unique_ptr<StreamEncoder> encoder;
        std::vector<std::uint8_t> buffer;
        std::vector<std::string> tags;   // guarded by tags_mutex_
        double base = 0;                 // stream time of the encoder's start
        std::optional<double> offset;    // of the encoder's time line from our own, once known
        Ticks retry_at;
        bool damaged = false;            // bytes of this segment were dropped
    };

    void push(Job job) {
        jobs_.push_back([writer = writer_, job = std::move(job)] { job(*writer); });
    }

    // One push a tick at most, so that one thread is woken for all variants.
    void hand_over() noexcept {
        if (jobs_.empty()) return;
        queue_->push(std::exchange(jobs_, {}), std::exchange(job_bytes_, 0));
    }

    /// Wall clock of stream time 0. It follows only when the two drift apart and stay so, so that dates grow as durations do.
    double epoch() noexcept {
        const double wall = scheduler().time().wall(), now = wall - to_seconds(length_);
        if (std::abs(now - epoch_) <= farthest_drift) {
            drifted_since_.reset();
        } else if (!drifted_since_) {
            drifted_since_ = wall;
        } else if (std::abs(wall - *drifted_since_) > drift_time) {
            epoch_ = now;
            drifted_since_.reset();
        }
        return epoch_;
    }

    void make_writer() {
        std::vector<HlsVariant> variants;
        for (const auto& variant : variants_) variants.push_back(variant->stream.variant);
        settings_.file_changed = [watchers = watchers_](const std::string& path, const char* state) { watchers->call(path, state); };
        writer_ = std::make_shared<HlsWriter>(settings_, std::move(variants), log());
    }

    /// Shared with the writer, which may outlive the output.
    struct Watchers {
        std::mutex list_mutex;
        std::vector<script::Callback> list;

        void add(script::Callback callback) {
            std::lock_guard lock(list_mutex);
            list.push_back(std::move(callback));
        }
        void call(const std::string& path, const char* state) {
            std::vector<script::Callback> all;
            {
                std::lock_guard lock(list_mutex);
                all = list;
            }
            for (const script::Callback& watcher : all)
                watcher({{Name(), Value::unit().with_method("path", Value::string(path)).with_method("state", Value::string(state))}});
        }
    };

    HlsSettings settings_;
    std::vector<std::unique_ptr<Variant>> variants_;
    std::shared_ptr<HlsWriter> writer_;
    std::shared_ptr<FileQueue> queue_;
    std::vector<FileQueue::Job> jobs_;
    std::size_t job_bytes_ = 0;
    std::atomic<std::uint64_t> bytes_ = 0, dropped_ = 0;
    Ticks length_;          // of the stream so far
    double epoch_ = 0;
    std::optional<double> drifted_since_;   // wall clock
    std::mutex tags_mutex_;   // guards Variant::tags
    std::shared_ptr<Watchers> watchers_ = std::make_shared<Watchers>();
};

// --- What the script says ----------------------------------------------------------------------------------------------

enum : unsigned {
    dir_perm, extra_tags, fallible, main_playlist_writer, on_start, on_stop, perm, persist_at, playlist, prefix, register_telnet,
    reopen_on_error, segment_duration, segment_name, segments, segments_overhead, start, strict_persist, temp_dir, folder, streams, source,
};

template <class T> std::optional<T> method(const Value& value, const char* name) {
    const Value* found = value.own_method(name);
    if (!found || found->is_null()) return std::nullopt;
    return script::value_as<T>(*found);
}

HlsOutput::Stream stream_of(const Value& element, script::Args& args) {
    const auto pair = element.elements();
    const Value& encoder = pair[1];
    HlsOutput::Stream stream;
    stream.format = script::format_from_value(encoder);
    HlsVariant& variant = stream.variant;
    variant.name = pair[0].as_string();
    if (variant.name.empty() || variant.name.find('/') != std::string::npos)
        args.invalid(streams, fmt::format("a stream cannot be named \"{}\".", variant.name));
    variant.kind = stream.format->segments();
    if (variant.kind == Format::Segments::none)
        args.invalid(streams, fmt::format("{} cannot be cut into HLS segments: use for example %ffmpeg(format=\"mpegts\", ...).",
                                          stream.format->describe()));
    variant.extension = method<std::string>(encoder, "extname").value_or(stream.format->extension());
    if (variant.extension == "mp4") variant.extension = "m4s";
    variant.bandwidth = method<int>(encoder, "bandwidth");
    variant.codecs = method<std::string>(encoder, "codecs");
    stream.id3 = method<bool>(encoder, "id3").value_or(true);
    stream.replay_id3 = method<bool>(encoder, "replay_id3").value_or(true);
    if (const Value* size = encoder.own_method("video_size"); size && !size->is_null())
        variant.video_size = std::pair(static_cast<int>(size->elements()[0].as_int()), static_cast<int>(size->elements()[1].as_int()));
    if (const Value* tags = encoder.own_method("extra_tags"); tags && !tags->is_null())
        for (const Value& tag : tags->elements()) variant.extra_tags.push_back(tag.as_string());
    return stream;
}

std::function<std::string(const HlsSegmentName&)> namer(Value function) {
    return [function = std::move(function)](const HlsSegmentName& name) {
        const Value record = Value::unit()
                                 .with_method("position", Value::integer(name.position))
                                 .with_method("extname", Value::string(name.extension))
                                 .with_method("duration", Value::floating(name.duration))
                                 .with_method("ticks", Value::integer(ticks_from_seconds(name.duration).count))
                                 .with_method("stream_name", Value::string(name.stream_name));
        std::string file = function.call({record}).as_string();
        if (file.empty() || file.front() == '/' || file.find("..") != std::string::npos)
            throw Error(fmt::format("segment_name gave \"{}\", which is no name inside the folder.", file));
        return file;
    };
}

using MainPlaylistWriter = std::function<std::optional<std::string>(int, const std::vector<HlsStream>&)>;

MainPlaylistWriter playlist_writer(const Value& function, const HlsSettings& settings) {
    if (function.is_null()) return [](int, const std::vector<HlsStream>&) { return std::nullopt; };
    return [function, tags = settings.extra_tags, prefix = settings.prefix](int version, const std::vector<HlsStream>& all)
               -> std::optional<std::string> {
        std::vector<Value> tag_values, stream_values;
        for (const std::string& tag : tags) tag_values.push_back(Value::string(tag));
        for (const HlsStream& stream : all) {
            Value value = Value::string(stream.name)
                              .with_method("bandwidth", Value::integer(stream.bandwidth))
                              .with_method("codecs", Value::string(stream.codecs));
            if (stream.video_size)
                value = value.with_method("video_size", Value::tuple({Value::integer(stream.video_size->first),
                                                                      Value::integer(stream.video_size->second)}));
            stream_values.push_back(std::move(value));
        }
        const std::vector<lang::CallArgument> arguments = {{"extra_tags", Value::list(std::move(tag_values))},
                                                           {"prefix", Value::string(prefix)},
                                                           {"version", Value::integer(version)},
                                                           {Name(), Value::list(std::move(stream_values))}};
        return script::value_as<std::optional<std::string>>(function.call(arguments));
    };
}

SourcePtr build(script::Args& args) {
    HlsSettings settings;
    settings.folder = expand_home(args.string(folder));
    if (settings.folder.empty()) args.invalid(folder, "the folder's name is empty.");
    settings.playlist = args.string(playlist);
    settings.prefix = args.string(prefix);
    settings.segment_duration = args.floating(segment_duration);
    if (!(settings.segment_duration >= 0.1)) args.invalid(segment_duration, "segment_duration must be at least 0.1.");
    settings.segments = args.integer(segments);
    if (settings.segments < 1) args.invalid(segments, "segments must be at least 1.");
    settings.segments_overhead = args.optional_integer(segments_overhead);
    settings.perm = args.integer(perm);
    settings.dir_perm = args.integer(dir_perm);
    settings.temporary_folder = expand_home(args.optional_string(temp_dir).value_or(""));
    settings.persist_at = expand_home(args.optional_string(persist_at).value_or(""));
    if (!settings.persist_at.empty() && settings.persist_at.front() != '/')
        settings.persist_at = settings.folder + "/" + settings.persist_at;
    settings.extra_tags = args.strings(extra_tags);
    settings.segment_name = namer(args.value(segment_name));
    settings.main_playlist = playlist_writer(args.value(main_playlist_writer), settings);

    std::vector<HlsOutput::Stream> described;
    for (const Value& element : args.value(streams).elements()) {
        described.push_back(stream_of(element, args));
        const std::string& name = described.back().variant.name;
        if (std::ranges::count(described, name, [](const auto& s) { return s.variant.name; }) > 1)
            args.invalid(streams, fmt::format("two streams are named \"{}\".", name));
    }
    if (described.empty()) args.invalid(streams, "the list of streams cannot be empty.");

    Output::Options options{args.boolean(fallible), args.boolean(start), args.callback(on_start), args.callback(on_stop)};
    if (args.boolean(strict_persist)) {
        std::vector<HlsVariant> variants;
        for (const HlsOutput::Stream& stream : described) variants.push_back(stream.variant);
        HlsWriter(settings, std::move(variants), Logger("output.file.hls")).restore();
    }
    return std::make_shared<HlsOutput>(args.source(source), std::move(settings), std::move(described), std::move(options));
}

std::shared_ptr<HlsOutput> hls(const std::weak_ptr<Source>& source) { return std::dynamic_pointer_cast<HlsOutput>(source.lock()); }

Value tag_inserter(const SourcePtr& source, std::size_t first, std::size_t last) {
    return Value::function([weak = std::weak_ptr(source), first, last](std::span<const lang::CallArgument> arguments) {
        if (const auto output = hls(weak))
            for (std::size_t i = first; i < last; ++i) output->insert_tag(i, arguments[0].value.as_string());
        return Value::unit();
    });
}

Value describe_streams(const SourcePtr& source) {
    return Value::function([weak = std::weak_ptr(source)](std::span<const lang::CallArgument>) {
        std::vector<Value> all;
        const auto output = hls(weak);
        for (std::size_t i = 0; output && i < output->stream_count(); ++i) {
            const HlsOutput::Stream& stream = output->stream(i);
            const HlsVariant& variant = stream.variant;
            std::vector<Value> tags;
            for (const std::string& tag : variant.extra_tags) tags.push_back(Value::string(tag));
            const Value size = !variant.video_size ? Value::null()
                                                   : Value::unit().with_method("width", Value::integer(variant.video_size->first))
                                                         .with_method("height", Value::integer(variant.video_size->second));
            all.push_back(Value::unit()
                              .with_method("name", Value::string(variant.name))
                              .with_method("encoder", script::to_value(stream.format))
                              .with_method("video_size", size)
                              .with_method("bandwidth", Value::integer(variant.bandwidth.value_or(stream.format->bitrate())))
                              .with_method("codecs", Value::string(variant.codecs.value_or("")))
                              .with_method("extname", Value::string(variant.extension))
                              .with_method("id3_enabled", Value::boolean(stream.id3))
                              .with_method("replay_id3", Value::boolean(stream.replay_id3))
                              .with_method("extra_tags", Value::list(std::move(tags)))
                              .with_method("discontinuity_count", Value::integer(output->discontinuities(i)))
                              .with_method("insert_tag", tag_inserter(output, i, i + 1)));
        }
        return Value::list(std::move(all));
    });
}

Value file_watcher(const SourcePtr& source) {
    return script::watch_method(
        [weak = std::weak_ptr(source)](const script::Callback& callback) {
            if (const auto output = hls(weak)) output->on_file_change(callback);
        },
        "on_file_change");
}

Value all_tags(const SourcePtr& source) {
    const auto output = hls(source);
    return tag_inserter(source, 0, output ? output->stream_count() : 0);
}

constexpr const char* stream_type =
    "[string * format('a).{bandwidth? : int, codecs? : string, extname? : string, extra_tags? : [string], id3? : bool, "
    "id3_version? : int, replay_id3? : bool, video_size? : int * int}]";
constexpr const char* playlist_writer_type =
    "((extra_tags : [string], prefix : string, version : int, [string.{bandwidth : int, codecs : string, video_size? : int * int}]) "
    "-> string?)?";
constexpr const char* streams_type =
    "() -> [{bandwidth : int, codecs : string, discontinuity_count : int, encoder : format('a), extname : string, "
    "extra_tags : [string], id3_enabled : bool, insert_tag : (string) -> unit, name : string, replay_id3 : bool, "
    "video_size : {height : int, width : int}?}]";

const script::RegisterOperator hls_output{{
    .name = "output.file.hls",
    .category = script::Category::output,
    .doc = "Cut the stream into segments in a folder, with HLS playlists: one per stream and a main one. A disk error never stops "
           "the stream: the segment is lost, and the next one is tried.",
    .params = {
        {"dir_perm", "int", "511", "Permissions of folders that have to be made (in octal, 0o777), less the umask."},
        {"extra_tags", "[string]", "[]", "Lines for the main playlist."},
        {"fallible", "bool", "false", "Accept a source that may fail; nothing is written while it does."},
        {"main_playlist_writer", playlist_writer_type, "fun (~extra_tags, ~prefix, ~version, _) -> \"\"",
         "Makes the text of the main playlist: an empty string stands for the usual one; none is written when it is, or gives, null."},
        {"on_start", "(() -> unit)?", "null", "Called when the output starts."},
        {"on_stop", "(() -> unit)?", "null", "Called when the output stops."},
        {"perm", "int", "438", "Permissions of the files (in octal, 0o666), less the umask."},
        {"persist_at", "string?", "null",
         "A file that keeps the state of the playlists, so that a restart goes on with them; relative to the folder."},
        {"playlist", "string", "\"stream.m3u8\"", "Name of the main playlist."},
        {"prefix", "string", "\"\"", "Written before each file's name in the playlists."},
        {"register_telnet", "bool", "true", "Register server commands."},
        {"reopen_on_error", "(error?) -> float?", "fun (_) -> 2.", "Accepted for compatibility: the next segment is always tried."},
        {"segment_duration", "float", "10.", "Length of a segment, in seconds."},
        {"segment_name", "({duration : float, extname : string, position : int, stream_name : string, ticks : int}) -> string",
         "fun (m) -> \"#{m.stream_name}_#{m.position}.#{m.extname}\"", "Gives the file name of a segment."},
        {"segments", "int", "10", "Segments in a playlist."},
        {"segments_overhead", "int?", "5", "Segments kept after they left the playlist; null: all."},
        {"start", "bool", "true", "Start with the clock."},
        {"strict_persist", "bool", "false", "Refuse to start when the saved state is not sound."},
        {"temp_dir", "string?", "null", "Where files are written before they get their name; by default the folder itself."},
        {"", "string", nullptr, "The folder."},
        {"", stream_type, nullptr, "The streams: a name and an encoder each."},
        {"", "source('a)", nullptr, "What to output."},
    },
    .result = "unit",
    .build = build,
    .methods = {
        {"insert_tag", "(string) -> unit", "Adds a line before the next segment of every playlist.", all_tags},
        {"on_file_change", "(?synchronous : bool, (({path : string, state : string}) -> unit)) -> {release : () -> unit}",
         "Calls a function when a file was \"created\", \"updated\" or \"deleted\".", file_watcher},
        {"streams", streams_type, "What is being made.", describe_streams},
    },
}};

}  // namespace
}  // namespace castile
