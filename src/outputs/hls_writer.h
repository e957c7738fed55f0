#pragma once
// The files of an HLS output: segments, playlists, saved state. Runs on the output's FileQueue; never throws, never fatal.

#include <atomic>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/log.h"
#include "codec/format.h"
#include "outputs/file_name.h"
#include "outputs/hls_playlist.h"

namespace castile {

/// One variant, as the script describes it.
struct HlsVariant {
    std::string name, extension;
    Format::Segments kind = Format::Segments::mpegts;
    std::optional<int> bandwidth;
    std::optional<std::string> codecs;
    std::optional<std::pair<int, int>> video_size;
    std::vector<std::string> extra_tags;
};

struct HlsSegmentName {
    std::string stream_name, extension;
    int position = 0;
    double duration = 0;  ///< seconds
};

struct HlsSettings {
    std::string folder, playlist = "stream.m3u8", prefix;
    double segment_duration = 10;
    int segments = 10;
    std::optional<int> segments_overhead = 5;  ///< nullopt: nothing is ever removed
    int perm = 0666, dir_perm = 0777;
    std::string temporary_folder;              ///< empty: the folder
    std::string persist_at;                    ///< empty: state is not saved
    std::vector<std::string> extra_tags;
    std::function<std::string(const HlsSegmentName&)> segment_name;
    /// The main playlist's text; nullopt: none is written; empty: the usual one.
    std::function<std::optional<std::string>(int version, const std::vector<HlsStream>&)> main_playlist;
    std::function<void(const std::string& path, const char* state)> file_changed;  ///< "created", "updated", "deleted"
};

/// The end of a segment, as the encoder's thread saw it.
struct HlsCut {
    double at = 0;            ///< stream time, seconds
    std::optional<double> start;  ///< the segment's beginning, when it is not the last cut
    double epoch = 0;         ///< wall clock of stream time 0
    int bitrate = 0;          ///< bits per second; 0 = unknown
    std::string codecs;
    Bytes init;               ///< fMP4
    std::vector<std::string> tags;  ///< for the segment that begins here
    bool damaged = false;     ///< bytes were lost: it must not be published
};

class HlsWriter {
public:
    HlsWriter(HlsSettings settings, std::vector<HlsVariant> variants, Logger log);
    ~HlsWriter();

    /// Reads the state saved at `persist_at`, if any; begin() does so first. Throws Error when it is not sound.
    void restore();

    // In the order of the queue; `variant` is an index.
    void begin() noexcept;                                   ///< A run starts: stream time 0 again.
    void write(std::size_t variant, ByteSpan data) noexcept;
    void cut(std::size_t variant, HlsCut cut) noexcept;      ///< Publishes the segment; the next byte begins another.
    void abort(std::size_t variant, double at) noexcept;     ///< Throws the segment away: its encoder failed.
    void finish() noexcept;                                  ///< After the last cuts: final playlists, or the saved state.

    std::int64_t errors() const noexcept { return errors_; } ///< Any thread.
    int discontinuities(std::size_t variant) const noexcept { return states_[variant].discontinuities; }  ///< Any thread.

private:
    struct State {
        std::deque<HlsSegment> segments;      // oldest first
        std::vector<std::string> residue;     // files of an earlier run, removed once our playlist replaced theirs
        std::string init, init_bytes;         // the current initialisation segment: its file and content
        OpenFile file;                        // the segment being written
        std::vector<std::string> tags;        // of the segment being written
        std::int64_t published = 0;
        std::atomic<int> discontinuities = 0;
        int position = 1;                     // of the segment being written
        std::size_t listed = 0;               // how many the playlist on disk names
        std::size_t limit = 0;                // of the playlist's length while the disk is full; 0 = none
        std::uint64_t bytes = 0;              // written to the segment
        double start = 0;                     // its stream time
        bool broken = false;                  // the segment being written cannot be completed
        bool discontinuous = false;           // the next one begins anew
        HlsStream stream;                     // for the main playlist
        State() = default;
        State(State&&) = delete;
    };

    std::string path_of(const std::string& file) const { return settings_.folder + "/" + file; }
    std::string temporary_path(std::size_t variant) const;
    void open_segment(std::size_t variant);
    void publish(std::size_t variant, const HlsCut& cut);
    void write_init(std::size_t variant, const Bytes& init);
    void write_playlists(std::size_t variant, bool ended);
    void write_main_playlist();
    void remove_old(std::size_t variant);
    void remove_file(const std::string& file);
    void announce(std::size_t variant) noexcept;
    void complain(std::size_t variant, const std::exception& error) noexcept;
    void make_room(std::size_t variant) noexcept;
    void save();
    void failed(std::size_t variant, const std::exception& error) noexcept;
    void changed(const std::string& path, bool existed) noexcept;

    HlsSettings settings_;
    std::vector<HlsVariant> variants_;
    std::deque<State> states_;
    Logger log_;
    int version_ = 3;
    std::string main_written_;
    std::atomic<std::int64_t> errors_ = 0;
    std::int64_t lost_ = 0;      // segments since it began to fail
    bool failing_ = false, restored_ = false, begun_ = false;
};

}  // namespace castile
