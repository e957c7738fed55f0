#pragma once
// The syntax of annotations: `key="value",key2=value2:rest`.

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "frame/metadata.h"

namespace castile {

struct Annotated {
    std::vector<Metadata::Entry> entries;
    std::string rest;   ///< what follows the colon
};

/// Parses what follows `annotate:`. Values are strings with the script's escapes, or bare words and numbers. Untrusted
/// text: linear time, at most 10,000 entries; a value in another charset than UTF-8 is read as Latin-1.
std::expected<Annotated, Failure> parse_annotations(std::string_view text);

/// Entries alone, until something else than `key=value,` begins: what #EXTINF lines hold before the title.
std::vector<Metadata::Entry> parse_annotation_list(std::string_view& text);

/// `annotate:key="value",...:uri`; the URI alone when there is nothing to say.
std::string annotate_uri(const std::vector<Metadata::Entry>& entries, const std::string& uri);

/// The text itself when it is valid UTF-8, else read as Latin-1.
std::string utf8_or_latin1(std::string_view text);

}  // namespace castile
