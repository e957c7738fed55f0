// metadata.map, metadata.deduplicate, insert_metadata: what a stream says about itself.

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "script/operator.h"
#include "source/passthrough.h"

namespace castile {

namespace {

using lang::Value;
using script::Args;

/// Rewrites metadata with a script function, which is called in the tick.
class MetadataMap final : public Passthrough {
public:
    struct Options {
        bool update, strip, insert_missing;
    };
    MetadataMap(SourcePtr input, Value function, Options options)
        : Passthrough("metadata.map", std::move(input)), function_(std::move(function)), options_(options) {}

protected:
    void process(Frame& frame) noexcept override {
        if (options_.insert_missing) add_missing(frame);
        auto& all = frame.metadata();
        for (FrameMetadata& m : all) m.metadata = mapped(m.metadata);
        if (options_.strip) std::erase_if(all, [](const FrameMetadata& m) { return m.metadata->empty(); });
    }

private:
    static void add_missing(Frame& frame) {
        auto& all = frame.metadata();
        for (const Ticks mark : frame.track_marks()) {
            const auto behind = std::ranges::find_if(all, [mark](const FrameMetadata& m) { return m.position >= mark; });
            if (behind == all.end() || behind->position != mark) all.insert(behind, {mark, std::make_shared<const Metadata>()});
        }
    }

    MetadataPtr mapped(const MetadataPtr& given) noexcept {
        try {
            Metadata changes = script::metadata_from_value(function_.call({script::to_value(given)}));
            if (!options_.update) return std::make_shared<const Metadata>(std::move(changes));
            Metadata all = *given;
            for (const auto& [label, value] : changes.entries()) all.set(label, value);
            return std::make_shared<const Metadata>(std::move(all));
        } catch (...) {
            script::log_script_error("metadata.map");
            return given;
        }
    }

    const Value function_;
    const Options options_;
};

SourcePtr build_map(Args& args) {
    enum : unsigned { update, strip, insert_missing, function, input };
    return std::make_shared<MetadataMap>(
        args.source(input), args.value(function),
        MetadataMap::Options{args.boolean(update), !args.is_null(strip) && args.boolean(strip), args.boolean(insert_missing)});
}

script::Operator map_operator(std::string name, std::string deprecated) {
    return {
        .name = std::move(name),
        .category = script::Category::track,
        .doc = "Change metadata on the fly with a function. Called in the middle of streaming: it must take no time.",
        .params = {
            {"update", "bool", "true", "Add the function's result to the metadata rather than replace it?"},
            {"strip", "bool?", "false", "Drop metadata that are then empty?"},
            {"insert_missing", "bool", "true", "Call the function, with empty metadata, for tracks that have none?"},
            {"", "([string * string]) -> [string * string]", nullptr, "From the metadata to those wanted."},
            {"", "source('a)", nullptr, "The source."},
        },
        .result = "source('a)",
        .build = build_map,
        .deprecated = std::move(deprecated),
    };
}

const script::RegisterOperator metadata_map{map_operator("metadata.map", "")};
const script::RegisterOperator map_metadata{map_operator("map_metadata", "Use `metadata.map` instead.")};

/// Lets metadata pass when they differ from those that passed last.
class Deduplicate final : public Passthrough {
public:
    Deduplicate(SourcePtr input, std::optional<std::vector<std::string>> labels)
        : Passthrough("metadata.deduplicate", std::move(input)), labels_(std::move(labels)) {}

protected:
    void process(Frame& frame) noexcept override {
        std::erase_if(frame.metadata(), [this](const FrameMetadata& m) {
            if (last_ && same(*last_, *m.metadata)) return true;
            last_ = m.metadata;
            return false;
        });
    }

private:
    bool same(const Metadata& a, const Metadata& b) const noexcept {
        if (labels_)
            return std::ranges::all_of(*labels_, [&](const std::string& label) {
                const std::string *in_a = a.find(label), *in_b = b.find(label);
                return in_a && in_b ? *in_a == *in_b : in_a == in_b;
            });
        return a.entries().size() == b.entries().size() && std::ranges::all_of(a.entries(), [&b](const auto& entry) {
            const std::string* other = b.find(entry.first);
            return other && *other == entry.second;
        });
    }

    const std::optional<std::vector<std::string>> labels_;
    MetadataPtr last_;
};

const script::RegisterOperator metadata_deduplicate{{
    .name = "metadata.deduplicate",
    .category = script::Category::metadata,
    .doc = "Drop metadata that say the same as those before them.",
    .params = {
        {"using", "[string]?", "null", "Labels that are compared; null: all of them."},
        {"", "source('a)", nullptr, "The source."},
    },
    .result = "source('a)",
    .build = [](Args& args) -> SourcePtr {
        return std::make_shared<Deduplicate>(args.source(1), args.is_null(0) ? std::nullopt : std::optional(args.strings(0)));
    },
}};

// Every source can insert metadata: the operator is only a name for a place in the chain.
class InsertMetadata final : public Passthrough {
public:
    explicit InsertMetadata(SourcePtr input) : Passthrough("insert_metadata", std::move(input)) {}

protected:
    void process(Frame&) noexcept override {}
};

const script::RegisterOperator insert_metadata{{
    .name = "insert_metadata",
    .category = script::Category::metadata,
    .doc = "A source with a method `insert_metadata`, which all sources have.",
    .params = {{"", "source('a)", nullptr, "The source."}},
    .result = "source('a)",
    .build = [](Args& args) -> SourcePtr { return std::make_shared<InsertMetadata>(args.source(0)); },
}};

}  // namespace

}  // namespace castile
