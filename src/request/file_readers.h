#pragma once
// What scripts add to the way a file becomes music: programs that convert it, readers of metadata.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "frame/metadata.h"

namespace castile {

/// Kinds of file, by extension (without the dot) and MIME type; an empty list takes all.
struct FileKinds {
    std::vector<std::string> extensions, mimes;
    bool fit(const std::string& path) const;
};

/// decoder.add: gives what to play in place of a file. Blocking; any thread.
struct FileDecoder {
    struct Result { std::string uri; bool temporary; };
    std::string name, doc;
    FileKinds kinds;
    std::function<bool(const std::string& path)> is_static;
    std::function<std::optional<Result>(const std::string& path, double timeout_seconds)> decode;
};
void add_file_decoder(FileDecoder decoder);   ///< replaces one of the same name
std::vector<FileDecoder> file_decoders_for(const std::string& path);

/// decoder.metadata.add: more labels for a file. Blocking; any thread.
struct MetadataReader {
    std::string name;
    std::function<int()> priority;   ///< above 1: its labels win over those of the file's tags
    FileKinds kinds;
    bool reentrant;                  ///< may run while another reader runs
    std::function<Metadata(const Metadata& known, const std::string& path)> read;
};
void add_metadata_reader(MetadataReader reader);
std::vector<std::string> reentrant_metadata_readers();
/// `tags` with what the readers know of the file.
Metadata with_script_metadata(Metadata tags, const Metadata& known, const std::string& path);

}  // namespace castile
