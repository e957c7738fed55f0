// source.tracks, source({...}), track.metadata, track.track_marks: a source taken apart and put together.

#include <algorithm>

#include "base/error.h"
#include "script/operator.h"
#include "script/values.h"

namespace castile {
namespace {

using namespace script;

const Name metadata_field{"metadata"}, marks_field{"track_marks"}, audio_field{"audio"};

/// Tracks of several sources in one. It makes what all of them have this tick: the shortest of their frames.
class Mux final : public Source {
public:
    struct Part {
        Name field;      ///< ours
        Source* source;
        Name theirs;
    };

    explicit Mux(const std::vector<std::pair<Name, Track>>& tracks) : Source("source") {
        for (const auto& [field, track] : tracks) {
            if (std::ranges::find(inputs(), track.source) == inputs().end()) add_input(track.source, false);
            if (field == metadata_field) {
                metadata_ = track.source.get();
            } else if (field == marks_field) {
                marks_ = track.source.get();
            } else {
                link_content(content(), field, track.source->content(), track.field);
                parts_.push_back({field, track.source.get(), track.field});
            }
        }
        forbid_other_fields(content());
    }

    bool fallible() const noexcept override {
        return std::ranges::any_of(inputs(), [](const SourcePtr& input) { return input->fallible(); });
    }
    std::optional<Ticks> remaining() noexcept override {
        std::optional<Ticks> least;
        for (const SourcePtr& input : inputs())
            if (const auto left = input->remaining()) least = least ? std::min(*least, *left) : left;
        return least;
    }
    // The inputs are most often branches of one source: only the one that says where tracks begin.
    void skip() noexcept override { leader().skip(); }
    Ticks seek(Ticks ticks) noexcept override { return leader().seek(ticks); }

protected:
    bool can_generate() noexcept override {
        return !inputs().empty() && std::ranges::all_of(inputs(), [](const SourcePtr& input) { return input->ready(); });
    }

    void generate(Frame& out, Ticks wanted) noexcept override {
        Ticks length = wanted;
        for (const SourcePtr& input : inputs()) length = std::min(length, input->peek_frame().length());
        for (const Part& part : parts_) {
            const Frame& frame = part.source->peek_frame();
            if (const Content* content = frame.find(part.theirs)) take(out.track(part.field), *content, length, frame.length());
        }
        if (metadata_)
            for (const FrameMetadata& m : metadata_->peek_frame().metadata())
                if (m.position < length) out.metadata().push_back(m);
        if (marks_)
            for (const Ticks mark : marks_->peek_frame().track_marks())
                if (mark < length) out.track_marks().push_back(mark);
        out.set_length(length);
        for (const SourcePtr& input : inputs()) input->consume(length);
    }

private:
    static void take(Content& to, const Content& from, Ticks length, Ticks whole) {
        if (const auto* pcm = std::get_if<PcmBlock>(&from)) {
            to = length == whole ? *pcm : pcm->slice(0, static_cast<std::size_t>(length.count));
        } else if (const auto* packets = std::get_if<PacketList>(&from)) {
            if (!std::holds_alternative<PacketList>(to)) to.emplace<PacketList>();
            auto& list = std::get<PacketList>(to);
            for (const EncodedPacket& packet : *packets)
                if (packet.position < length || length == whole) list.push_back(packet);
        }
    }
    Source& leader() noexcept { return marks_ ? *marks_ : metadata_ ? *metadata_ : *inputs().front(); }

    std::vector<Part> parts_;
    Source* metadata_ = nullptr;
    Source* marks_ = nullptr;
};

enum : unsigned { tracks };

const RegisterOperator mux{{
    .name = "source",
    .category = Category::input,
    .doc = "Make a source of tracks, such as those that `source.tracks` gives.",
    .params = {{"", "'a.{metadata? : metadata, track_marks? : track_marks}", nullptr, "Record of the tracks, by the name that each gets."}},
    .result = "source('a) where 'a is a set of tracks to be muxed into a source",
    .build = [](Args& args) -> SourcePtr {
        std::vector<std::pair<Name, Track>> given;
        for (const auto& [field, value] : args.value(tracks).own_methods())
            if (value.foreign_kind() == &track_kind) given.emplace_back(field, track_from_value(value));
        if (given.empty()) throw Error("There is no track.");
        return std::make_shared<Mux>(given);
    },
}};

const lang::RegisterBuiltin source_tracks{{
    .name = "source.tracks",
    .category = "Source / Track processing",
    .doc = "The tracks of a source, as a record: `audio`, ..., and always `metadata` and `track_marks`.",
    .params = {{"", "source('a)", nullptr, "Source to take apart."}},
    .result = "'a",
    .methods = {{"metadata", "metadata", "Its metadata."}, {"track_marks", "track_marks", "Its track marks."}},
    .call = [](const lang::BuiltinArgs& args) -> lang::Value {
        const SourcePtr source = source_from_value(args[0]);
        std::vector<Name> fields = content_fields(source->content());
        if (fields.empty()) fields.push_back(audio_field);   // not asked for anything yet
        fields.push_back(metadata_field);
        fields.push_back(marks_field);
        lang::Value record;
        for (const Name field : fields) record = std::move(record).with_method(field, to_value(Track{source, field}));
        return record;
    },
}};

const lang::RegisterBuiltin track_metadata{{
    .name = "track.metadata",
    .category = "Track / Track processing",
    .doc = "The metadata of the source that a track comes from.",
    .params = {{"id", "string?", "null", "Unused."}, {"", "'a", nullptr, "A track."}},
    .result = "metadata where 'a is a track",
    .call = [](const lang::BuiltinArgs& args) -> lang::Value { return to_value(Track{track_from_value(args[1]).source, metadata_field}); },
}};

const lang::RegisterBuiltin track_marks{{
    .name = "track.track_marks",
    .category = "Track / Track processing",
    .doc = "The track marks of the source that a track comes from.",
    .params = {{"id", "string?", "null", "Unused."}, {"", "'a", nullptr, "A track."}},
    .result = "track_marks where 'a is a track",
    .call = [](const lang::BuiltinArgs& args) -> lang::Value { return to_value(Track{track_from_value(args[1]).source, marks_field}); },
}};

const lang::RegisterBuiltin track_clock{{
    .name = "track.clock",
    .category = "Liquidsoap",
    .doc = "The clock of the source that a track comes from.",
    .params = {{"", "'a", nullptr, "A track."}},
    .result = "clock where 'a is a track",
    .call = [](const lang::BuiltinArgs& args) -> lang::Value { return to_value(track_from_value(args[0]).source->clock()); },
}};

}  // namespace
}  // namespace castile
