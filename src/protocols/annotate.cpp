// annotate:key="value",...:uri adds metadata to a request.

#include "request/annotate.h"

#include "request/protocol.h"

namespace castile {

namespace {

const RegisterProtocol annotate{
    "annotate", "Add metadata to a request.", "annotate:key=\"value\",key2=\"value2\",...:uri",
    [](const std::string& rest, double) -> std::expected<ProtocolResult, Failure> {
        auto annotated = parse_annotations(rest);
        if (!annotated) return std::unexpected(annotated.error());
        ProtocolResult result;
        for (auto& [label, value] : annotated->entries) result.metadata.set(label, std::move(value));
        result.uris.push_back(std::move(annotated->rest));
        return result;
    },
    [](const std::string& rest) {
        const auto annotated = parse_annotations(rest);
        return annotated && is_static_uri(annotated->rest);
    }};

}  // namespace

}  // namespace castile
