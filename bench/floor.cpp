// The floor: the codec work of one stream of bench/ladder.liq (decode an MP3, encode it twice with the native AAC encoder
// and once with LAME) in a bare libav loop, packets thrown away. It is the physical limit that the engine is measured against.
//
//   floor lone  --music FILE [--seconds S] [--cores]                 one set (or one a core at once), as fast as it goes
//   floor paced --music FILE --sets N [--threads W] [--seconds S]    N sets take turns every 20 ms on W threads, in real time
//   floor bursts --music FILE --sets N [--seconds S]                 N sets in turn on one thread: what 1, 4, 9, 18 turns in a row cost
//
// Prints one line of JSON. Every set starts at the start of the file, and loops.

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/channel_layout.h>
#include <libavutil/opt.h>
#include <libswresample/swresample.h>
}

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

constexpr int rate = 44100;
constexpr int turn_samples = 882;
constexpr std::int64_t turn_ns = 20'000'000;
constexpr std::int64_t second_ns = 1'000'000'000;

[[noreturn]] void die(const std::string& what, int error = 0) {
    char text[AV_ERROR_MAX_STRING_SIZE] = "";
    if (error < 0) av_strerror(error, text, sizeof text);
    std::fprintf(stderr, "floor: %s%s%s\n", what.c_str(), error < 0 ? ": " : "", text);
    std::exit(1);
}

void check(int result, const char* what) {
    if (result < 0) die(what, result);
}

struct Delete {
    void operator()(AVFormatContext* p) const { avformat_close_input(&p); }
    void operator()(AVCodecContext* p) const { avcodec_free_context(&p); }
    void operator()(AVPacket* p) const { av_packet_free(&p); }
    void operator()(AVFrame* p) const { av_frame_free(&p); }
    void operator()(SwrContext* p) const { swr_free(&p); }
};
template <class T>
using Owned = std::unique_ptr<T, Delete>;

Owned<AVCodecContext> open_encoder(const char* name, int bitrate) {
    const AVCodec* codec = avcodec_find_encoder_by_name(name);
    if (!codec) die(std::string("this libav has no encoder named ") + name);
    Owned<AVCodecContext> context(avcodec_alloc_context3(codec));
    context->bit_rate = bitrate;
    context->sample_rate = rate;
    context->sample_fmt = AV_SAMPLE_FMT_FLTP;
    context->time_base = {1, rate};
    context->thread_count = 1;
    av_channel_layout_default(&context->ch_layout, 2);
    check(avcodec_open2(context.get(), codec, nullptr), name);
    return context;
}

/// Collects samples into frames of the size some encoders want; the encoders share each frame. libav holds no reference
/// to it once its packet was received, so one buffer serves for ever.
class Frames {
public:
    explicit Frames(std::vector<AVCodecContext*> encoders) : encoders_(std::move(encoders)), frame_(av_frame_alloc()) {
        frame_->nb_samples = encoders_.front()->frame_size;
        frame_->format = AV_SAMPLE_FMT_FLTP;
        frame_->sample_rate = rate;
        frame_->pts = 0;
        av_channel_layout_default(&frame_->ch_layout, 2);
        check(av_frame_get_buffer(frame_.get(), 0), "frame");
    }

    void feed(const AVFrame& from, int offset, int count, AVPacket* packet) {
        while (count > 0) {
            const int taken = std::min(count, frame_->nb_samples - filled_);
            for (int channel = 0; channel < 2; ++channel)
                std::memcpy(frame_->data[channel] + filled_ * sizeof(float), from.data[channel] + offset * sizeof(float),
                            taken * sizeof(float));
            offset += taken, count -= taken, filled_ += taken;
            if (filled_ < frame_->nb_samples) return;
            for (AVCodecContext* encoder : encoders_) encode(*encoder, packet);
            frame_->pts += frame_->nb_samples;
            filled_ = 0;
        }
    }

private:
    void encode(AVCodecContext& encoder, AVPacket* packet) {
        check(avcodec_send_frame(&encoder, frame_.get()), "encode");
        while (avcodec_receive_packet(&encoder, packet) >= 0) av_packet_unref(packet);
    }

    std::vector<AVCodecContext*> encoders_;
    Owned<AVFrame> frame_;
    int filled_ = 0;
};

/// One stream's codec work.
class Set {
public:
    explicit Set(const std::string& music)
        : low_(open_encoder("aac", 48000)),
          high_(open_encoder("aac", 128000)),
          lame_(open_encoder("libmp3lame", 128000)),
          for_aac_({low_.get(), high_.get()}),
          for_lame_({lame_.get()}),
          packet_(av_packet_alloc()),
          decoded_(av_frame_alloc()) {
        AVFormatContext* opened = nullptr;
        check(avformat_open_input(&opened, music.c_str(), nullptr, nullptr), music.c_str());
        input_.reset(opened);
        check(avformat_find_stream_info(opened, nullptr), music.c_str());
        const AVCodec* codec = nullptr;
        stream_ = av_find_best_stream(opened, AVMEDIA_TYPE_AUDIO, -1, -1, &codec, 0);
        check(stream_, music.c_str());
        for (unsigned i = 0; i < opened->nb_streams; ++i)
            if (static_cast<int>(i) != stream_) opened->streams[i]->discard = AVDISCARD_ALL;
        decoder_.reset(avcodec_alloc_context3(codec));
        check(avcodec_parameters_to_context(decoder_.get(), opened->streams[stream_]->codecpar), "decoder");
        decoder_->pkt_timebase = opened->streams[stream_]->time_base;
        decoder_->thread_count = 1;
        check(avcodec_open2(decoder_.get(), codec, nullptr), "decoder");
    }

    void turn(int samples) {
        while (samples > 0) {
            if (offset_ == decoded_->nb_samples) decode();
            const int taken = std::min(samples, decoded_->nb_samples - offset_);
            for_aac_.feed(*decoded_, offset_, taken, packet_.get());
            for_lame_.feed(*decoded_, offset_, taken, packet_.get());
            offset_ += taken, samples -= taken;
        }
    }

    std::atomic<std::int64_t> turns{0};  ///< Finished ones; guards the set when a preempted thread still holds its last turn.

private:
    void decode() {
        offset_ = 0;
        for (int rewinds = 0;;) {
            const int got = avcodec_receive_frame(decoder_.get(), decoded_.get());
            if (got >= 0) {
                if (decoded_->format != AV_SAMPLE_FMT_FLTP || decoded_->sample_rate != rate || decoded_->ch_layout.nb_channels != 2)
                    resample();
                if (decoded_->nb_samples > 0) return;
            } else if (got == AVERROR_EOF) {
                if (++rewinds > 1) die("the music holds no audio");
                check(av_seek_frame(input_.get(), stream_, 0, AVSEEK_FLAG_BACKWARD), "rewind");
                avcodec_flush_buffers(decoder_.get());
            } else if (got != AVERROR(EAGAIN)) {
                die("decode", got);
            } else {
                feed_decoder();
            }
        }
    }

    void feed_decoder() {
        const int got = av_read_frame(input_.get(), packet_.get());
        if (got < 0) {
            avcodec_send_packet(decoder_.get(), nullptr);
            return;
        }
        if (packet_->stream_index == stream_) avcodec_send_packet(decoder_.get(), packet_.get());
        av_packet_unref(packet_.get());
    }

    void resample() {
        Owned<AVFrame> out(av_frame_alloc());
        out->format = AV_SAMPLE_FMT_FLTP;
        out->sample_rate = rate;
        av_channel_layout_default(&out->ch_layout, 2);
        if (!resampler_) resampler_.reset(swr_alloc());
        check(swr_convert_frame(resampler_.get(), out.get(), decoded_.get()), "resample");
        decoded_ = std::move(out);
    }

    Owned<AVCodecContext> low_, high_, lame_;
    Frames for_aac_, for_lame_;
    Owned<AVPacket> packet_;
    Owned<AVFrame> decoded_;
    Owned<AVFormatContext> input_;
    Owned<AVCodecContext> decoder_;
    Owned<SwrContext> resampler_;
    int stream_ = 0, offset_ = 0;
};

std::int64_t now(clockid_t clock = CLOCK_MONOTONIC) {
    timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * second_ns + t.tv_nsec;
}

void sleep_until(std::int64_t when) {
    const timespec t{static_cast<time_t>(when / second_ns), static_cast<long>(when % second_ns)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr) != 0) {
    }
}

long rss_kib() {
    long total = 0, resident = 0;
    if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
        if (std::fscanf(file, "%ld %ld", &total, &resident) != 2) resident = 0;
        std::fclose(file);
    }
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

struct Usage {
    std::int64_t wall = now(), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    rusage counters{};
    Usage() { getrusage(RUSAGE_SELF, &counters); }
};

/// `audio`: stream seconds made by one set between the two readings.
void report(const char* form, int sets, int threads, const Usage& from, const Usage& to, double audio, double late, bool held) {
    const double wall = static_cast<double>(to.wall - from.wall) / second_ns;
    const double cpu = static_cast<double>(to.cpu - from.cpu) / second_ns;
    std::printf(
        "{\"form\": \"%s\", \"sets\": %d, \"threads\": %d, \"seconds\": %.3f, \"audio_seconds\": %.3f, \"cpu_percent\": %.2f, "
        "\"cpu_percent_per_set\": %.3f, \"rss_kib\": %ld, \"voluntary_per_second\": %.1f, \"involuntary_per_second\": %.1f, "
        "\"late_seconds\": %.3f, \"held\": %s}\n",
        form, sets, threads, wall, audio, 100 * cpu / wall, 100 * cpu / (audio * sets), rss_kib(),
        static_cast<double>(to.counters.ru_nvcsw - from.counters.ru_nvcsw) / wall,
        static_cast<double>(to.counters.ru_nivcsw - from.counters.ru_nivcsw) / wall, late, held ? "true" : "false");
}

struct Options {
    std::string form, music;
    int sets = 1, threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    double seconds = 0, discard = 10;
    bool cores = false;
};

void run_lone(const Options& options) {
    const int sets = options.cores ? options.threads : 1;
    const auto turns = static_cast<std::int64_t>((options.seconds > 0 ? options.seconds : 120) * rate / turn_samples);
    std::vector<std::unique_ptr<Set>> all;
    for (int i = 0; i < sets; ++i) all.push_back(std::make_unique<Set>(options.music));
    const Usage from;
    std::vector<std::jthread> threads;
    for (auto& set : all)
        threads.emplace_back([&set, turns] {
            for (std::int64_t i = 0; i < turns; ++i) set->turn(turn_samples);
        });
    threads.clear();
    report("lone", sets, sets, from, Usage(), static_cast<double>(turns) * turn_samples / rate, 0, true);
}

/// The lengths of bursts take turns, second by second, so that whatever else the machine does hits all alike.
void run_bursts(const Options& options) {
    constexpr std::array<int, 4> lengths{1, 4, 9, 18};
    constexpr int round = 36;  // turns of each set
    std::vector<std::unique_ptr<Set>> sets;
    for (int i = 0; i < options.sets; ++i) sets.push_back(std::make_unique<Set>(options.music));
    for (auto& set : sets)
        for (int i = 0; i < 2 * round; ++i) set->turn(turn_samples);
    std::array<std::int64_t, lengths.size()> used{};
    const int rounds = std::max(1, static_cast<int>((options.seconds > 0 ? options.seconds : 10) * rate / turn_samples) / round);
    for (int r = 0; r < rounds; ++r)
        for (std::size_t k = 0; k < lengths.size(); ++k) {
            const std::int64_t before = now(CLOCK_THREAD_CPUTIME_ID);
            for (int done = 0; done < round; done += lengths[k])
                for (auto& set : sets)
                    for (int i = 0; i < lengths[k]; ++i) set->turn(turn_samples);
            used[k] += now(CLOCK_THREAD_CPUTIME_ID) - before;
        }
    for (std::size_t k = 0; k < lengths.size(); ++k) {
        const double turn = static_cast<double>(used[k]) / (static_cast<double>(rounds) * round * options.sets);
        std::printf("{\"form\": \"bursts\", \"sets\": %d, \"burst\": %d, \"turn_us\": %.1f, \"cpu_percent_per_set\": %.3f}\n", options.sets, lengths[k],
                    turn / 1000, 100 * turn / turn_ns);
    }
}

/// The turns of all sets form one sequence, period by period; a free thread takes the next one and sleeps until it is due.
class Paced {
public:
    explicit Paced(const Options& options) : options_(options) {
        for (int i = 0; i < options.sets; ++i) sets_.push_back(std::make_unique<Set>(options.music));
    }

    void run() {
        start_ = now();
        const double seconds = options_.seconds > 0 ? options_.seconds : 45;
        const double discard = std::min(options_.discard, seconds / 2);
        std::vector<std::jthread> threads;
        for (int i = 0; i < options_.threads; ++i) threads.emplace_back([this] { work(); });
        watch(discard);
        const Usage from;
        const std::int64_t turns_before = done_;
        if (!stop_) latest_ = 0;
        watch(seconds);
        const Usage to;
        const std::int64_t turns = done_ - turns_before;
        stop_ = true;
        threads.clear();
        const double late = static_cast<double>(latest_) / second_ns;
        report("paced", options_.sets, options_.threads, from, to,
               static_cast<double>(turns) / options_.sets * turn_samples / rate, late, late < 1);
    }

private:
    void watch(double until) {
        const std::int64_t end = start_ + static_cast<std::int64_t>(until * second_ns);
        while (!stop_ && now() < end) sleep_until(std::min(end, now() + second_ns / 2));
    }

    void work() {
        const auto count = static_cast<std::int64_t>(sets_.size());
        for (;;) {
            const std::int64_t next = next_.fetch_add(1, std::memory_order_relaxed);
            const std::int64_t period = next / count;
            const std::int64_t due = start_ + period * turn_ns;
            std::int64_t time = now();
            if (time < due) {
                sleep_until(due);
                time = due;
            }
            if (stop_.load(std::memory_order_relaxed)) return;
            std::int64_t latest = latest_.load(std::memory_order_relaxed);
            while (time - due > latest && !latest_.compare_exchange_weak(latest, time - due)) {
            }
            if (time - due >= second_ns && time - start_ > options_.discard * second_ns) stop_ = true;
            Set& set = *sets_[next % count];
            for (std::int64_t turns; (turns = set.turns.load(std::memory_order_acquire)) != period;) set.turns.wait(turns);
            set.turn(turn_samples);
            set.turns.store(period + 1, std::memory_order_release);
            set.turns.notify_one();
            done_.fetch_add(1, std::memory_order_relaxed);
        }
    }

    const Options& options_;
    std::vector<std::unique_ptr<Set>> sets_;
    std::int64_t start_ = 0;
    alignas(64) std::atomic<std::int64_t> next_{0};
    alignas(64) std::atomic<std::int64_t> done_{0};
    std::atomic<std::int64_t> latest_{0};
    std::atomic<bool> stop_{false};
};

[[noreturn]] void usage() {
    std::fputs(
        "usage: floor lone|paced|bursts --music FILE [--sets N] [--threads W] [--seconds S] [--discard S] [--cores]\n"
        "  lone   one set as fast as it goes; --cores: one a core at once; --seconds of audio (120)\n"
        "  paced  N sets in real time for --seconds (45), the first --discard (10) not counted; ends when one is a second late\n"
        "  bursts N sets in turn on one thread, --seconds of audio (10) for each length of burst\n",
        stderr);
    std::exit(2);
}

Options parse(int argc, char** argv) {
    Options options;
    if (argc < 2) usage();
    options.form = argv[1];
    for (int i = 2; i < argc; ++i) {
        const std::string_view name = argv[i];
        if (name == "--cores") {
            options.cores = true;
            continue;
        }
        if (i + 1 == argc) usage();
        const char* value = argv[++i];
        if (name == "--music") options.music = value;
        else if (name == "--sets") options.sets = std::atoi(value);
        else if (name == "--threads") options.threads = std::atoi(value);
        else if (name == "--seconds") options.seconds = std::atof(value);
        else if (name == "--discard") options.discard = std::atof(value);
        else usage();
    }
    if (options.music.empty() || options.sets < 1 || options.threads < 1) usage();
    return options;
}

}  // namespace

int main(int argc, char** argv) {
    const Options options = parse(argc, argv);
    av_log_set_level(AV_LOG_ERROR);
    if (options.form == "lone") run_lone(options);
    else if (options.form == "paced") Paced(options).run();
    else if (options.form == "bursts") run_bursts(options);
    else usage();
}
