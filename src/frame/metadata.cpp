#include "frame/metadata.h"

#include <algorithm>

namespace castile {

const std::string* Metadata::find(std::string_view label) const noexcept {
    for (const Entry& entry : entries_)
        if (entry.first == label) return &entry.second;
    return nullptr;
}

std::string Metadata::get(std::string_view label, std::string_view otherwise) const {
    const std::string* value = find(label);
    return value ? *value : std::string(otherwise);
}

void Metadata::set(std::string_view label, std::string value) {
    for (Entry& entry : entries_)
        if (entry.first == label) {
            entry.second = std::move(value);
            return;
        }
    entries_.emplace_back(label, std::move(value));
}

void Metadata::erase(std::string_view label) {
    std::erase_if(entries_, [label](const Entry& entry) { return entry.first == label; });
}

std::string metadata_text(const Metadata& metadata) {
    constexpr std::string_view hex = "0123456789abcdef";
    std::string text;
    for (const auto& [label, value] : metadata.entries()) {
        if (!text.empty()) text += '\n';
        text += label + "=\"";
        for (const char c : value) {
            const auto byte = static_cast<unsigned char>(c);
            if (c == '"' || c == '\\') text += std::string("\\") + c;
            else if (c == '\n') text += "\\n";
            else if (c == '\r') text += "\\r";
            else if (c == '\t') text += "\\t";
            else if (byte < 0x20 || byte == 0x7F) text += std::string("\\x") + hex[byte >> 4] + hex[byte & 15];
            else text += c;
        }
        text += '"';
    }
    return text;
}

std::string display_title(const Metadata& metadata) {
    const std::string artist = metadata.get("artist"), title = metadata.get("title");
    if (!artist.empty() && !title.empty()) return artist + " - " + title;
    if (!title.empty()) return title;
    if (std::string song = metadata.get("song"); !song.empty()) return song;
    std::string file = metadata.get("filename", metadata.get("initial_uri"));
    if (const auto slash = file.rfind('/'); slash != std::string::npos) file.erase(0, slash + 1);
    if (const auto dot = file.rfind('.'); dot != std::string::npos && dot > 0) file.erase(dot);
    if (!file.empty()) return file;
    return artist.empty() ? "Unknown" : artist;
}

}  // namespace castile
