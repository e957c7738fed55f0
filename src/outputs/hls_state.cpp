// The saved state of an HLS output (`persist_at`): what a restart needs to go on with the same playlists.

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "outputs/hls_writer.h"

namespace castile {

namespace {

using nlohmann::json;
constexpr int state_version = 1;

json to_json(const HlsSegment& segment) {
    return {{"file", segment.file}, {"init", segment.init}, {"sequence", segment.sequence}, {"duration", segment.duration},
            {"date", segment.date}, {"discontinuous", segment.discontinuous}, {"discontinuities", segment.discontinuities},
            {"tags", segment.tags}};
}

HlsSegment segment_from(const json& value) {
    HlsSegment segment;
    value.at("file").get_to(segment.file);
    value.at("init").get_to(segment.init);
    value.at("sequence").get_to(segment.sequence);
    value.at("duration").get_to(segment.duration);
    value.at("date").get_to(segment.date);
    value.at("discontinuous").get_to(segment.discontinuous);
    value.at("discontinuities").get_to(segment.discontinuities);
    value.at("tags").get_to(segment.tags);
    if (segment.file.empty() || segment.file.front() == '/' || segment.file.find("..") != std::string::npos)
        throw Error("a segment's file is outside the folder");
    return segment;
}

}  // namespace

void HlsWriter::save() {
    json streams = json::array();
    for (std::size_t i = 0; i < states_.size(); ++i) {
        const State& state = states_[i];
        json segments = json::array();
        for (const HlsSegment& segment : state.segments) segments.push_back(to_json(segment));
        streams.push_back({{"name", variants_[i].name}, {"position", state.position}, {"published", state.published},
                           {"discontinuities", state.discontinuities.load()}, {"init", state.init}, {"segments", std::move(segments)}});
    }
    make_folders(parent_folder(settings_.persist_at), settings_.dir_perm);
    const json document = {{"version", state_version}, {"streams", std::move(streams)}};
    write_file_at_once(settings_.persist_at, document.dump(1, ' ', false, json::error_handler_t::replace) + "\n", settings_.perm);
}

void HlsWriter::restore() {
    if (settings_.persist_at.empty() || !file_exists(settings_.persist_at)) return;
    try {
        const json document = json::parse(read_small_file(settings_.persist_at, 16 << 20));
        if (document.at("version") != state_version) throw Error("it is of another version");
        const json& streams = document.at("streams");
        if (streams.size() != states_.size()) throw Error("it is of other streams");
        std::deque<std::deque<HlsSegment>> all;
        for (std::size_t i = 0; i < states_.size(); ++i) {
            const json& saved = streams.at(i);
            if (saved.at("name") != variants_[i].name) throw Error("it is of other streams");
            std::deque<HlsSegment> segments;
            for (const json& value : saved.at("segments")) segments.push_back(segment_from(value));
            std::erase_if(segments, [this](const HlsSegment& s) { return !file_exists(path_of(s.file)); });
            all.push_back(std::move(segments));
        }
        for (std::size_t i = 0; i < states_.size(); ++i) {
            const json& saved = streams.at(i);
            State& state = states_[i];
            saved.at("position").get_to(state.position);
            saved.at("published").get_to(state.published);
            saved.at("init").get_to(state.init);
            state.discontinuities = saved.at("discontinuities").get<int>();
            state.segments = std::move(all[i]);
        }
        restored_ = true;
    } catch (const std::exception& error) {
        throw Error(fmt::format("the state saved at {} cannot be used: {}", settings_.persist_at, error.what()));
    }
}

}  // namespace castile
