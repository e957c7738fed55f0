#include "outputs/hls_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace castile {

namespace {

constexpr std::size_t fewest_listed = 3;  // segments that a playlist keeps when the disk is full

}  // namespace

HlsWriter::HlsWriter(HlsSettings settings, std::vector<HlsVariant> variants, Logger log)
    : settings_(std::move(settings)), variants_(std::move(variants)), log_(std::move(log)) {
    states_.resize(variants_.size());
    for (std::size_t i = 0; i < variants_.size(); ++i) {
        states_[i].stream = {variants_[i].name, variants_[i].bandwidth.value_or(0), variants_[i].codecs.value_or(""),
                             variants_[i].video_size};
        if (variants_[i].kind == Format::Segments::fmp4) version_ = 7;
    }
}

HlsWriter::~HlsWriter() = default;

std::string HlsWriter::temporary_path(std::size_t variant) const {
    // One name a variant, so that whatever a crash leaves is overwritten by the next run.
    const std::string& folder = settings_.temporary_folder.empty() ? settings_.folder : settings_.temporary_folder;
    return fmt::format("{}/.{}.{}.part", folder, variants_[variant].name, variants_[variant].extension);
}

void HlsWriter::changed(const std::string& path, bool existed) noexcept {
    if (settings_.file_changed) settings_.file_changed(path, existed ? "updated" : "created");
}

void HlsWriter::begin() noexcept {
    if (!std::exchange(begun_, true)) {
        try {
            restore();
        } catch (const std::exception& error) {
            log_.important("Starting anew: {}", error.what());
        }
    }
    for (std::size_t i = 0; i < states_.size(); ++i) {
        State& state = states_[i];
        state.start = 0;
        state.broken = false;
        state.discontinuous = !state.segments.empty();
        if (restored_ || !state.segments.empty()) continue;
        state.residue = files_of_playlist(read_small_file(path_of(variants_[i].name + ".m3u8")), settings_.prefix);
    }
}

void HlsWriter::open_segment(std::size_t variant) {
    State& state = states_[variant];
    make_folders(settings_.folder, settings_.dir_perm);
    if (!settings_.temporary_folder.empty()) make_folders(settings_.temporary_folder, settings_.dir_perm);
    state.file = OpenFile(temporary_path(variant), O_WRONLY | O_CREAT | O_TRUNC, settings_.perm);
    state.bytes = 0;
    if (variants_[variant].kind == Format::Segments::packed) {
        const std::string tag = packed_audio_timestamp(state.start);
        state.file.write_all({reinterpret_cast<const std::uint8_t*>(tag.data()), tag.size()});
    }
}

void HlsWriter::write(std::size_t variant, ByteSpan data) noexcept {
    State& state = states_[variant];
    if (state.broken) return;
    try {
        if (!state.file) open_segment(variant);
        state.file.write_all(data);
        state.bytes += data.size();
    } catch (const std::exception& error) {
        failed(variant, error);
    }
}

void HlsWriter::failed(std::size_t variant, const std::exception& error) noexcept {
    State& state = states_[variant];
    ++errors_;
    if (!state.broken) ++lost_;
    state.broken = state.discontinuous = true;
    state.file = OpenFile();
    ::unlink(temporary_path(variant).c_str());
    complain(variant, error);
}

void HlsWriter::complain(std::size_t variant, const std::exception& error) noexcept {
    if (!failing_) log_.severe("Cannot write HLS files: {}. Trying again with each segment.", error.what());
    failing_ = true;
    const auto* system = dynamic_cast<const std::system_error*>(&error);
    if (system && (system->code().value() == ENOSPC || system->code().value() == EDQUOT)) make_room(variant);
}

void HlsWriter::make_room(std::size_t variant) noexcept {
    State& state = states_[variant];
    if (state.segments.size() <= fewest_listed) return;
    // The ones that players are no longer told of first; else the oldest leaves the playlist.
    try {
        if (state.segments.size() <= state.listed) {
            state.limit = state.segments.size() - 1;
            write_playlists(variant, false);
        }
        while (state.segments.size() > std::max(state.listed, fewest_listed)) {
            const HlsSegment oldest = std::move(state.segments.front());
            state.segments.pop_front();
            remove_file(oldest.file);
        }
    } catch (const std::exception&) {
        // The playlist could not be written: what it names stays.
    }
}

void HlsWriter::abort(std::size_t variant, double at) noexcept {
    State& state = states_[variant];
    state.file = OpenFile();
    ::unlink(temporary_path(variant).c_str());
    state.start = at;
    state.broken = false;
    state.discontinuous = true;
    ++state.position;
}

void HlsWriter::cut(std::size_t variant, HlsCut cut) noexcept {
    State& state = states_[variant];
    if (cut.start) state.start = *cut.start;
    if (cut.damaged && !state.broken) {
        ++errors_;
        ++lost_;
        if (!failing_) log_.severe("The disk is too slow: a segment of {} was lost.", variants_[variant].name);
        failing_ = state.broken = state.discontinuous = true;
    }
    if (state.broken || !state.file) {
        state.file = OpenFile();
        if (state.broken) ::unlink(temporary_path(variant).c_str());
    } else {
        try {
            publish(variant, cut);
            announce(variant);
        } catch (const std::exception& error) {
            failed(variant, error);
        }
    }
    state.broken = false;
    state.start = cut.at;
    state.tags = std::move(cut.tags);
    ++state.position;
}

void HlsWriter::write_init(std::size_t variant, const Bytes& init) {
    State& state = states_[variant];
    if (variants_[variant].kind != Format::Segments::fmp4 || !init) return;
    std::string bytes(init->begin(), init->end());
    if (bytes == state.init_bytes) return;
    const std::string extension = variants_[variant].extension == "m4s" ? "mp4" : variants_[variant].extension;
    const std::string file = settings_.segment_name({variants_[variant].name, extension, state.position - 1, 0});
    const bool existed = file_exists(path_of(file));
    make_folders(parent_folder(path_of(file)), settings_.dir_perm);
    write_file_at_once(path_of(file), bytes, settings_.perm, settings_.temporary_folder);
    changed(path_of(file), existed);
    state.init = file;
    state.init_bytes = std::move(bytes);
}

void HlsWriter::publish(std::size_t variant, const HlsCut& cut) {
    State& state = states_[variant];
    write_init(variant, cut.init);
    state.file.close();
    const double duration = std::max(cut.at - state.start, 0.001);
    HlsSegment segment;
    segment.file = settings_.segment_name({variants_[variant].name, variants_[variant].extension, state.position, duration});
    segment.init = state.init;
    segment.duration = duration;
    segment.date = cut.epoch + state.start;
    segment.sequence = state.published;
    segment.discontinuous = state.discontinuous;
    segment.discontinuities = state.discontinuities + (state.discontinuous ? 1 : 0);
    segment.tags = std::move(state.tags);
    const std::string path = path_of(segment.file);
    const bool existed = file_exists(path);
    make_folders(parent_folder(path), settings_.dir_perm);
    move_file(temporary_path(variant), path, settings_.perm);
    changed(path, existed);

    state.discontinuities = segment.discontinuities;
    state.discontinuous = false;
    ++state.published;
    state.segments.push_back(std::move(segment));
    std::erase(state.residue, state.segments.back().file);
    if (!variants_[variant].codecs && !cut.codecs.empty()) state.stream.codecs = cut.codecs;
    if (!variants_[variant].bandwidth && state.stream.bandwidth == 0) {
        const double measured = static_cast<double>(state.bytes) * 8 / duration;
        state.stream.bandwidth = static_cast<int>(std::max(measured, static_cast<double>(cut.bitrate)) * 1.1);
    }
}

void HlsWriter::announce(std::size_t variant) noexcept {
    State& state = states_[variant];
    try {
        write_playlists(variant, false);
        remove_old(variant);
        if (!settings_.persist_at.empty()) save();
    } catch (const std::exception& error) {
        ++errors_;
        complain(variant, error);
        return;
    }
    if (!failing_) {
        state.limit = 0;
        return;
    }
    failing_ = false;
    log_.important("HLS files can be written again; {} segments were lost.", lost_);
    lost_ = 0;
}

void HlsWriter::write_playlists(std::size_t variant, bool ended) {
    State& state = states_[variant];
    std::size_t count = std::min(state.segments.size(), static_cast<std::size_t>(std::max(settings_.segments, 1)));
    if (state.limit > 0) count = std::min(count, state.limit);
    const std::vector<HlsSegment> shown(state.segments.end() - static_cast<std::ptrdiff_t>(count), state.segments.end());
    HlsMediaPlaylist playlist{version_, target_duration(settings_.segment_duration), settings_.prefix, variants_[variant].extra_tags, ended};
    for (const HlsSegment& segment : shown) playlist.target_duration = std::max(playlist.target_duration, target_duration(segment.duration - 0.1));
    const std::string path = path_of(variants_[variant].name + ".m3u8");
    const bool existed = file_exists(path);
    write_file_at_once(path, media_playlist(playlist, shown.data(), shown.data() + shown.size()), settings_.perm, settings_.temporary_folder);
    state.listed = count;
    changed(path, existed);
    for (const std::string& file : std::exchange(state.residue, {})) remove_file(file);
    if (std::ranges::all_of(states_, [](const State& s) { return s.listed > 0; })) write_main_playlist();
}

void HlsWriter::write_main_playlist() {
    std::vector<HlsStream> streams;
    for (const State& state : states_) streams.push_back(state.stream);
    std::string usual = main_playlist(version_, settings_.extra_tags, settings_.prefix, streams);
    const std::string path = path_of(settings_.playlist);
    const bool existed = file_exists(path);
    if (existed && usual == main_written_) return;
    const std::optional<std::string> own = settings_.main_playlist ? settings_.main_playlist(version_, streams) : "";
    if (own) {
        write_file_at_once(path, own->empty() ? usual : *own, settings_.perm, settings_.temporary_folder);
        changed(path, existed);
    }
    main_written_ = std::move(usual);
}

void HlsWriter::remove_file(const std::string& file) {
    const std::string path = path_of(file);
    if (::unlink(path.c_str()) == 0) {
        if (settings_.file_changed) settings_.file_changed(path, "deleted");
    } else if (errno != ENOENT) {
        log_.important("Cannot remove {}: {}", path, std::generic_category().message(errno));
    }
}

void HlsWriter::remove_old(std::size_t variant) {
    if (!settings_.segments_overhead) return;
    State& state = states_[variant];
    const auto kept = static_cast<std::size_t>(std::max(settings_.segments, 1) + std::max(*settings_.segments_overhead, 0));
    while (state.segments.size() > std::max(kept, state.listed)) {
        const HlsSegment oldest = std::move(state.segments.front());
        state.segments.pop_front();
        remove_file(oldest.file);
        const bool used = oldest.init.empty() || oldest.init == state.init ||
                          std::ranges::any_of(state.segments, [&](const HlsSegment& s) { return s.init == oldest.init; });
        if (!used) remove_file(oldest.init);
    }
}

void HlsWriter::finish() noexcept {
    for (std::size_t i = 0; i < states_.size(); ++i) {
        State& state = states_[i];
        state.file = OpenFile();
        ::unlink(temporary_path(i).c_str());
        if (!settings_.persist_at.empty() || state.segments.empty()) continue;
        try {
            write_playlists(i, true);
            // Nobody will be told of these again.
            while (state.segments.size() > state.listed && settings_.segments_overhead) {
                const HlsSegment oldest = std::move(state.segments.front());
                state.segments.pop_front();
                remove_file(oldest.file);
            }
        } catch (const std::exception& error) {
            failed(i, error);
        }
    }
    if (settings_.persist_at.empty()) return;
    try {
        save();
    } catch (const std::exception& error) {
        log_.severe("Cannot save the state of the HLS output: {}", error.what());
    }
}

}  // namespace castile
