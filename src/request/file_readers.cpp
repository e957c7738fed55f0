#include "request/file_readers.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <mutex>
#include <utility>

#include "base/log.h"

namespace castile {

namespace {

struct Tables {
    std::mutex lists_mutex;
    std::vector<FileDecoder> decoders;
    std::vector<MetadataReader> readers;
};

Tables& tables() {
    static Tables* tables = new Tables;  // outlives every static
    return *tables;
}

std::string extension_of(const std::string& path) {
    const std::size_t slash = path.rfind('/'), dot = path.rfind('.');
    if (dot == path.npos || (slash != path.npos && dot < slash)) return "";
    std::string extension = path.substr(dot + 1);
    std::ranges::transform(extension, extension.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return extension;
}

thread_local int depth = 0;   // of readers on this thread: a reader may resolve requests

}  // namespace

bool FileKinds::fit(const std::string& path) const {
    if (extensions.empty()) return true;
    const std::string own = extension_of(path);
    return std::ranges::any_of(extensions, [&](const std::string& e) { return (e.starts_with('.') ? e.substr(1) : e) == own; });
}

void add_file_decoder(FileDecoder decoder) {
    std::lock_guard lock(tables().lists_mutex);
    std::erase_if(tables().decoders, [&](const FileDecoder& other) { return other.name == decoder.name; });
    tables().decoders.push_back(std::move(decoder));
}

std::vector<FileDecoder> file_decoders_for(const std::string& path) {
    std::vector<FileDecoder> fitting;
    std::lock_guard lock(tables().lists_mutex);
    std::ranges::copy_if(tables().decoders, std::back_inserter(fitting), [&](const FileDecoder& d) { return d.kinds.fit(path); });
    return fitting;
}

void add_metadata_reader(MetadataReader reader) {
    std::lock_guard lock(tables().lists_mutex);
    std::erase_if(tables().readers, [&](const MetadataReader& other) { return other.name == reader.name; });
    tables().readers.push_back(std::move(reader));
}

std::vector<std::string> reentrant_metadata_readers() {
    std::vector<std::string> names;
    std::lock_guard lock(tables().lists_mutex);
    for (const MetadataReader& r : tables().readers)
        if (r.reentrant) names.push_back(r.name);
    return names;
}

Metadata with_script_metadata(Metadata tags, const Metadata& known, const std::string& path) {
    std::vector<std::pair<int, MetadataReader>> readers;
    {
        std::lock_guard lock(tables().lists_mutex);
        for (const MetadataReader& r : tables().readers)
            if (r.kinds.fit(path) && (depth == 0 || r.reentrant)) readers.emplace_back(0, r);
    }
    if (readers.empty()) return tags;
    static const Logger log("decoder.metadata");
    Metadata found;   // of the readers, those of high priority first
    ++depth;
    for (auto& [priority, reader] : readers) {
        try {
            priority = reader.priority();
        } catch (const std::exception& error) {
            log.important("The priority of {} is not known: {}", reader.name, error.what());
        }
    }
    std::ranges::stable_sort(readers, [](const auto& a, const auto& b) { return a.first > b.first; });
    for (const auto& [priority, reader] : readers) {
        try {
            const Metadata read = reader.read(known, path);
            for (const auto& [label, value] : read.entries())
                if (!found.find(label) && (priority > 1 || !tags.find(label))) found.set(label, value);
        } catch (const std::exception& error) {
            log.important("{} cannot read the metadata of {}: {}", reader.name, path, error.what());
        }
    }
    --depth;
    for (const auto& [label, value] : found.entries()) tags.set(label, value);
    return tags;
}

}  // namespace castile
