#pragma once
// One connection to a JACK server, from its opening to its loss: ports, and the queue between JACK's thread and the clock's.

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "devices/jack_library.h"
#include "devices/sample_queue.h"
#include "ffmpeg/resampler.h"
#include "sched/time.h"

namespace castile::devices {

enum class JackKind { capture, playback };

/// Of a client, over all its sessions. Any thread.
struct JackCounters {
    std::atomic<std::int64_t> xruns = 0;         ///< as the server reports them
    std::atomic<std::int64_t> missing = 0;       ///< samples of silence in place of late ones
    std::atomic<std::int64_t> dropped = 0;       ///< samples lost because nobody took them in time
    std::atomic<std::int64_t> connections = 0;   ///< how often it was connected
};

class JackSession {
public:
    struct Shape {
        JackKind kind = JackKind::capture;
        int channels = 2;
        int rate = 48000, period = 1024;    ///< of the server: samples a second, samples a call
        std::size_t capacity = 24000;       ///< of the queue, samples
    };
    /// Throws Error: no descriptor, or rates that cannot be converted.
    JackSession(const JackLibrary& library, Shape shape, std::shared_ptr<JackCounters> counters);
    ~JackSession();
    JackSession(const JackSession&) = delete;

    // --- Before it is activated, and by the keeper ------------------------------------------------------------------
    jack_client_t* client = nullptr;
    std::vector<jack_port_t*> ports;
    void activated() noexcept;
    std::atomic<bool> lost = false;            ///< The server is gone, or threw us out.
    std::atomic<bool> released = false;        ///< We want it no more.
    std::atomic<bool> graph_changed = true;    ///< Ports or connections changed since the keeper looked.

    // --- JACK's thread: never waits, never allocates ----------------------------------------------------------------
    int process(jack_nframes_t samples) noexcept;
    void set_period(jack_nframes_t samples) noexcept { period_.store(static_cast<int>(samples)); }
    void lose() noexcept;

    // --- The clock's thread -----------------------------------------------------------------------------------------
    bool running() const noexcept;             ///< Connected, and called within the last second.
    const Shape& shape() const noexcept { return shape_; }
    std::size_t period() const noexcept { return static_cast<std::size_t>(period_.load(std::memory_order_relaxed)); }
    std::size_t in_server_samples(std::size_t ours) const noexcept;   ///< rounded up
    /// How much an output keeps ahead of JACK: a frame, and a period when frames and periods do not end together.
    std::size_t usual_fill(std::size_t frame) const noexcept;
    void enable(bool on) noexcept { enabled_.store(on, std::memory_order_release); }   ///< Else JACK gets silence, and its sound is thrown away.
    bool enabled() const noexcept { return enabled_.load(std::memory_order_relaxed); }
    std::size_t fill() const noexcept;         ///< Samples in the queue.
    std::size_t write(const float* const* planes, std::size_t samples) noexcept { return queue_.write(planes, samples); }
    std::size_t read(float* const* planes, std::size_t samples) noexcept { return queue_.read(planes, samples); }
    void skip(std::size_t samples) noexcept { queue_.skip(samples); }
    /// Waits until as much is in the queue (capture), or no more than that (playback). False: JACK does not call any more.
    bool wait(std::size_t wanted) noexcept;
    ffmpeg::Resampler* resampler() noexcept { return resampler_.get(); }   ///< Null: the rates are the same.
    JackCounters& counters() noexcept { return *counters_; }

private:
    bool reached(std::int64_t wanted) const noexcept;

    const JackLibrary& library_;
    const Shape shape_;
    const std::shared_ptr<JackCounters> counters_;
    SampleQueue queue_;
    std::unique_ptr<ffmpeg::Resampler> resampler_;
    std::vector<float*> buffers_;              ///< JACK's thread: of the ports, in this call
    int event_ = -1;                           ///< what the clock's thread sleeps on
    std::atomic<int> period_;
    std::atomic<bool> enabled_ = false;
    std::atomic<std::int64_t> last_call_ = 0;  ///< nanoseconds, as system_time() has them
    /// What the clock's thread waits for; negative: nothing. Both threads change it by read-modify-write only, which orders the
    /// queue's state around it: either JACK sees the wish, or the waiter sees what JACK did.
    std::atomic<std::int64_t> wanted_ = -1;
};

}  // namespace castile::devices
