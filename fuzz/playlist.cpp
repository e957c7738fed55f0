// layers: request
// Playlists and annotations from strangers.

#include <cstdint>
#include <string_view>

#include "request/annotate.h"
#include "request/playlist.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    (void)castile::parse_playlist(text);
    (void)castile::parse_cue_sheet(text, "");
    (void)castile::parse_xml_playlist(text, "http://host/");
    (void)castile::parse_m3u(text, "http://host/");
    if (const auto annotated = castile::parse_annotations(text)) {
        // What was understood survives being written and read again.
        const std::string uri = castile::annotate_uri(annotated->entries, annotated->rest);
        if (annotated->entries.empty()) return 0;
        const auto again = castile::parse_annotations(std::string_view(uri).substr(9));
        if (!again || again->entries != annotated->entries || again->rest != annotated->rest) __builtin_trap();
    }
    return 0;
}
